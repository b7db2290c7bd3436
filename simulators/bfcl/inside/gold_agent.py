"""The gold agent, which solves entries.

The agent knows the gold calls. It makes one only when it can see the values that the call takes from the
conversation: what stood in the clean texts must stand in those that it was given. Otherwise it recovers as
operators declare: it repeats the call whose result lost the value, or asks the user, who says the turn's
message again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .values import Call, Value, shows, spellings

DONE = "That is done."
ASK = "Could you tell me again what exactly you need?"
GAVE_UP = "I can't go on without that."
MOST_VALUES = 100
"""Values of a result that are looked for."""
_ERROR = re.compile(r"traceback|exception|error|\b[45]\d\d\b", re.IGNORECASE)
OTHER_TYPE = "must be of type"
"""What a refusal says of an argument whose type the tool is wrongly declared to take."""
ATTEMPTS = 4
"""Calls of one kind, or questions in one turn, before the agent gives up."""

Message = dict[str, Any]


class Gold(Protocol):
    """What the agent knows of an entry."""

    @property
    def said(self) -> Sequence[str]:
        """What the user says, turn by turn."""
        ...

    @property
    def calls(self) -> Sequence[Sequence[Call]]:
        """The gold calls of each turn with their clean results."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools as they are without noise."""
        ...


@dataclass(slots=True)
class _Seen:
    """A transcript, read as the gold agent does."""

    turn: int = 0
    made: int = 0
    """Gold calls of the turn that were made."""
    asked: int = 0
    """Questions in this turn."""
    texts: list[str] = field(default_factory=list)
    """All that the agent was told: users' texts and results."""
    results: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    """Calls by the names and arguments under which they were made, with their results."""

    def shows(self, value: Value) -> bool:
        return any(shows(text, value) for text in self.texts)

    def count(self, name: str, arguments: Mapping[str, Any]) -> int:
        return sum(one[:2] == (name, arguments) for one in self.results)


