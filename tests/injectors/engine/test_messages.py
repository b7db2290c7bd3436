"""The noise of a whole conversation, whatever its operators are: what is injected, and what is withheld."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import operator
from crosswind.injectors.conversation import Conversation, Ref, Site
from crosswind.injectors.engine.decision import Decision, Injection, Item, KnownText
from crosswind.injectors.engine.messages import perturb_messages, replay
from crosswind.injectors.engine.plan import Assignment, Plan
from crosswind.injectors.engine.resume import MessageNoise, Walks
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, EarlierTexts, Recovery, Result, UserTarget
from tests.injectors.dialogues import TOOLS, call, conversation, conversations, order_desk
from tests.injectors.plans import plan_of, plan_with

ALL = """
name: all
rules:
  - {operator: tool.timeout, severity: 0.5}
  - {operator: tool.incomplete, severity: 0.6, when: {min_interval: 2}}
  - {operator: tool.misleading, severity: 0.7, when: {at_most: 3}}
  - {operator: user.redundant, severity: 0.8, when: {every: 2}}
  - {operator: user.typos, severity: 0.5, when: {probability: 0.7}}
"""
FAULTS = (
    "name: faults\nrules: [{operator: tool.timeout, severity: 1}, {operator: tool.incomplete, severity: 1}]\n"
)


def ledger(*walks: MessageNoise) -> dict[str, KnownText]:
    """What a store keeps of the walks: decisions as JSON text."""
    kept: dict[str, KnownText] = {}
    for walk in walks:
        for new in walk.new:
            stored = json.loads(json.dumps([decision.to_json() for decision in new.decisions]))
            kept[new.item.anchor] = KnownText(new.text, tuple(Decision.from_json(one) for one in stored))
    return kept


plans = st.builds(lambda seed: plan_of(ALL, seed), st.integers(0, 1000))


@settings(max_examples=60, deadline=None)
@given(messages=conversations(), plan=plans)
def test_a_longer_conversation_never_changes_its_beginning(
    messages: list[dict[str, Any]], plan: Plan
) -> None:
    whole = perturb_messages(plan, conversation(messages, TOOLS), {}).replacements
    for length in range(len(messages)):
        if length and messages[length - 1]["role"] == "assistant":
            continue
        shorter = perturb_messages(plan, conversation(messages[:length], TOOLS), {}).replacements
        assert shorter == {ref: text for ref, text in whole.items() if ref.message < length}


@settings(max_examples=60, deadline=None)
@given(messages=conversations(), plan=plans, cut=st.integers(0, 20))
def test_turn_by_turn_with_a_ledger_is_the_same_as_at_once(
    messages: list[dict[str, Any]], plan: Plan, cut: int
) -> None:
    at_once = perturb_messages(plan, conversation(messages, TOOLS), {})
    first = perturb_messages(plan, conversation(messages[:cut], TOOLS), {})
    second = perturb_messages(plan, conversation(messages, TOOLS), ledger(first))
    assert second.replacements == at_once.replacements
    assert {**ledger(first), **ledger(second)} == ledger(at_once)
    again = perturb_messages(plan, conversation(messages, TOOLS), ledger(at_once))
    assert (again.new, again.replacements) == ([], at_once.replacements)


def spelled_anew(view: Conversation, way: int) -> Conversation:
    """The same conversation as other objects, and held elsewhere up to some message."""
    return replace(
        view,
        items=deepcopy(view.items),
        held=(0, 0, 2, 5)[way % 4],
    )


@settings(max_examples=60, deadline=None)
@given(
    messages=conversations(),
    plan=plans,
    requests=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 7)), max_size=8),
    lost=st.integers(0, 8),
)
def test_to_go_on_from_earlier_walks_changes_nothing(
    messages: list[dict[str, Any]], plan: Plan, requests: list[tuple[int, int]], lost: int
) -> None:
    """Longer, shorter, compacted and edited conversations in any order; `lost`: one whose decisions nobody
    kept."""
    kept: tuple[dict[str, KnownText], ...] = ({}, {})
    walks = Walks()
    for number, (cut, way) in enumerate([*requests, (len(messages), 0)]):
        said = messages[:cut] if way < 4 else messages[1:cut]
        if way == 6 and said and isinstance(said[-1].get("content"), str):
            said = [*said[:-1], {**said[-1], "content": said[-1]["content"] + " And again."}]
        view = spelled_anew(conversation(said, TOOLS), way)
        going_on = perturb_messages(plan, view, kept[0], walked=walks.before(plan, view, kept[0]))
        anew = perturb_messages(plan, view, kept[1])
        assert (going_on.replacements, going_on.new) == (anew.replacements, anew.new)
        walks.keep(going_on.walked)
        if number != lost:
            for known, found in zip(kept, (going_on, anew), strict=True):
                known.update(ledger(found))


def test_a_walk_is_gone_on_from_where_a_conversation_begins_with_it() -> None:
    messages, plan = order_desk(calls=6), plan_of(ALL)
    known: dict[str, KnownText] = {}
    walks = Walks()
    walked_before: tuple[Item, ...] = ()
    for length in range(1, len(messages) + 1):
        view = conversation(messages[:length], TOOLS)
        walked = walks.before(plan, view, known)
        assert (walked.items if walked else ()) == walked_before
        found = perturb_messages(plan, view, known, walked=walked)
        known.update(ledger(found))
        walks.keep(found.walked)
        walked_before = view.items
    other = conversation([{"role": "user", "content": "Something else"}, *messages[1:]], TOOLS)
    assert walks.before(plan, other, known) is None
    assert walks.before(plan_of(ALL, seed=1), view, known) is None
    assert walks.before(plan, view, dict(known)) is None


@settings(max_examples=40, deadline=None)
@given(messages=conversations(), plan=plans)
def test_stored_decisions_replay_to_the_text_that_was_shown(
    messages: list[dict[str, Any]], plan: Plan
) -> None:
    view = conversation(messages, TOOLS)
    for new in perturb_messages(plan, view, {}).new:
        known = ledger(MessageNoise(new=[new]))[new.item.anchor]
        assert replay(known.decisions, new.item, view) == (new.item.text if new.text is None else new.text)


@settings(max_examples=60, deadline=None)
@given(
    messages=conversations(max_steps=10),
    seed=st.integers(0, 1000),
    per_call=st.integers(0, 3),
    per_session=st.integers(0, 4),
)
def test_faults_stay_within_their_bounds(
    messages: list[dict[str, Any]], seed: int, per_call: int, per_session: int
) -> None:
    plan = replace(plan_of(FAULTS, seed), bounds=Bounds(per_call, per_session))
    decisions = [
        one for new in perturb_messages(plan, conversation(messages), {}).new for one in new.decisions
    ]
    assert all(decision.fault for decision in decisions)
    assert len(decisions) <= per_session
    assert all(count <= per_call for count in Counter(one.logical_call for one in decisions).values())


@pytest.mark.parametrize("per_call", [1, 2, 3])
def test_a_repeated_call_tells_the_truth_after_its_faults(per_call: int) -> None:
    plan = plan_of(FAULTS + f"bounds: {{faults_per_call: {per_call}}}\n")
    new = [
        one
        for one in perturb_messages(plan, conversation(order_desk(calls=5)), {}).new
        if hasattr(one.item, "call")
    ]
    assert [one.text is None for one in new] == [False] * per_call + [True] * (5 - per_call)
    withheld = new[per_call].injections[0]
    assert withheld.after is None
    assert "so now it returns the truth" in withheld.note


def test_the_same_call_with_another_spelling_of_its_arguments_is_the_same_call() -> None:
    messages = [
        *call("get_order", {"id": 1, "full": True}, "{}", 0),
        *call("get_order", {"full": True, "id": 1}, "{}", 1),
    ]
    first, second = perturb_messages(plan_of(FAULTS), conversation(messages), {}).new
    assert (first.text is None, second.text is None) == (False, True)


def reserialised(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history as another client would send it: blocks for strings, other line ends, edge space."""
    out = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            text = f"{content}\n".replace("\n", "\r\n")
            content = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        out.append({**message, "content": content})
    return out


