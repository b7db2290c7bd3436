"""When a rule acts."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.profiles.schedule import STAGES, WHOLE, Burst, Occasion, Stage, When, due
from crosswind.injectors.seeded_random import SeededRandom
from tests.injectors.dialogues import TOOLS, call, conversation
from tests.injectors.plans import plan_with


def acting(when: When, occasions: int = 12, stage: Stage | None = None, turns: int = 12) -> list[int]:
    """The occasions on which the rule acts whenever it may; one occasion a turn."""
    window = STAGES[stage] if stage else WHOLE
    acted: list[int] = []
    for index in range(occasions):
        occasion = Occasion(index, index, len(acted), acted[-1] if acted else None)
        if due(when, window, occasion, turns):
            acted.append(index)
    return acted


@pytest.mark.parametrize(
    "when,expected",
    [
        ({}, list(range(12))),
        ({"first_call": True}, [0]),
        ({"nth": 3}, [2]),
        ({"every": 4}, [3, 7, 11]),
        ({"at_most": 2}, [0, 1]),
        ({"start": 9}, [9, 10, 11]),
        ({"min_interval": 5}, [0, 5, 10]),
        ({"from_nth": 8}, [7, 8, 9, 10, 11]),
        ({"regime": 3}, [3, 4, 5, 9, 10, 11]),
        ({"regime": 4, "from_nth": 7}, [6, 7]),
        ({"every": 2, "start": 4, "at_most": 2, "min_interval": 3}, [5, 9]),
    ],
)
def test_schedules(when: dict[str, Any], expected: list[int]) -> None:
    assert acting(When(**when)) == expected


def test_stages_are_thirds_of_the_expected_turns_and_the_last_has_no_end() -> None:
    assert acting(When(), 15, Stage.EARLY) == [0, 1, 2, 3]
    assert acting(When(), 15, Stage.MIDDLE) == [4, 5, 6, 7]
    assert acting(When(), 15, Stage.LATE) == [8, 9, 10, 11, 12, 13, 14]


def test_a_burst_is_the_markov_chain_that_its_chances_describe() -> None:
    burst = Burst(enter=0.1, leave=0.3)
    state, chain = False, []
    for index in range(4000):
        drawn = SeededRandom(f"k|burst|{index}").uniform()
        state = drawn < 0.1 if not state else drawn < 0.7
        chain.append(state)
    assert [burst.holds("k", index) for index in range(4000)] == chain
    assert 0.2 < sum(chain) / len(chain) < 0.3
    lengths = [len(list(run)) for held, run in groupby(chain) if held]
    assert 2.8 < sum(lengths) / len(lengths) < 3.9
    assert [burst.holds("other", index) for index in range(4000)] != chain


def test_a_rule_waits_for_a_tools_call() -> None:
    when = When(after_tool="get_*")
    assert not due(when, WHOLE, Occasion(3, 3, 0), 12)
    assert not due(when, WHOLE, Occasion(3, 3, 0, called=("search_items",)), 12)
    assert due(when, WHOLE, Occasion(3, 3, 0, called=("search_items", "get_order")), 12)


def test_live_a_burst_clusters_faults_and_a_trigger_holds_them_back() -> None:
    calls = [call("get_order", {"order_id": f"#W{n}"}, '{"status": "delivered"}', n) for n in range(60)]
    messages = [{"role": "user", "content": "Hello."}, *(message for one in calls for message in one)]

    def hit(when: str) -> list[int]:
        plan = plan_with("tool.timeout", when=when, more="bounds: {faults_per_session: 99}")
        walked = perturb_messages(plan, conversation(messages, TOOLS), {})
        return [new.item.ordinal for new in walked.new if new.text is not None]

    assert hit("{after_tool: get_order}") == list(range(1, 60))
    assert hit("{after_tool: search_items}") == []
    assert hit("{regime: 20, from_nth: 31}") == list(range(30, 40))
    burst = hit("{burst: {enter: 0.05, leave: 0.1}}")
    assert burst and len(burst) < 60
    assert sum(one + 1 in burst for one in burst) > len(burst) / 2


def test_a_turn_is_one_request_however_many_messages_it_brings() -> None:
    plan = plan_with("user.typos", when="{start: 1}")
    asked = {"role": "user", "content": "I would like to send the blue kettle back, please."}
    messages = [asked, asked, {"role": "assistant", "content": "Which order is it from?"}, asked]
    new = perturb_messages(plan, conversation(messages), {}).new
    assert [one.text is not None for one in new] == [False, False, True]
