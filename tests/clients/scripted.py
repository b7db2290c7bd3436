"""How the scripted policies go about a task: look up what is missing, again where a result is damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.testing import Call, CallItem, DeclaredTool, Dialogue

MAX_TRIES = 8

Facts = Callable[[Call], Sequence[str]]
"""What the true result of a call says, piece by piece."""


class GaveUp(Exception):
    """A call was damaged again and again: the noise left the task without a way to do it."""


Declared = Mapping[str, tuple[str, dict[str, Any]]]
"""Name -> description, parameters: the tools as the client declares them."""


def shown_names(tools: Sequence[DeclaredTool], declared: Declared) -> dict[str, str]:
    """Under which name each declared tool is shown: its own where its description is its own too, else that
    of the tool that has its description, else its own after all.
    """
    names = {}
    for name, (description, _) in declared.items():
        described = [tool.name for tool in tools if tool.description == description]
        renamed = [one for one in described if one not in declared]
        names[name] = name if name in described or not renamed else renamed[0]
    return names


def tempted(dialogue: Dialogue, declared: Declared, limit: int) -> tuple[Call, ...]:
    """Calls of tools that the client never declared, each tried once, and no more than so many in all."""
    true = set(shown_names(dialogue.tools, declared).values())
    tried = {item.name for item in dialogue.items if isinstance(item, CallItem)} - true
    found = {tool.name: tool for tool in dialogue.tools if tool.name not in true | tried}
    calls = [
        Call(name, dict.fromkeys(tool.parameters.get("required", ()), "W17")) for name, tool in found.items()
    ]
    return tuple(calls[: max(0, limit - len(tried))])


def missing(
    dialogue: Dialogue, stages: Sequence[Sequence[Call]], facts: Facts, declared: Declared
) -> tuple[Call, ...]:
    """The calls to make now: what the first stage that isn't complete lacks, under the names that are shown.
    Nothing where all is known.
    """
    names = shown_names(dialogue.tools, declared)
    for stage in stages:
        lacking = tuple(
            Call(names[call.name], call.arguments)
            for call in stage
            if not _known(dialogue, call, names[call.name], facts(call))
        )
        if lacking:
            return lacking if dialogue.parallel else lacking[:1]
    return ()


def _known(dialogue: Dialogue, call: Call, name: str, facts: Sequence[str]) -> bool:
    """Whether a call's result came, undamaged: every fact in it is the true one."""
    given = [result.text for asked, result in dialogue.results_of(name) if asked.parsed == call.arguments]
    if len(given) > MAX_TRIES:
        raise GaveUp(f"{call} has no true result after {MAX_TRIES} tries: {given}")
    return any(all(fact in text for fact in facts) for text in given)
