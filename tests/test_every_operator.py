"""The one contract that every registered operator keeps; a new operator is under it by being there."""

from __future__ import annotations

import copy
import json
import string
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import meta

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.faults import Fault
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.corrections import correct
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.operator import Registered
from crosswind.injectors.result_validation import check_draw, check_result
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import (
    Draw,
    Effect,
    InstructionsTarget,
    ModelTarget,
    Recovery,
    Result,
    Target,
    ToolChange,
    ToolClass,
    ToolResultTarget,
    ToolTarget,
    TransportTarget,
    UserTarget,
)
from crosswind.injectors.text import entities
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.injectors.text.json_payload import holds_all, is_container, looks_destroyed, parse_json
from tests.injectors.dialogues import SCRIPTS, json_values, payloads, texts

OPERATORS = sorted(registry.operators().values(), key=lambda entry: entry.name)
ACTING = [entry for entry in OPERATORS if entry.name != "tool.silent_noop"]
"""All but the one that acts nowhere where a call has been carried out before its result comes."""
acting_operator = pytest.mark.parametrize("entry", ACTING, ids=lambda entry: entry.name)
every_operator = pytest.mark.parametrize("entry", OPERATORS, ids=lambda entry: entry.name)
on_text = pytest.mark.parametrize(
    "entry",
    [entry for entry in OPERATORS if entry.site not in (Site.TRANSPORT, Site.MODEL_RESPONSE)],
    ids=lambda entry: entry.name,
)
SITES: Mapping[Site, tuple[tuple[str, ...], type]] = {
    Site.INSTRUCTIONS: (("user.",), str),
    Site.USER_TEXT: (("user.",), str),
    Site.TOOL_SCHEMA: (("schema.",), ToolChange),
    Site.TOOL_RESULT: (("tool.", "state."), str),
    Site.TRANSPORT: (("transport.",), Fault),
    Site.MODEL_RESPONSE: (("model.",), Fault),
}
"""By site: how operators' names begin, and the type of their payloads."""

severities = st.floats(0.01, 1.0)
names = st.one_of(
    st.text(alphabet=string.ascii_letters + string.digits + "_-", min_size=1, max_size=64),
    st.sampled_from(["get_order", "find.flight", "HTTPGet", "x" * 64, "注文"]),
)
properties = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])},
    optional={
        "description": texts,
        "enum": st.lists(texts, max_size=3),
        "items": st.just({"type": "string"}),
    },
)
parameters = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(names, properties, max_size=4),
            "required": st.lists(names, max_size=2),
        }
    ),
    st.dictionaries(st.text(max_size=8), json_values, max_size=3),
)
tool_lists = st.lists(st.builds(ToolSchema, names, texts, parameters), min_size=1, max_size=4).map(tuple)
ordinals, attempts = st.integers(0, 40), st.integers(0, 3)
TARGETS: Mapping[Site, st.SearchStrategy[Target]] = {
    Site.INSTRUCTIONS: st.builds(InstructionsTarget, texts, ordinals),
    Site.USER_TEXT: st.builds(
        lambda text, ordinal, tools, answers: UserTarget(
            text, ordinal, find_protected_spans(text, tools), tools, answers
        ),
        texts,
        ordinals,
        tool_lists,
        st.booleans(),
    ),
    Site.TOOL_RESULT: st.builds(
        ToolResultTarget,
        payloads,
        ordinals,
        names,
        st.one_of(texts, st.builds(json.dumps, json_values)),
        st.sampled_from(list(ToolClass)),
        attempts,
        tool_lists,
    ),
    Site.TOOL_SCHEMA: tool_lists.map(
        lambda tools: ToolTarget(tools[0], tools, frozenset(tool.name for tool in tools))
    ),
    Site.TRANSPORT: st.builds(
        TransportTarget, st.sampled_from(["model", "http", "mcp"]), ordinals, attempts, st.booleans()
    ),
    Site.MODEL_RESPONSE: st.builds(ModelTarget, ordinals, attempts, st.booleans()),
}

HARD = {
    **SCRIPTS,
    **{repr(text): text for text in ("", " ", "\n", "{}", "[]", "null", '""', "0", "{", "\x00", "\ufeff{}")},
    "deep array": "[" * 5000,
    "deep object": '{"a":' * 3000,
    "long number": "9" * 6000,
    "huge words": "please " * 40_000,
    "huge word": "a" * 300_000,
    "huge facts": "please, " * 20_000 + "#W1. " * 5_000,
    "huge quotes": '"' * 100_000,
    "huge object": json.dumps({f"key_{at}": {"value": at, "name": "kettle"} for at in range(5_000)}),
    "huge array": json.dumps([{"order_id": f"#W{at}", "total": at / 7} for at in range(5_000)]),
}
"""Texts in many scripts, odd ones and huge ones."""