def test_a_history_serialised_anew_meets_the_same_noise() -> None:
    messages = order_desk()
    plan = plan_of(ALL, seed=3)
    first = perturb_messages(plan, conversation(messages), {})
    again = perturb_messages(plan, conversation(reserialised(messages)), ledger(first))
    assert first.replacements
    assert again.new == []
    assert {ref.message: text for ref, text in again.replacements.items()} == {
        ref.message: text for ref, text in first.replacements.items()
    }


def test_no_new_noise_where_it_is_not_allowed_but_the_old_stays() -> None:
    messages = order_desk()
    plan = plan_with("user.typos")
    first = perturb_messages(plan, conversation(messages[:2]), {})
    later = perturb_messages(plan, conversation(messages), ledger(first), allow_new=False)
    assert later.replacements == first.replacements != {}
    assert later.new
    assert all(new.text is None and not new.injections for new in later.new)


@pytest.mark.parametrize("arm,level", [("clean", 5), ("noisy", 0)])
def test_a_clean_plan_leaves_everything_alone(arm: str, level: int) -> None:
    plan = plan_of("noisyagent", 1, Assignment(arm, level=level))
    found = perturb_messages(plan, conversation(order_desk()), {})
    assert plan.rules == () and found.replacements == {}
    assert all(not new.injections for new in found.new)


