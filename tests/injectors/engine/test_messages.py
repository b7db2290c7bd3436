"""What holds of the noise of a whole conversation, whatever its operators are."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.cli.documents import apply_replacements, conversation
from crosswind.injectors.conversation import Conversation, Ref
from crosswind.injectors.engine.decision import Decision, Item, Known
from crosswind.injectors.engine.messages import perturb_messages, replay
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.engine.resume import Perturbed, Walks
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.profiles.load import load, parse
from tests.injectors.dialogues import TOOLS, call, conversations, order_desk

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


def plan_of(yaml_text: str, seed: int = 0, **options: Any) -> Plan:
    return make_plan(parse(yaml_text, "test.yaml"), Seed(seed, "s"), **options)


def ledger(*walks: Perturbed) -> dict[str, Known]:
    """What a store keeps of the walks: decisions as JSON text."""
    kept: dict[str, Known] = {}
    for walk in walks:
        for new in walk.new:
            stored = json.loads(json.dumps([decision.to_json() for decision in new.decisions]))
            kept[new.item.anchor] = Known(new.text, tuple(Decision.from_json(one) for one in stored))
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


def spelled_anew(view: Conversation, way: int) -> Conversation:
    """The same conversation as other objects, and held elsewhere up to some message."""
    return replace(
        view,
        items=tuple(replace(item, ref=replace(item.ref)) for item in view.items),
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
    kept: tuple[dict[str, Known], ...] = ({}, {})
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
    known: dict[str, Known] = {}
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


@pytest.mark.parametrize("seed", range(12))
def test_what_a_ledger_knows_counts_towards_bounds_and_schedules(seed: int) -> None:
    messages, plan = order_desk(calls=6), plan_of(ALL, seed)
    at_once = perturb_messages(plan, conversation(messages), {})
    for cut in range(len(messages)):
        first = perturb_messages(plan, conversation(messages[:cut]), {})
        assert (
            perturb_messages(plan, conversation(messages), ledger(first)).replacements == at_once.replacements
        )


@settings(max_examples=40, deadline=None)
@given(messages=conversations(), plan=plans)
def test_a_resent_conversation_is_only_looked_up(messages: list[dict[str, Any]], plan: Plan) -> None:
    first = perturb_messages(plan, conversation(messages, TOOLS), {})
    again = perturb_messages(plan, conversation(messages, TOOLS), ledger(first))
    assert again.new == []
    assert again.replacements == first.replacements


@settings(max_examples=40, deadline=None)
@given(messages=conversations(), plan=plans)
def test_stored_decisions_replay_to_the_text_that_was_shown(
    messages: list[dict[str, Any]], plan: Plan
) -> None:
    view = conversation(messages, TOOLS)
    for new in perturb_messages(plan, view, {}).new:
        known = ledger(Perturbed(new=[new]))[new.item.anchor]
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
    withdrawn = new[per_call].injections[0]
    assert withdrawn.after is None
    assert "so now it returns the truth" in withdrawn.note


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


def test_noise_is_put_back_into_the_document_and_nowhere_else() -> None:
    messages = reserialised(order_desk())
    found = perturb_messages(plan_of(ALL, seed=3), conversation(messages), {}).replacements
    noisy = apply_replacements(messages, found)
    for at, (before, after) in enumerate(zip(messages, noisy, strict=True)):
        if Ref(at, 0) in found:
            assert after["content"][0]["text"] == found[Ref(at, 0)] != before["content"][0]["text"]
        else:
            assert after == before


def test_no_new_noise_where_it_is_not_allowed_but_the_old_stays() -> None:
    messages = order_desk()
    plan = plan_of("name: t\nrules: [{operator: user.typos, severity: 1}]")
    first = perturb_messages(plan, conversation(messages[:2]), {})
    later = perturb_messages(plan, conversation(messages), ledger(first), allow_new=False)
    assert later.replacements == first.replacements != {}
    assert later.new
    assert all(new.text is None and not new.injections for new in later.new)


@pytest.mark.parametrize("arm,level", [("clean", 5), ("noisy", 0)])
def test_a_clean_plan_leaves_everything_alone(arm: str, level: int) -> None:
    plan = make_plan(load("noisyagent"), Seed(1, "s"), Assignment(arm, level=level))
    found = perturb_messages(plan, conversation(order_desk()), {})
    assert plan.rules == () and found.replacements == {}
    assert all(not new.injections for new in found.new)


def test_two_texts_of_one_message_are_drawn_apart() -> None:
    text = {"type": "text", "text": "please could someone confirm whether these shipments arrive together"}
    messages = [{"role": "user", "content": [text, text]}]
    found = perturb_messages(
        plan_of("name: t\nrules: [{operator: user.typos, severity: 1}]"), conversation(messages), {}
    )
    assert found.replacements[Ref(0, 0)] != found.replacements[Ref(0, 1)]


def test_events_stay_within_their_bound() -> None:
    plan = plan_of(
        "name: t\nbounds: {events_per_session: 2}\nrules: [{operator: tool.misleading, severity: 1}]"
    )
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
