"""The one contract that every registered operator keeps; a new operator is under it by being there."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import meta

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.tools import Asked
from crosswind.injectors.operator import Registered
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import (
    Draw,
    Recovery,
    Result,
    Target,
    ToolChange,
    ToolResultTarget,
    ToolTarget,
    UserTarget,
)
from crosswind.injectors.text import entities
from crosswind.injectors.text.entities import protected_spans
from crosswind.injectors.text.json_payload import (
    contains,
    contradicts_itself,
    is_container,
    looks_destroyed,
    parsed,
)
from tests.injectors.dialogues import SCRIPTS, payloads, texts

OPERATORS = sorted(registry.operators().values(), key=lambda entry: entry.name)
every_operator = pytest.mark.parametrize("entry", OPERATORS, ids=lambda entry: entry.name)
on_text = pytest.mark.parametrize(
    "entry",
    [entry for entry in OPERATORS if entry.site not in (Site.TRANSPORT, Site.MODEL_RESPONSE)],
    ids=lambda entry: entry.name,
)
severities = st.floats(0.01, 1.0)
PREFIXES = {
    Site.INSTRUCTIONS: ("user.",),
    Site.USER_TEXT: ("user.",),
    Site.TOOL_SCHEMA: ("schema.",),
    Site.TOOL_RESULT: ("tool.", "state."),
    Site.TRANSPORT: ("transport.",),
    Site.MODEL_RESPONSE: ("model.",),
}


PAYLOADS = {
    Site.INSTRUCTIONS: str,
    Site.USER_TEXT: str,
    Site.TOOL_SCHEMA: ToolChange,
    Site.TOOL_RESULT: str,
    Site.TRANSPORT: Fault,
    Site.MODEL_RESPONSE: Fault,
}


def sample(entry: Registered) -> Target:
    return examples.sample_for(entry)


def with_text(target: Target, text: str) -> Target:
    match target:
        case UserTarget():
            return replace(target, text=text, protected=protected_spans(text, target.tools))
        case ToolResultTarget():
            return replace(target, text=text)
        case ToolTarget():
            tool = replace(target.tool, description=text)
            return replace(target, tool=tool, declared=(tool, *target.declared[1:]))
        case _:
            return target


def act(entry: Registered, target: Target, seed: int | str, severity: float) -> tuple[Draw, Result] | None:
    draw = entry.implementation.draw(target, Stream(f"test|{seed}"), severity)
    return None if draw is None else (draw, entry.implementation.apply(target, draw))


def damage(target: Target, result: Result) -> float:
    """How much was changed: words gone, come or moved; or a fault's settings: one, and their sum."""
    if isinstance(result.payload, Fault):
        given = result.payload.settings().items()
        settings = {key: value for key, value in given if isinstance(value, int | float)}
        slowness = 1e6 / settings.pop("bytes_per_s", 1e6)
        return 1 + slowness + float(sum(settings.values()))
    was, now = (examples.as_text(one).split() for one in (target, result.payload))
    before, after = Counter(was), Counter(now)
    moved = isinstance(result.payload, ToolChange) and result.payload.behind is not None
    return moved + sum(((before - after) + (after - before)).values())


@every_operator
def test_says_what_it_is(entry: Registered) -> None:
    assert entry.name.startswith(PREFIXES[entry.site])
    assert "severity" in entry.documentation.lower()
    assert entry.source
    assert not entry.fault or entry.recovery in (Recovery.RETRY, Recovery.OTHER_TOOL)
    assert entry.site in (Site.TOOL_RESULT, Site.TOOL_SCHEMA) or entry.recovery is not Recovery.OTHER_TOOL


@every_operator
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
    target = with_text(sample(entry), data.draw(texts if entry.site is Site.USER_TEXT else payloads))
    first, second = act(entry, target, seed, severity), act(entry, target, seed, severity)
    assert first == second
    if first is None:
        return
    draw, result = first
    stored = json.loads(json.dumps(draw))
    assert stored == draw
    assert entry.implementation.apply(target, stored) == result
    assert isinstance(result.payload, PAYLOADS[entry.site])
    check_what_survives(entry, target, result)