OPTIONS: Mapping[str, list[dict[str, Any]]] = {
    "tool.execution_failure": [{"kinds": [kind]} for kind in ("401", "unavailable", "exception")],
    "user.boundary_probing": [{"target": "policy"}, {"target": "knowledge"}],
    "schema.redundant_tool": [{"num_tools": 1}, {"num_tools": 4}],
    "schema.bloat": [{"per_tool": 1}, {"per_tool": 3}],
    "user.typos": [{"between": [2, 4]}],
}


BOOK_TABLE = ToolSchema(
    "book_table",
    "Book a table.",
    {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "time": {"type": "string", "description": "HH:MM"},
            "guests": {"type": "integer"},
            "budget": {"type": "number", "description": "In euros."},
        },
    },
)
SEVERAL_VALUES = UserTarget(
    "Please book a table on 14 November 2026 at 19:30 for 6 guests with a budget of 250 euros.",
    0,
    tools=(BOOK_TABLE,),
)
"""A message with several values that can be told less exactly: one at most is left out."""


def with_text(target: Target, text: str) -> Target:
    match target:
        case UserTarget():
            return replace(target, text=text, protected=find_protected_spans(text, target.tools))
        case ToolResultTarget():
            return replace(target, text=text)
        case ToolTarget():
            tool = replace(target.tool, description=text)
            return replace(target, tool=tool, declared=(tool, *target.declared[1:]))
        case _:
            return target


def act(entry: Registered, target: Target, seed: int | str, severity: float) -> tuple[Draw, Result] | None:
    draw = entry.draw({}, target, SeededRandom(f"test|{seed}"), severity)
    return None if draw is None else (draw, entry.apply(target, draw))


def damage(target: Target, result: Result) -> float:
    """How much was changed: words gone, come or moved; or a fault's settings: one, and their sum."""
    if isinstance(result.payload, Fault):
        settings = result.payload.settings()
        numbers = {key: value for key, value in settings.items() if isinstance(value, int | float)}
        slowness = 1e6 / numbers.pop("bytes_per_s", 1e6)
        return 1 + slowness + float(sum(numbers.values()))
    was, now = (examples.as_text(one).split() for one in (target, result.payload))
    before, after = Counter(was), Counter(now)
    moved = isinstance(result.payload, ToolChange) and result.payload.behind is not None
    return moved + sum(((before - after) + (after - before)).values())


@every_operator
def test_says_what_it_is(entry: Registered) -> None:
    assert entry.name.startswith(SITES[entry.site][0])
    assert "severity" in entry.documentation.lower()
    assert entry.source
    assert not entry.fault or entry.recovery in (Recovery.RETRY, Recovery.OTHER_TOOL)
    assert entry.site in (Site.TOOL_RESULT, Site.TOOL_SCHEMA) or entry.recovery is not Recovery.OTHER_TOOL


@acting_operator
def test_has_an_example(entry: Registered) -> None:
    example = examples.make(entry, 0.5, seed=0)
    assert example is not None
    assert example.after != example.before
    assert example.note.endswith(".") and not example.note[0].islower()


@every_operator
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), severity=severities)
def test_any_text_gives_the_same_again_and_replays_from_its_stored_draw(
    entry: Registered, data: st.DataObject, seed: int, severity: float
) -> None:
    any_text = data.draw(texts if entry.site is Site.USER_TEXT else payloads)
    target = with_text(examples.sample_for(entry), any_text)
    first = act(entry, target, seed, severity)
    assert first == act(entry, target, seed, severity)
    if first is not None:
        draw, result = first
        stored = json.loads(json.dumps(draw))
        assert stored == draw
        assert entry.apply(target, stored) == result
        assert isinstance(result.payload, SITES[entry.site][1])
        check_what_survives(entry, target, draw, result)


