"""Every operator on targets of any kind: it never raises, changes nothing in place, and keeps no state."""

from __future__ import annotations

import copy
import json
import string
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.contract import checked_draw, checked_result
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.operator import Registered
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import (
    ModelTarget,
    Target,
    ToolChange,
    ToolClass,
    ToolResultTarget,
    ToolTarget,
    TransportTarget,
    UserTarget,
)
from crosswind.injectors.text.entities import protected_spans
from tests.injectors.dialogues import json_values, payloads, texts

OPERATORS = sorted(registry.operators().values(), key=lambda entry: entry.name)
BY_DRAW = [entry for entry in OPERATORS if entry.site in set(Site) - {Site.INSTRUCTIONS}]
every_operator = pytest.mark.parametrize("entry", BY_DRAW, ids=lambda entry: entry.name)

names = st.one_of(
    st.text(alphabet=string.ascii_letters + string.digits + "_-", min_size=1, max_size=64),
    st.sampled_from(["get_order", "find.flight", "HTTPGet", "x" * 64, "注文"]),
)
simple = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])},
    optional={
        "description": texts,
        "enum": st.lists(texts, max_size=3),
        "items": st.just({"type": "string"}),
    },
)
parameters = st.one_of(
    st.builds(
        lambda properties, required: {"type": "object", "properties": properties, "required": required},
        st.dictionaries(names, simple, max_size=4),
        st.lists(names, max_size=2),
    ),
    st.dictionaries(st.text(max_size=8), json_values, max_size=3),
)
schemas = st.builds(ToolSchema, names, texts, parameters)
tool_lists = st.lists(schemas, min_size=1, max_size=4).map(tuple)


def user_targets() -> st.SearchStrategy[Target]:
    return st.builds(
        lambda text, ordinal, tools, answers: UserTarget(
            text, ordinal, protected_spans(text, tools), tools, answers
        ),
        texts,
        st.integers(0, 40),
        tool_lists,
        st.booleans(),
    )


TARGETS: Mapping[Site, st.SearchStrategy[Target]] = {
    Site.USER_TEXT: user_targets(),
    Site.TOOL_RESULT: st.builds(
        ToolResultTarget,
        payloads,
        st.integers(0, 40),
        names,
        st.one_of(texts, st.builds(json.dumps, json_values)),
        st.sampled_from(list(ToolClass)),
        st.integers(0, 3),
        tool_lists,
    ),
    Site.TOOL_SCHEMA: tool_lists.map(
        lambda tools: ToolTarget(tools[0], tools, frozenset(t.name for t in tools))
    ),
    Site.TRANSPORT: st.builds(
        TransportTarget,
        st.sampled_from(["model", "http", "mcp"]),
        st.integers(0, 40),
        st.integers(0, 3),
        st.booleans(),
    ),
    Site.MODEL_RESPONSE: st.builds(ModelTarget, st.integers(0, 40), st.integers(0, 3), st.booleans()),
}


@every_operator
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), severity=st.floats(0.01, 1.0))
def test_any_target_is_borne_and_left_as_it_was(
    entry: Registered, data: st.DataObject, seed: int, severity: float
) -> None:
    target: Any = data.draw(TARGETS[entry.site])
    before = copy.deepcopy(target)
    draw = entry.draw({}, target, Stream(f"{seed}"), severity)
    assert draw == entry.draw({}, copy.deepcopy(target), Stream(f"{seed}"), severity)
    assert target == before
    if draw is None:
        return
    stored = checked_draw(entry.name, draw)
    assert stored is not None and json.loads(json.dumps(draw)) == stored
    result = checked_result(entry.name, entry.site, entry.apply(target, draw))
    assert entry.apply(copy.deepcopy(target), stored) == result
    assert target == before
    if isinstance(target, ToolTarget):
        assert isinstance(result.payload, ToolChange)
        # The guard bears any change, too: it says why not, or it lets it pass.
        tool_guard.check_change(
            target, target.tool.name, result.payload, ToolConstraints(), len(target.declared)
        )


@every_operator
def test_no_operator_keeps_a_state(entry: Registered) -> None:
    target = examples.sample_for(entry)
    seeds = range(30)
    forth = [entry.draw({}, target, Stream(f"{seed}"), 0.7) for seed in seeds]
    back = [entry.draw({}, target, Stream(f"{seed}"), 0.7) for seed in reversed(seeds)]
    assert forth == back[::-1]


OPTIONS: Mapping[str, list[dict[str, Any]]] = {
    "tool.execution_failure": [{"kinds": [kind]} for kind in ("401", "unavailable", "exception")],
    "user.boundary_probing": [{"target": "policy"}, {"target": "knowledge"}],
    "schema.redundant_tool": [{"num_tools": 1}, {"num_tools": 4}],
    "schema.bloat": [{"per_tool": 1}, {"per_tool": 3}],
    "user.typos": [{"between": [2, 4]}],
}


@pytest.mark.parametrize("entry", [one for one in BY_DRAW if one.options], ids=lambda entry: entry.name)
def test_a_draw_under_options_is_carried_out_without_them(entry: Registered) -> None:
    target = examples.sample_for(entry)
    for options in OPTIONS.get(entry.name, [{}]):
        draws = [entry.draw(options, target, Stream(f"{seed}"), 1.0) for seed in range(20)]
        results = [entry.apply(target, json.loads(json.dumps(one))) for one in draws if one is not None]
        assert results, (entry.name, options)
