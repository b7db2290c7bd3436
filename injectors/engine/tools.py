"""Noise on the declared tools: what a session was shown is shown again, what is new is decided.

The decisions are made per tool, in the list's order; a rule's occasions are the declared tools. A tool is
found again by its anchor, which depends on what it says and not on how the client spells its JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.shown_tools import Phantom, Refusal, ShownTool, ShownTools
from crosswind.injectors.engine.tool_list import arrange
from crosswind.injectors.engine.tool_walk import ToolWalk
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.tools import Asked
from crosswind.injectors.identity import digest
from crosswind.injectors.wording import Texts

Anchors = tuple[str, list[str]]
MOST_RECENT = 64
"""Lists of tools whose anchors are kept."""

_recent: dict[int, tuple[Sequence[ToolSchema], Anchors]] = {}

__all__ = ["Phantom", "Refusal", "ShownTool", "ShownTools", "acts_on_tools", "perturb_tools", "tools_anchor"]


def acts_on_tools(plan: Plan) -> bool:
    """Whether the plan has a rule for tool schemas: without one no list needs a look."""
    return bool(plan.active_rules(Site.TOOL_SCHEMA))


def tools_anchor(tools: Sequence[ToolSchema]) -> str:
    """The anchor of a declared list: equal for lists that say the same in the same order."""
    return _anchors(tools)[0]


def perturb_tools(
    plan: Plan,
    tools: Sequence[ToolSchema],
    *,
    known: ShownTools | None = None,
    allow_new: bool = True,
    choices: int = 1,
    forced: frozenset[str] = frozenset(),
    duplicates: str = "allowed",
    strict: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
    turn: int = 0,
    texts: Texts | None = None,
) -> ShownTools:
    """The tools as the policy is shown them.

    `known` is what the branch was shown for this list, else what it was shown last: a list with the same
    anchor comes out as it was, and of another one the tools that are known. With `allow_new` False new tools
    are shown clean, now and later. `forced` are the declared names that tool_choice names, `strict` those of
    tools to whose schemas the provider holds the model, `taken` the names of tools of other kinds;
    `duplicates` is `allowed` or `suffixed` (an upstream that refuses two tools of one name). `turn` counts
    requests from 0, for schedules; `texts` are a model's. Pure.
    """
    if not tools or not (acts_on_tools(plan) or (known and known.decisions)):
        return ShownTools.clean(tools)
    asked = Asked(choices, forced, duplicates, strict, taken)
    anchor, anchors = _anchors(tools)
    plain = choices == 1 and not forced
    if known and known.anchor == anchor and plain and not known.partial and _fits(known, asked):
        return replace(known, injections=()) if known.injections else known
    if any(tool_guard.too_deep(tool.parameters) for tool in tools):
        return ShownTools.clean(tools)  # Nobody could write it down.
    rules = list(plan.active_rules(Site.TOOL_SCHEMA).values()) if allow_new else []
    walk = ToolWalk(plan, rules, tools, anchors, known, asked, turn, texts)
    standing = walk.standing()
    shown = arrange(standing, asked)
    return ShownTools(
        anchor=anchor,
        tools=shown.tools,
        declared_of=shown.declared_of,
        phantoms=shown.phantoms,
        refusals=shown.refusals,
        decisions=tuple(walk.decisions),
        decided=tuple(dict.fromkeys([*(known.decided if known else ()), *anchors])),
        partial=not plain,
        injections=tuple(walk.injections),
    )


def _fits(known: ShownTools, asked: Asked) -> bool:
    if asked.taken and any(tool.changed and tool.name in asked.taken for tool in known.tools):
        return False
    return asked.duplicates == "allowed" or len({tool.name for tool in known.tools}) == len(known.tools)


def _anchors(tools: Sequence[ToolSchema]) -> Anchors:
    """The anchors of the list and of each tool. Codecs read a list once and give the same tuple on every
    turn: what was found for the last few tuples is kept, with the tuple itself, so that its id stays its
    own."""
    kept = _recent.get(id(tools))
    if kept is not None and kept[0] is tools:
        return kept[1]
    each = _made_anchors(tools)
    found = f"tools:{digest(*each)}", each
    if isinstance(tools, tuple):
        while len(_recent) >= MOST_RECENT:
            _recent.pop(next(iter(list(_recent)), 0), None)
        _recent[id(tools)] = (tools, found)
    return found


def _made_anchors(tools: Sequence[ToolSchema]) -> list[str]:
    counted: Counter[str] = Counter()
    out: list[str] = []
    for tool in tools:
        says = digest(tool.name, tool.description, _canonical(tool.parameters))
        out.append(f"tool:{says}#{counted[says]}")
        counted[says] += 1
    return out


def _canonical(parameters: Mapping[str, Any]) -> str:
    """The parameters as JSON with sorted keys. Every turn asks for it: hence not by the standard library."""
    try:
        return msgspec.json.encode(parameters, order="sorted").decode()
    except (RecursionError, TypeError, UnicodeEncodeError):
        return ""  # A list that nobody could write down is shown clean.