def test_two_texts_of_one_message_are_drawn_apart() -> None:
    text = {"type": "text", "text": "please could someone confirm whether these shipments arrive together"}
    messages = [{"role": "user", "content": [text, text]}]
    found = perturb_messages(plan_with("user.typos"), conversation(messages), {})
    assert found.replacements[Ref(0, 0)] != found.replacements[Ref(0, 1)]


def test_events_stay_within_their_bound() -> None:
    plan = plan_with("tool.misleading", more="bounds: {events_per_session: 2}")
    new = perturb_messages(plan, conversation(order_desk(calls=5)), {}).new
    assert sum(len(one.decisions) for one in new) == 2


def test_tools_out_of_scope_are_left_alone() -> None:
    plan = plan_of("name: t\nrules: [{operator: tool.timeout, severity: 1, where: {tools: ['search_*']}}]")
    messages = call("get_order", {}, "{}", 0) + call("search_items", {}, "[]", 1)
    first, second = perturb_messages(plan, conversation(messages), {}).new
    assert (first.text is None, second.text is None) == (True, False)


def test_every_event_says_what_was_done_and_why_the_task_stays_solvable() -> None:
    for seed in range(10):
        for new in perturb_messages(plan_of(ALL, seed), conversation(order_desk()), {}).new:
            for injection in new.injections:
                assert (" Solvable: " in injection.note) is (injection.after is not None)
                assert injection.note.endswith(".")


RULE = "rules:\n  - operator: tool.timeout\n    severity: 1\n"


@pytest.mark.parametrize("coverage,low,high", [(0.0, 0, 0), (0.3, 40, 80), (1.0, 200, 200)])
def test_coverage_is_the_share_of_sessions_with_rules(coverage: float, low: int, high: int) -> None:
    plans = [plan_of(f"name: t\ncoverage: {coverage}\n{RULE}", seed) for seed in range(200)]
    assert low <= sum(bool(plan.rules) for plan in plans) <= high


def test_a_rule_touches_only_what_holds_its_text_and_counts_only_that() -> None:
    plan = plan_of(f"name: t\n{RULE}    when: {{nth: 2}}\n    where: {{text: 'parcel|letter'}}\n")
    assert Plan.from_json(plan.to_json()) == plan
    texts = ["a parcel", "a box", "a letter", "a parcel"]
    chat = [
        message for number, text in enumerate(texts) for message in call(f"get_{number}", {}, text, number)
    ]
    (ref,) = perturb_messages(plan, conversation(chat), {}).replacements
    assert chat[ref.message]["content"] == "a letter"


