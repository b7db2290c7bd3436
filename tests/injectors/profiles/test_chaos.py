"""The profiles of chaos have the shapes that their names promise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from crosswind.injectors.engine.faults import decide_faults
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.faults import Delay
from tests.injectors.dialogues import TOOLS, call, conversation
from tests.injectors.plans import plan_of

SEEDS, TURNS = 150, 11
BOOKING = "Hello, could you book a table in the garden for Friday, please? It comes with order #W2."
BOOK_TABLE = {
    "type": "function",
    "function": {
        "name": "book_table",
        "parameters": {
            "type": "object",
            "properties": {
                "day": {"type": "string", "format": "date"},
                "area": {"type": "string", "enum": ["garden", "hall", "terrace"]},
            },
        },
    },
}
RESULT = '{"order_id": "#W1", "status": "delivered", "total": 38.5}'


def plans(name: str) -> Iterator[Plan]:
    for seed in range(SEEDS):
        yield plan_of(name, seed)


def failed_reads(plan: Plan) -> list[bool]:
    """Whether the read that a turn's request brings the result of was destroyed: another order each time."""
    messages = [{"role": "user", "content": "Go through my orders, please."}]
    for turn in range(TURNS):
        messages += call("get_order", {"order_id": f"#W{turn}"}, RESULT, turn)
    new = perturb_messages(plan, conversation(messages, TOOLS), {}).new[1:]
    return [False, *(any(one.fault for one in each.decisions) for each in new)][:TURNS]


def met(plan: Plan, turn: int, attempt: int = 0) -> list[str]:
    """What a turn's request meets on its way and at the provider."""
    return [one.decision.operator for one in decide_faults(plan, turn=turn, attempt=attempt, streaming=True)]


def delay(plan: Plan, turn: int) -> float:
    found = decide_faults(plan, turn=turn, attempt=0, streaming=True)
    return sum(one.fault.delay_ms for one in found if isinstance(one.fault, Delay))


def test_a_brownout_worsens_and_recovers() -> None:
    reads = [failed_reads(plan) for plan in plans("chaos/brownout")]
    failing = [sum(read[turn] for read in reads) / SEEDS for turn in range(TURNS)]
    waiting = [sum(delay(plan, turn) for plan in plans("chaos/brownout")) / SEEDS for turn in range(TURNS)]
    shedding = [
        sum("model.overloaded" in met(plan, turn) for plan in plans("chaos/brownout"))
        for turn in range(TURNS)
    ]
    for figures in (failing, waiting, shedding):
        worst = max(range(TURNS), key=lambda turn: figures[turn])
        assert worst in (4, 5) and figures[worst] > 0
        assert figures[0] == figures[8] == figures[9] == figures[10] == 0, "calm before and after"
        assert max(figures[2], figures[3]) < figures[worst] > max(figures[6], figures[7])
    assert 0 < failing[2] < failing[4] and 0 < waiting[1] < waiting[2] < waiting[4] > waiting[7] > 0
    assert failing[4] > 0.5


def test_flaky_tools_fail_in_spells() -> None:
    reads = [failed_reads(plan) for plan in plans("chaos/flaky-tools")]
    pairs = [pair for read in reads for pair in pairwise(read[1:])]
    share = sum(sum(read) for read in reads) / (SEEDS * (TURNS - 1))
    after_one = [later for earlier, later in pairs if earlier]
    after_none = [later for earlier, later in pairs if not earlier]
    assert 0.2 < share < 0.55
    assert sum(after_one) / len(after_one) > 1.2 * sum(after_none) / len(after_none)


def test_errors_of_flaky_tools_are_not_the_papers_words() -> None:
    for plan in plans("chaos/flaky-tools"):
        for rule in plan.rules:
            assert rule.operator != "tool.timeout" or rule.options["form"] == "stack"


def test_an_outage_comes_in_spells_and_every_request_gets_through() -> None:
    refusing, sites = [0] * TURNS, set[str]()
    for plan in plans("chaos/provider-outage"):
        for turn in range(TURNS):
            at: Any = {"turn": turn, "streaming": True}
            attempts = [
                any(one.decision.fault for one in decide_faults(plan, attempt=attempt, **at))
                for attempt in range(3)
            ]
            refusing[turn] += attempts[0]
            sites.update(one.decision.site for one in decide_faults(plan, attempt=0, **at))
            assert not attempts[2]
    assert sites == {"transport", "model_response"}
    out = {turn for turn in range(TURNS) if turn // 2 % 2 == 1}
    assert all(refusing[turn] == 0 for turn in set(range(TURNS)) - out)
    assert all(refusing[turn] > SEEDS / 3 for turn in out)


def test_confused_users_are_confused_in_every_way() -> None:
    kinds = set()
    for plan in plans("chaos/confused-users"):
        [new] = perturb_messages(
            plan, conversation([{"role": "user", "content": BOOKING}], [BOOK_TABLE]), {}
        ).new
        kinds |= {one.operator for one in new.decisions}
        assert "#W2" in str(new.text or "#W2") or any(
            one.operator == "user.ambiguous" for one in new.decisions
        )
    assert kinds == {
        f"user.{kind}" for kind in ("ambiguous", "inconsistent", "topic_drift", "redundant", "typos")
    }
