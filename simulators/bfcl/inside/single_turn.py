"""Single-turn entries: one message, and the calls that it should lead to.

Their functions don't exist: a call is noted and confirmed, and in the end the package's checker compares the
calls with those that it accepts.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from .multi_turn import Verdict
from .package import WRITES_UNDERSCORES, Document, ast_checker
from .values import Call, shows, spellings

MOST_TRIES = 64
"""Combinations of accepted values that are tried for the gold call of an entry."""


def confirm(name: str, arguments: Mapping[str, Any]) -> str:
    """The result of a call."""
    return json.dumps({"status": "done", "function": name, "arguments": arguments})


MadeCall = tuple[str, Mapping[str, Any]]


def judge(entry: Document, truth: Sequence[Any] | None, calls: Sequence[MadeCall]) -> bool:
    """Whether the checker accepts the calls. Without a truth none should have been made."""
    if truth is None:
        return not calls
    language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    category = str(entry["id"]).rsplit("_", 1)[0]
    made = [{name: dict(arguments)} for name, arguments in calls]
    try:
        said = ast_checker()(entry["function"], made, truth, language, category, WRITES_UNDERSCORES)
    except (KeyError, TypeError, AttributeError):  # It takes for granted that nested values are well formed.
        return False
    return bool(said["valid"])


def find_gold(entry: Document, truth: Sequence[Any] | None, said: str) -> list[Call]:
    """Calls that the checker accepts: of each value that one which the user says, where there is one."""
    calls = []
    for answer in truth or ():
        [(dotted, accepted)] = answer.items()
        name = dotted.replace(".", "_")
        given = [(key, _order(values, said)) for key, values in accepted.items()]
        choices = [[(key, value) for value in values] for key, values in given if values]
        tries = (dict(one) for _, one in zip(range(MOST_TRIES), product(*choices), strict=False))
        first: dict[str, Any] = {}
        for arguments in tries:
            first = first or arguments
            if judge_one(entry, answer, name, arguments):
                first = arguments
                break
        calls.append(Call(name, first, confirm(name, first)))
    return calls


def judge_one(entry: Document, answer: Mapping[str, Any], name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the checker accepts a call for one of the answers."""
    [dotted] = answer
    function = [one for one in entry["function"] if one["name"] == dotted]
    alone = {**entry, "id": "simple_python_0", "function": function}
    return judge(alone, [answer], [(name, arguments)])


def _order(values: Sequence[Any], said: str) -> list[Any]:
    """The concrete values that are accepted for a parameter, those that the user says first; none: it may be
    left out."""
    found = [one for value in values if value != "" for one in _concrete(value)]
    if "" in values and not any(_is_said(value, said) for value in found):
        return []
    return sorted(found, key=lambda value: not _is_said(value, said))


def _is_said(value: Any, said: str) -> bool:
    leaves = spellings(value)
    return bool(leaves) and all(shows(said, one) for one in leaves)


def _concrete(value: Any) -> list[Any]:
    """The values that an accepted one stands for: objects have a list of accepted values for each member."""
    if isinstance(value, dict):
        return [{key: one[0] for key, one in value.items() if one and one[0] != ""}]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [[_concrete(one)[0] for one in value]]
    return [value]


class Stand:
    """The functions of one episode: they confirm each call, and the same call once more changes nothing."""

    acted = False
    """Whether a call was made."""

    def __init__(self, entry: Document, truth: Sequence[Any] | None) -> None:
        self._entry, self._truth = entry, truth
        self._made: list[tuple[str, dict[str, Any]]] = []

    def begin_turn(self) -> None:
        """Nothing changes: there is one turn."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self.acted = True
        self._made.append((name, dict(arguments)))
        return confirm(name, arguments)

    def verify(self) -> Verdict:
        """The checker's verdict on the calls, each counted once; or as often as it was made, since a few
        entries want a call twice."""
        once = [one for at, one in enumerate(self._made) if one not in self._made[:at]]
        valid = any(judge(self._entry, self._truth, calls) for calls in (once, self._made))
        return float(valid), {"calls_ok": float(valid), "not_executed": float(bool(self._truth) and not once)}

    def close(self) -> None:
        """There is nothing to let go of."""