def check_what_survives(entry: Registered, target: Target, draw: Draw, result: Result) -> None:
    after: Any = result.payload
    if isinstance(target, ToolTarget):
        check_tool(target, after)
    if isinstance(target, UserTarget):
        if entry.recovery is not Recovery.ASK_USER or not target.user_can_answer:
            # A value that gives way to a rival stands in what corrects it.
            assert entities.find_lost(target.text, correct(after, draw), target.tools) is None
        # A rival number is named as wrong, and the true one as final: it is said in the text, too.
        rivals = " ".join(rival for wrong in draw.get("wrong", {}).values() for rival in wrong)
        added = entities.find_numbers(after) - entities.find_numbers(target.text)
        assert added <= entities.find_numbers(rivals)
        assert set(draw.get("wrong", ())) <= set(draw.get("final", ()))
    if isinstance(target, ToolResultTarget) and not entry.fault and is_container(parse_json(target.text)):
        assert is_container(parse_json(after))
        if entry.recovery is Recovery.IGNORE:
            assert holds_all(parse_json(after), parse_json(target.text))


def check_tool(target: ToolTarget, change: ToolChange) -> None:
    """What the guard asks of a change, and that each tool is one that providers take."""
    assert (
        tool_guard.check_change(target, target.tool.name, change, ToolConstraints(), len(target.declared))
        is None
    )
    for tool in (change.tool, *change.added):
        assert tool.name is None or tool_guard.NAME.fullmatch(tool.name)
        assert meta.is_valid(dict(tool.parameters))
        assert tool.parameters["type"] == "object"
    shown = change.tool.parameters["properties"]
    for name, schema in target.tool.parameters["properties"].items():
        assert shown[name]["type"] == schema["type"] or change.takes[name] == schema["type"]


@every_operator
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), severity=severities)
def test_any_target_is_accepted_and_not_changed_in_place(
    entry: Registered, data: st.DataObject, seed: int, severity: float
) -> None:
    target: Any = data.draw(TARGETS[entry.site])
    before = copy.deepcopy(target)
    found = act(entry, target, seed, severity)
    assert found == act(entry, copy.deepcopy(target), seed, severity)
    assert target == before
    if found is not None:
        draw, result = found
        assert check_draw(entry.name, draw) == draw
        assert check_result(entry.name, entry.site, result) == result
        if isinstance(target, ToolTarget):
            assert isinstance(result.payload, ToolChange)
            # The guard accepts any change, too: it says why not, or lets it pass.
            tool_guard.check_change(
                target, target.tool.name, result.payload, ToolConstraints(), len(target.declared)
            )


@pytest.mark.parametrize("entry", [one for one in OPERATORS if one.options], ids=lambda entry: entry.name)
def test_a_draw_under_options_is_carried_out_without_them(entry: Registered) -> None:
    target = examples.sample_for(entry)
    for options in OPTIONS.get(entry.name, [{}]):
        draws = [entry.draw(options, target, SeededRandom(f"{seed}"), 1.0) for seed in range(20)]
        results = [entry.apply(target, json.loads(json.dumps(one))) for one in draws if one is not None]
        assert results, (entry.name, options)


@on_text
@pytest.mark.parametrize("name", HARD)
def test_hard_texts_are_survived_and_keep_their_facts(entry: Registered, name: str) -> None:
    target = with_text(examples.sample_for(entry), HARD[name])
    for seed in range(1 if name.startswith("huge") else 12):
        if done := act(entry, target, seed, 1.0):
            check_what_survives(entry, target, *done)


@every_operator
def test_severity_0_is_the_identity(entry: Registered) -> None:
    target = examples.sample_for(entry)
    for seed in range(50):
        done = act(entry, target, seed, 0.0)
        assert done is None or done[1].payload == getattr(target, "text", None), done


@acting_operator
def test_expected_damage_rises_with_severity(entry: Registered) -> None:
    target = SEVERAL_VALUES if entry.name == "user.ambiguous" else examples.sample_for(entry)
    total = []
    for severity in (0.1, 0.3, 0.6, 1.0):
        done = (act(entry, target, seed, severity) for seed in range(300))
        total.append(sum(damage(target, one[1]) for one in done if one is not None))
    assert total == sorted(total)
    assert total[0] < total[-1]


@every_operator
def test_the_guard_has_nothing_to_withhold_on_an_ordinary_payload(entry: Registered) -> None:
    target = examples.sample_for(entry)
    for done in (act(entry, target, seed, 0.8) for seed in range(100)):
        after = "" if done is None else str(done[1].payload)
        if done is not None and isinstance(target, UserTarget):
            assert solvability.check_user_text(entry, target, after, done[0]) is None
        elif done is not None and isinstance(target, ToolResultTarget) and after != target.text:
            assert solvability.check_tool_result(entry, target, after, clean=target.text) is None
            told = looks_destroyed(after, target.text)
            assert told or not entry.fault or entry.effect is Effect.FALSIFIES