def writing(more: str = "") -> list[Injection]:
    plan = plan_of(FAULTS + more)
    receipt = '{"ok": true, "items": ["kettle", "lamp"], "refund": 38.5}'
    messages = call("cancel_order", {"order_id": "#W1"}, receipt, 0)
    return list(perturb_messages(plan, conversation(messages), {}).new[0].injections)


def test_a_write_is_never_failed_after_it_took_effect() -> None:
    injections = writing()
    assert injections and {one.after for one in injections} == {None}
    assert all(
        one.tool_class == "destructive" and "a retry may change it again" in one.note for one in injections
    )


@pytest.mark.parametrize(
    "more,failed",
    [
        ("assume_tools: replayable", True),
        ("tool_classes: {'cancel_*': idempotent}", True),
        ("tool_classes: {cancel_order: destructive}", False),
    ],
)
def test_a_write_is_failed_where_the_profile_says_that_it_may_be(more: str, failed: bool) -> None:
    assert (writing(f"{more}\n")[0].after is not None) is failed


def test_one_part_of_a_result_is_not_destroyed_while_others_tell_the_truth() -> None:
    messages = call("get_order", {}, "", 0)
    messages[1]["content"] = [
        {"type": "text", "text": "status: shipped"},
        {"type": "text", "text": "total: 3"},
    ]
    found = perturb_messages(plan_of(FAULTS), conversation(messages), {})
    assert [new.text for new in found.new] == [None, None]


@pytest.fixture
def awkward(own_registry: None) -> None:
    """Operators that do what operators must not do, registered for one test."""

    def add(name: str, after: str | Exception, recovery: Recovery = Recovery.IGNORE) -> None:
        class Awkward:
            """Severity: none."""

            def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
                return {}

            def apply(self, target: UserTarget, draw: Draw) -> Result:
                if isinstance(after, Exception):
                    raise after
                return Result(after, "It was awkward.")

        operator.operator(name, site=Site.USER_TEXT, recovery=recovery)(Awkward)

    add("user.raises", RuntimeError("api_key=sk-123"))
    add("user.forgets", "Hello, could you please check where the parcel is?")
    add(
        "user.invents",
        "Hello, could you please check where the parcel for #W2378156 is? Mia Garcia paid 38.50 €. 99",
    )
    add("user.silences", " ", Recovery.NONE_NEEDED)


@pytest.mark.usefixtures("awkward")
@pytest.mark.parametrize(
    "name,reason",
    [
        ("user.raises", "the operator failed (RuntimeError)"),
        ("user.forgets", "'#W2378156'"),
        ("user.invents", "'99'"),
        ("user.silences", "nothing of the message was left"),
    ],
)
def test_what_an_operator_does_wrong_is_withheld_and_said(name: str, reason: str) -> None:
    view: Conversation = conversation(order_desk()[:2])
    found = perturb_messages(plan_with(name), view, {})
    (injection,) = found.new[0].injections
    assert found.replacements == {} and found.new[0].decisions == ()
    assert injection.after is None
    assert injection.note.startswith("Withheld: ") and reason in injection.note
    assert "sk-123" not in injection.note


@pytest.mark.usefixtures("awkward")
def test_a_plan_outlives_an_operator_that_is_no_longer_installed() -> None:
    plan = plan_with("user.raises")
    del operator._registered["user.raises"]
    assert perturb_messages(plan, conversation(order_desk()), {}).replacements == {}


def test_earlier_texts_are_a_sequence() -> None:
    said = [{"role": "user", "content": str(number)} for number in range(5)]
    items: Any = tuple(conversation(said).items)
    earlier = EarlierTexts(items, 3)
    assert isinstance(earlier, Sequence) and not isinstance(earlier, tuple)
    assert earlier == items[:3] == earlier and earlier == EarlierTexts(items[:3], 3) != EarlierTexts(items, 4)
    assert earlier.index(items[2]) == 2 and earlier.count(items[1]) == 1 and items[3] not in earlier
    assert (list(reversed(earlier)), earlier[-1], earlier[1:]) == ([*items[2::-1]], items[2], items[1:3])
    assert pickle.loads(pickle.dumps(earlier)) == items[:3]
