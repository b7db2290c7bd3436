"""The words that a field of a tool's result may say, by the tool's own schema and by what it said earlier.

Each tool has states of its own: what a bag's status may be says nothing of a flight's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from crosswind.injectors.conversation import ToolList, ToolListKey, ToolResult
from crosswind.injectors.guard.foreign_tool_words import READ_FORMS, READ_VERBS, WRITE_VERBS
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import ACTING, ALSO_NOUNS, READING, WRITING
from crosswind.injectors.operators.tool.facts import Fact, split_field
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import MOST
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import find_leaves
from crosswind.injectors.values.parameters import Parameter, list_once

STATES = frozenset({"status", "state", "stage", "phase"})
"""Words of fields that hold states, of which each system has its own."""
MOST_RESULTS, LONGEST_RESULT = 16, 16_384
"""So many earlier results are read, up to so many characters of each."""


def read_states(target: ToolResultTarget) -> dict[str, list[str]]:
    """The words that earlier results of such tools have in fields of states, by the field."""
    said: dict[str, list[str]] = {}
    earlier = [one for one in target.branch.earlier if isinstance(one, ToolResult)]
    results = [one for one in earlier if is_alike(one.call.name, target.tool)]
    for result in results[-MOST_RESULTS:]:
        if len(result.text) > LONGEST_RESULT or not is_container(parse_json(result.text)):
            continue
        for leaf in find_leaves(result.text, MOST):
            field = leaf.place[-1] if leaf.place else None
            if not isinstance(leaf.value, str) or not isinstance(field, str):
                continue
            if not STATES.isdisjoint(split_field(field)) and leaf.value not in said.get(field, ()):
                said.setdefault(field, []).append(leaf.value)
    return said


def list_options(target: ToolResultTarget, fact: Fact) -> tuple[str, ...]:
    """The enumerated values of the parameter that is called as the field is, of the tool itself or of one for
    the same kind of thing, if it has this word among them. No other word is said in the field."""
    found = _index_options(ToolList.of(target.tools).key).get(fact.text.lower(), ())
    named = [one for one in found if not set(one.words).isdisjoint(fact.words)]
    holder = next((one for one in reversed(fact.place[:-1]) if isinstance(one, str)), "")
    things = _list_things(holder) - _HOLDING or _list_things(target.tool)
    alike = (one.options for one in named if not things.isdisjoint(_list_things(one.tool)))
    return next((one.options for one in named if one.tool == target.tool), None) or next(alike, ())


_HOLDING = frozenset("data result item record entry row value content response".split())
"""Names of lists and objects that don't say what they hold, in the singular."""


def is_alike(one: str, other: str) -> bool:
    """Whether two tools are for the same kind of thing, by their names: `get_order`, `list_orders`."""
    return one == other or not _list_things(one).isdisjoint(_list_things(other))


@lru_cache(1024)
def _list_things(tool: str) -> frozenset[str]:
    """The nouns of a tool's name, in the singular."""
    return frozenset(
        word.removesuffix("s") for word in words_of(tool) if word not in _VERBS and word not in STATES
    )


_VERBS = (READING | WRITING | (ACTING - ALSO_NOUNS) | READ_VERBS | READ_FORMS | WRITE_VERBS) | {
    *("info", "details", "detail", "by", "id", "for", "of", "all", "my", "new"),
}


@lru_cache(256)
def _index_options(tools: ToolListKey) -> Mapping[str, tuple[Parameter, ...]]:
    """By an enumerated value in lower case, the parameters that have it."""
    found: dict[str, tuple[Parameter, ...]] = {}
    for one in list_once(tools):
        for option in {option.lower() for option in one.options}:
            found[option] = (*found.get(option, ()), one)
    return found
