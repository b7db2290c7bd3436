"""BFCL's multi-turn entries as an environment, and the gold agent that solves them.

The agent knows the gold calls. It makes one only when it can see the values that the call takes from the
conversation: what stood in the clean texts must stand in those that it was given. Otherwise it recovers as
operators declare: it repeats the call whose result lost the value, or asks the user, who says the turn's
message again. BFCL's own checker judges the calls that were made.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from benchmarks.noise_quality.samples import Call, Value, spellings
from crosswind.simulators.environment import Episode, Message, Oracle, Task, Verdict

DONE = "That is done."
ASK = "Could you tell me again what exactly you need?"
GAVE_UP = "I can't go on without that."
ATTEMPTS = 4
"""Calls of one kind, or questions in one turn, before the agent gives up."""

_numbers = count()


@dataclass(frozen=True)
class Entry:
    """One entry of BFCL: what the user says turn by turn, and the gold calls with their clean results."""

    document: Mapping[str, Any]
    ground_truth: Sequence[Sequence[str]]
    """The gold calls of each turn as BFCL writes them."""
    calls: Sequence[Sequence[Call]]
    tools: Sequence[Mapping[str, Any]]

    @property
    def id(self) -> str:
        return str(self.document["id"])

    @cached_property
    def said(self) -> list[str]:
        return [turn[-1]["content"] for turn in self.document["question"]]


class EntryEnvironment:
    """An environment with one task."""

    kinds: Mapping[str, Sequence[str]] = {}
    repeatable: Sequence[str] = ()
    read_only: Sequence[str] = ()

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.instructions = f"You serve the user with the tools that you have. Case: {entry.id}"
        self.name = entry.id
        self.tools: Sequence[Mapping[str, Any]] = [
            {"type": "function", "function": tool} for tool in entry.tools
        ]

    def tasks(self, split: str, *, kinds: str, seed: int) -> Iterator[Task]:
        while True:
            yield self.task(self.name)

    def task(self, task_id: str) -> Task:
        return Task(task_id, "test", "bfcl")

    def reset(self, task: Task, seed: int) -> Episode:
        return EntryEpisode(self.entry)

    def oracle(self, *, recovers: bool = True, verifies: bool = False) -> Oracle:
        return GoldAgent(self.entry)


class EntryEpisode:
    """One attempt: the package's simulators execute the calls, the user says one message after the other."""

    scenario = ""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._said = iter(entry.said)
        self._now = self.opening = next(self._said)
        self._made: list[list[list[str]]] = [[]]
        self._model = f"gold_{next(_numbers)}"
        self._execution = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")

    def call(self, name: str, arguments: str) -> str:
        try:
            given = json.loads(arguments)
        except ValueError as error:
            return json.dumps({"error": f"arguments are no JSON: {error}"})
        source = f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
        document = self._entry.document
        results, _ = self._execution.execute_multi_turn_func_call(
            [source], document["initial_config"], document["involved_classes"], self._model, document["id"]
        )
        self._made[-1].append([source])
        return str(results[0])

    def reply(self, text: str) -> str | None:
        if text == ASK:
            return self._now
        if text != DONE or (following := next(self._said, None)) is None:
            return None
        self._now = following
        self._made.append([])
        return following

    def verify(self) -> Verdict:
        checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
        made = self._made + [[] for _ in range(len(self._entry.ground_truth) - len(self._made))]
        document = dict(self._entry.document)
        judged = checker.multi_turn_checker(
            made, self._entry.ground_truth, document, "multi_turn_base", self._model
        )
        return Verdict(float(bool(judged["valid"])))

    def close(self) -> None:
        """Forget the package's instances of this episode, which it keeps for good."""
        kept = vars(self._execution)
        for name in [name for name in kept if name.startswith(f"{self._model}_")]:
            del kept[name]


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
    """Decides each message from the transcript alone."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def decide(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        shown = ShownTools(self._entry.tools, tools)
        seen = self._read(messages, shown)
        gold = self._entry.calls[seen.turn]
        lost = self._find_lost(seen)
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
                ):
                    seen.made += 1
        return seen

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


def shows(text: str, value: Value) -> bool:
    """Whether a value stands in a text, and not as a part of a longer word or number."""
    return any(
        re.search(rf"(?<![\w.]){re.escape(spelling)}(?!\w|\.\d)", text) is not None for spelling in value
    )


def is_refusal(text: str) -> bool:
    """Whether a result says that the tool itself can't be called so: nothing was done."""
    return any(mark in text for mark in ("no such tool", "not enabled", "must be of type"))


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
        ways = [
            (tool["name"], arguments)
            for tool in self._candidates(call.tool)
            for arguments in (_cast(call.arguments, tool), call.arguments)
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