def check_what_survives(entry: Registered, target: Target, result: Result) -> None:
    after: Any = result.payload
    if isinstance(target, ToolTarget):
        check_tool(target, after)
    if isinstance(target, UserTarget):
        if entry.recovery is not Recovery.ASK_USER or not target.user_can_answer:
            assert entities.survive(target.text, after, target.tools) is None
        assert entities.numbers(after) <= entities.numbers(target.text)
    if isinstance(target, ToolResultTarget) and not entry.fault and is_container(parsed(target.text)):
        assert is_container(parsed(after))
        if entry.recovery is Recovery.IGNORE:
            assert contains(parsed(after), parsed(target.text))


def check_tool(target: ToolTarget, change: ToolChange) -> None:
    """What the guard asks of a change, and that each tool is one that providers take."""
    assert tool_guard.refused(target, target.tool.name, change, Asked(), len(target.declared)) is None
    for tool in (change.tool, *change.added):
        assert tool.name is None or tool_guard.NAME.fullmatch(tool.name)
        assert meta.is_valid(dict(tool.parameters))
        assert tool.parameters["type"] == "object"
    shown = change.tool.parameters["properties"]
    for name, schema in target.tool.parameters["properties"].items():
        assert shown[name]["type"] == schema["type"] or change.takes[name] == schema["type"]


@on_text
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_keeps_its_facts(entry: Registered, script: str) -> None:
    target = with_text(sample(entry), SCRIPTS[script])
    for seed in range(8):
        done = act(entry, target, seed, 1.0)
        if done is not None:
            check_what_survives(entry, target, done[1])


@every_operator
def test_severity_0_is_the_identity(entry: Registered) -> None:
    target = sample(entry)
    for seed in range(50):
        done = act(entry, target, seed, 0.0)
        assert done is None or done[1].payload == getattr(target, "text", None), done


@every_operator
def test_expected_damage_rises_with_severity(entry: Registered) -> None:
    target = sample(entry)
    total = []
    for severity in (0.1, 0.3, 0.6, 1.0):
        done = (act(entry, target, seed, severity) for seed in range(300))
        total.append(sum(damage(target, one[1]) for one in done if one is not None))
    assert total == sorted(total)
    assert total[0] < total[-1]


@every_operator
def test_the_guard_has_nothing_to_withdraw_on_an_ordinary_payload(entry: Registered) -> None:
    target = sample(entry)
    for seed in range(100):
        done = act(entry, target, seed, 0.8)
        if done is None:
            continue
        after = str(done[1].payload)
        if isinstance(target, UserTarget):
            assert solvability.after_user(entry, target, after) is None
        elif isinstance(target, ToolResultTarget):
            assert solvability.after_tool(entry, target, after, clean=target.text) is None
            detectable = looks_destroyed(after, target.text) or contradicts_itself(after, target.text)
            assert detectable or not entry.fault


@on_text
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n",
        "{}",
        "[]",
        "null",
        '""',
        "0",
        "{",
        "[" * 5000,
        '{"a":' * 3000,
        "9" * 6000,
        "\x00",
        "\ufeff{}",
    ],
    ids=lambda text: repr(text)[:12],
)
def test_odd_payloads_are_survived(entry: Registered, text: str) -> None:
    target = with_text(sample(entry), text)
    for seed in range(20):
        done = act(entry, target, seed, 1.0)
        if done is not None:
            check_what_survives(entry, target, done[1])


@on_text
@pytest.mark.parametrize(
    "text",
    [
        "please " * 40_000,
        "a" * 300_000,
        "please, " * 20_000 + "#W1. " * 5_000,
        '"' * 100_000,
        json.dumps({f"key_{number}": {"value": number, "name": "kettle"} for number in range(5_000)}),
        json.dumps([{"order_id": f"#W{number}", "total": number / 7} for number in range(5_000)]),
    ],
    ids=["words", "one word", "facts", "quotes", "object", "array"],
)
def test_huge_payloads_are_survived(entry: Registered, text: str) -> None:
    target = with_text(sample(entry), text)
    done = act(entry, target, 0, 1.0)
    if done is not None:
        check_what_survives(entry, target, done[1])