class GoldAgent:
    """Decides each message from the transcript alone. One that doesn't recover goes on whatever it meets."""

    def __init__(self, entry: Gold, *, recovers: bool = True) -> None:
        self._entry = entry
        self._recovers = recovers

    def decide(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        shown = ShownTools(self._entry.tools, tools)
        seen = self._read(messages, shown)
        gold = self._entry.calls[seen.turn]
        lost = self._find_lost(seen) if self._recovers else None
        if lost is None:
            if seen.made == len(gold):
                return {"role": "assistant", "content": DONE}
            call = gold[seen.made]
            name, arguments = shown.way(call, seen)
            return _call_message(name, arguments, len(seen.results))
        if isinstance(lost, Call):
            name, arguments = shown.way(lost, seen)
            if seen.count(name, arguments) < ATTEMPTS:
                return _call_message(name, arguments, len(seen.results))
        elif seen.asked < ATTEMPTS:
            return {"role": "assistant", "content": ASK}
        return {"role": "assistant", "content": GAVE_UP}

    def _read(self, messages: Sequence[Message], shown: ShownTools) -> _Seen:
        seen = _Seen()
        said = {one["tool_call_id"]: str(one["content"]) for one in messages if one["role"] == "tool"}
        for message in messages:
            if message["role"] == "user":
                seen.texts.append(str(message["content"]))
            if message["role"] != "assistant":
                continue
            if message.get("content") == DONE:
                seen.turn, seen.made, seen.asked = seen.turn + 1, 0, 0
            seen.asked += message.get("content") == ASK
            for made in message.get("tool_calls") or ():
                name, arguments = made["function"]["name"], json.loads(made["function"]["arguments"])
                text = said.get(made["id"], "")
                seen.results.append((name, arguments, text))
                seen.texts.append(text)
                gold = self._entry.calls[seen.turn]
                if (
                    seen.made < len(gold)
                    and shown.serves(name, gold[seen.made])
                    and not is_refusal(text)
                    and _alike(arguments, gold[seen.made].arguments)
                    and (self._is_answer(gold[seen.made], text) or seen.count(name, arguments) >= ATTEMPTS)
                ):
                    seen.made += 1
        return seen

    def _is_answer(self, call: Call, text: str) -> bool:
        """Whether the call was carried out: the result shows more than half of what the true one says,
        besides what the call says itself, as errors do. Else it is made again. That is safe for writes too,
        since none fails after it took effect.
        """
        if not self._recovers:
            return True
        true = call.result or ""
        if true in text:
            return True
        result = _read_result(true)
        if isinstance(result, dict) and _ERROR.search(text) and not any(f'"{key}"' in text for key in result):
            return False  # A value may stand in an error by chance.
        called = [(call.tool,), *spellings(call.arguments)]
        told = spellings(result)[:MOST_VALUES]
        told = [value for value in told if value not in called] or told
        return bool(told) and 2 * sum(shows(text, value) for value in told) > len(told)

    def _find_lost(self, seen: _Seen) -> Call | str | None:
        """What brings back a value that a later gold call takes: the call whose clean result had it, or the
        user's message (its text). None: nothing is lost.
        """
        turns, turn, made = self._entry.calls, seen.turn, seen.made
        past = [*(call for calls in turns[:turn] for call in calls), *turns[turn][:made]]
        said = self._entry.said[: turn + 1]
        # A result is repeated at once: later the world may be another.
        rest = [*turns[turn][made:], *(call for calls in turns[turn + 1 :] for call in calls)]
        for value in [value for call in rest for value in spellings(call.arguments)] if past[-1:] else ():
            told_by_user = any(shows(text, value) for text in said)
            if not told_by_user and not seen.shows(value) and shows(past[-1].result or "", value):
                return past[-1]
        for value in [value for call in turns[turn][made : made + 1] for value in spellings(call.arguments)]:
            if not seen.shows(value):
                for text in said:
                    if shows(text, value):
                        return text
        return None


def _read_result(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def is_refusal(text: str) -> bool:
    """Whether a result says that the tool itself can't be called so: nothing was done."""
    return any(mark in text for mark in ("no such tool", "not enabled", OTHER_TYPE))


def _alike(made: Mapping[str, Any], gold: Mapping[str, Any]) -> bool:
    """Whether two calls' arguments say the same, whatever the types that a schema asks for."""
    return {name: _plain(value) for name, value in made.items()} == {
        name: _plain(value) for name, value in gold.items()
    }


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _call_message(name: str, arguments: Mapping[str, Any], number: int) -> Message:
    function = {"name": name, "arguments": json.dumps(dict(arguments))}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


class ShownTools:
    """The tools as the agent is shown them, and which of them serves a gold call."""

    def __init__(self, clean: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> None:
        self._clean = {tool["name"]: tool for tool in clean}
        self._shown = [tool["function"] for tool in tools]

    def serves(self, name: str, call: Call) -> bool:
        return name == call.tool or any(one["name"] == name for one in self._candidates(call.tool))

    def way(self, call: Call, seen: _Seen) -> tuple[str, Mapping[str, Any]]:
        """The first way to make the call that wasn't refused: by its tool, as declared and as it is meant."""
        told = {name for name, _, text in seen.results if OTHER_TYPE in text}
        ways = [
            (tool["name"], arguments)
            for tool in self._candidates(call.tool)
            for arguments in (_cast(call.arguments, tool), call.arguments)
            if arguments == call.arguments or tool["name"] not in told
        ]
        refused = [(name, arguments) for name, arguments, text in seen.results if is_refusal(text)]
        return next((way for way in ways if way not in refused), (call.tool, call.arguments))

    def _candidates(self, name: str) -> list[Mapping[str, Any]]:
        """The tools that take what the clean tool takes: its own name first, then the most similar."""
        takes = set(_properties(self._clean[name]))
        found = [
            tool
            for tool in self._shown
            if set(_properties(tool)) == takes and (tool["name"] == name or tool["name"] not in self._clean)
        ]
        words = _words(self._clean[name])
        return sorted(found, key=lambda one: (one["name"] != name, -len(words & _words(one))))


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return (tool.get("parameters") or {}).get("properties") or {}


def _words(tool: Mapping[str, Any]) -> set[str]:
    return set(f"{tool['name'].replace('_', ' ')} {tool.get('description') or ''}".lower().split())


def _cast(arguments: Mapping[str, Any], tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments in the types that the tool is declared to take."""
    kinds = {name: part.get("type") for name, part in _properties(tool).items() if isinstance(part, Mapping)}
    return {
        name: _plain(value) if kinds.get(name) == "string" else value for name, value in arguments.items()
    }
