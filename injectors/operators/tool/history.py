"""What systems tell at length beside an answer, of the kind that the answer is: how its figures were before,
what was done with its record, details of a list's items, a table's columns, and the session's earlier calls.

Nothing contradicts the answer: what is told is past, or about how it is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from crosswind.injectors.conversation import ToolResult
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.words import fields
from crosswind.injectors.operators.words.histories import (
    ACTORS,
    ANY_EVENT,
    CALL_KEYS,
    COMMANDS,
    COUNTED_UP,
    EVENT_KEYS,
    EVENTS,
    HOLDERS,
    SLOW,
    TIMES,
    VARYING,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, find_kinds
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.stacks.templates import draw_token
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json

Row = Mapping[str, Any]
Told = tuple[str, list[Any]]
"""The name of the field in snake_case, and its elements."""

MOST_ROWS, LONGEST_SHOWN = 400, 240


def write_history(target: ToolResultTarget, rng: SeededRandom, size: int) -> Told:
    """What stands beside a JSON answer, in about so many characters; less where there is no more to tell."""
    value, kinds = parse_json(target.text), find_kinds(target, "")
    reads = target.tool_class is ToolClass.READ_ONLY
    ways: list[Callable[[], Told | None]] = [
        lambda: tell_session(target, rng, size) if rng.chance(OF_THE_SESSION) else None,
        lambda: _tell_columns(value, rng, size) if ToolKind.SQL in kinds else None,
        lambda: _tell_results(target, value, rng, size) if ToolKind.FUNCTION in kinds else None,
        lambda: _tell_series(target, value, rng, size) if reads or ToolKind.DEVICE in kinds else None,
        lambda: _tell_files(value, rng, size) if ToolKind.SHELL in kinds else None,
        lambda: _tell_commands(target, rng, size) if ToolKind.SHELL in kinds else None,
        lambda: _tell_items(value, rng, size) if reads else None,
        lambda: _tell_events(target, value, rng, size) if reads or ToolKind.DEVICE in kinds else None,
        lambda: _tell_calls(target, rng, size),
    ]
    found = (way() for way in ways)
    return next(one for one in found if one is not None)


OF_THE_SESSION = 0.3
"""How often the session's own earlier calls go before all else."""


def _fill(rows: Iterator[Any], size: int) -> list[Any]:
    """As many rows as so many characters have room for; one at least."""
    taken: list[Any] = []
    for row in rows:
        taken.append(row)
        size -= len(json.dumps(row)) + 2
        if size <= 0 or len(taken) == MOST_ROWS:
            break
    return taken


class Clock:
    """Moments one before the other, in one of the ways in which systems write them."""

    def __init__(self, rng: SeededRandom, *, slow: bool = False) -> None:
        self._rng = rng
        self.key, self._form = rng.choice(TIMES)
        self._step = rng.choice((86_400, 172_800, 604_800) if slow else (60, 300, 900, 3600, 21_600))
        if slow and self._form == "clock":
            self.key, self._form = "date", "date"
        self._now = datetime.fromtimestamp(rng.integer(1_672_600_000, 1_795_000_000), UTC)
        self._at = 0

    def back(self, *, even: bool = False) -> Any:
        """The moment before the last one."""
        self._at += 1
        step = self._step if even else max(1, round(self._step * self._rng.uniform(0.2, 1.8)))
        self._now -= timedelta(seconds=step)
        written = _FORMS.get(self._form)
        if written is not None:
            return f"{self._now:{written}}"
        if self._form == "epoch":
            return int(self._now.timestamp())
        return -self._at * self._step if self._form == "ago" else self._at


_FORMS = {
    "iso": "%Y-%m-%dT%H:%M:%SZ",
    "plain": "%Y-%m-%d %H:%M:%S",
    "clock": "%H:%M:%S",
    "date": "%b %d %H:%M",
}
"""How moments are written."""


def _tell_series(target: ToolResultTarget, value: Any, rng: SeededRandom, size: int) -> Told | None:
    """How figures that vary were before: of an object, or of the records of a list."""
    name, records = _find_records(value)
    label = next((key for key in records[0] if _names(key)), None) if name and records else None
    keys = [key for key in (records[0] if records else {}) if _varies(key, records[0][key])]
    words = {*words_of(target.tool), *(word for key in value for word in split_field(key))}
    if not keys or not BOUGHT.isdisjoint(words):
        return None
    keys = rng.sample(keys, min(len(keys), 3))
    slow = any(not SLOW.isdisjoint(split_field(key)) for key in keys)
    clock, columns = Clock(rng, slow=slow), rng.chance(0.25) and label is None
    walks = {(at, key): _Walk(one.get(key), rng, key) for at, one in enumerate(records) for key in keys}

    def rows() -> Iterator[Any]:
        while True:
            moment = clock.back(even=True)
            for at, one in enumerate(records):
                was = {key: walks[at, key].back() for key in keys}
                row = {clock.key: moment, **({label: one.get(label)} if label else {}), **was}
                yield list(row.values()) if columns else row

    return rng.choice(HOLDERS["series"]), _fill(rows(), size)


BOUGHT = frozenset({"order", "orders", "reservation", "booking", "invoice", "cart"})
"""What was bought keeps its price."""


def _find_records(value: Any) -> tuple[str, list[dict[str, Any]]]:
    """The records of an answer's list of them, with its name, or else the answer itself."""
    if not isinstance(value, dict):
        return "", []
    for key, one in value.items():
        if isinstance(one, list) and one and all(isinstance(each, dict) for each in one):
            return key, one[:8]
    inner = next((one for one in value.values() if isinstance(one, dict) and len(one) > 2), None)
    return "", [inner if inner is not None and len(value) == 1 else value]


def _names(key: str) -> bool:
    return split_field(key)[-1:] != () and split_field(key)[-1] in ("id", "name", "symbol", "code", "title")


def _varies(key: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9:
        return False
    words = split_field(key)
    return not VARYING.isdisjoint(words) and words[-1] not in fields.NAMING


class _Walk:
    """A figure as it was, step by step back from what it is."""

    def __init__(self, value: Any, rng: SeededRandom, key: str) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        self._rng, self._value = rng, float(value) if number else 0.0
        self._is_int = not number or isinstance(value, int)
        self._decimals = 0 if self._is_int else min(6, len(repr(value).partition(".")[2]) or 1)
        self._unit = max(abs(self._value) * 0.012, 1.0 if self._is_int else 10.0**-self._decimals)
        self._floor = self._value >= 0
        self._most = -0.1 if not COUNTED_UP.isdisjoint(split_field(key)) else 1.6

    def back(self) -> float | int:
        self._value += self._unit * self._rng.uniform(-1.6, self._most)
        if self._floor:
            self._value = max(self._value, 0.0)
        return round(self._value) if self._is_int else round(self._value, self._decimals)


def _find_names(value: Any) -> list[Any]:
    """The names that an answer lists."""
    lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else []
    return next((one for one in lists if one and all(isinstance(each, str | int) for each in one)), [])


def _tell_items(value: Any, rng: SeededRandom, size: int) -> Told | None:
    """What a service keeps of each item of a list."""
    items = _find_names(value)
    if len(items) < LEAST_ITEMS or any(len(str(one)) > LONGEST_NAME for one in items):
        return None
    field, count = rng.choice(("item", "value", "entry", "key", "ref")), rng.choice(("seen", "hits", "uses"))
    clock, serial = Clock(rng), rng.integer(1, 900)
    rows = (
        {field: one, clock.key: clock.back(), count: rng.integer(1, 90), "row": serial + at}
        for at, one in enumerate(items)
    )
    return rng.choice(HOLDERS["items"]), _fill(rows, size)


LEAST_ITEMS, LONGEST_NAME = 3, 40


def _tell_files(value: Any, rng: SeededRandom, size: int) -> Told | None:
    """The names of files as `ls -l` has them."""
    items = [one for one in _find_names(value) if isinstance(one, str)]
    if not items or any(" " in one or ":" in one for one in items) or not any("." in one for one in items):
        return None
    owner = rng.choice(("root", "app", "dev", "ubuntu", "kim", "deploy"))
    return rng.choice(HOLDERS["files"]), _fill((_list_file(one, owner, rng) for one in items), size)


def _list_file(name: str, owner: str, rng: SeededRandom) -> str:
    is_file = "." in name.rpartition("/")[2].lstrip(".")
    moment = datetime.fromtimestamp(rng.integer(1_672_600_000, 1_795_000_000), UTC)
    mode = rng.choice(("-rw-r--r--", "-rw-rw-r--", "-rw-------")) if is_file else "drwxr-xr-x"
    length = rng.integer(40, 90_000) if is_file else 4096
    return f"{mode} {1 if is_file else 2} {owner} {owner} {length:>6} {moment:%b %d %H:%M} {name}"


def _tell_commands(target: ToolResultTarget, rng: SeededRandom, size: int) -> Told:
    """The history of a shell."""
    number, form = rng.integer(40, 1900), rng.integer(0, 2)
    said = rng.choice(("cmd", "line", "typed", "input", "run", "text"))
    clock, known = Clock(rng), rng.sample(COMMANDS[target.branch.half], MOST_COMMANDS)

    def rows() -> Iterator[Any]:
        command = ""
        for at in range(MOST_ROWS):
            command = rng.choice([one for one in known if one != command])
            numbered = {clock.key: clock.back(), said: command}
            yield (command, f"{number - at:>5}  {command}", numbered)[form]

    return rng.choice(HOLDERS["commands"]), _fill(rows(), size)


MOST_COMMANDS = 7
"""A person types the same few again and again."""


def _tell_results(target: ToolResultTarget, value: Any, rng: SeededRandom, size: int) -> Told | None:
    """What was computed before: a calculator's tape, or the results of other calls of the function."""
    if not SUMMING.isdisjoint(words_of(target.tool)):
        return _tell_sums(rng, size)
    shown = {key: one for key, one in value.items() if type(one) in (int, float)}
    if not shown:
        return None
    clock = Clock(rng)
    decimals = {key: min(6, len(repr(one).partition(".")[2])) for key, one in shown.items()}

    def rows() -> Iterator[Any]:
        while True:
            was = {key: one * rng.uniform(0.05, 3.0) for key, one in shown.items()}
            yield {clock.key: clock.back()} | {
                key: round(one, decimals[key] or None) for key, one in was.items()
            }

    return rng.choice(HOLDERS["sums"]), _fill(rows(), size)


SUMMING = frozenset("calculate calculator compute sum multiply divide subtract math evaluate".split())
"""Words of functions that do sums."""


def _tell_sums(rng: SeededRandom, size: int) -> Told:
    said, gave = rng.choice(
        (("expr", "value"), ("in", "out"), ("input", "output"), ("sum", "is"), ("q", "a"))
    )
    form = rng.integer(0, 2)

    def rows() -> Iterator[Any]:
        while True:
            first, second = rng.integer(2, 900), rng.integer(2, 60)
            sign = rng.choice("+-*")
            answer = {"+": first + second, "-": first - second, "*": first * second}[sign]
            if form == 0:
                yield f"{first} {sign} {second} = {answer}"
            else:
                yield {said: f"{first}{sign}{second}", gave: answer} if form == 1 else answer

    return rng.choice(HOLDERS["sums"]), _fill(rows(), size)


_TYPES = {int: ("int4", 23, 4), float: ("numeric", 1700, -1), bool: ("bool", 16, 1), str: ("text", 25, -1)}


def _tell_columns(value: Any, rng: SeededRandom, size: int) -> Told | None:
    """What a database's client tells of the columns of an answer to a query."""
    names = value.get("columns") if isinstance(value, dict) else None
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        return None
    rows = value.get("rows")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], list) else []
    table = rng.integer(16_400, 99_000)

    def describe() -> Iterator[Row]:
        for at, name in enumerate(names):
            kind, oid, length = _TYPES.get(type(first[at]) if at < len(first) else str, _TYPES[str])
            yield {
                "name": name,
                "tableID": table,
                "columnID": at + 1,
                "dataType": kind,
                "dataTypeID": oid,
                "dataTypeSize": length,
                "dataTypeModifier": -1,
                "format": "text",
            }

    return rng.choice(HOLDERS["columns"]), _fill(describe(), size)


def _tell_events(target: ToolResultTarget, value: Any, rng: SeededRandom, size: int) -> Told | None:
    """What happened around the things that the answer is about, and changed nothing of it; None where that
    isn't known."""
    half, clock = target.branch.half, Clock(rng)
    words = {*words_of(target.tool), *(word for key in value for word in split_field(key))}
    own = next(((key, one) for key, one in value.items() if _is_id(key, one)), None)
    said = next((events[half] for known, events in EVENTS if not known.isdisjoint(words)), None)
    if said is None and own is None:
        return None
    said = said or ANY_EVENT[half]
    verb = rng.choice(EVENT_KEYS)
    by, names = ("", ("",)) if ToolKind.DEVICE in find_kinds(target, "") else rng.choice(ACTORS)
    numbered = _Number(rng)

    def rows() -> Iterator[Row]:
        last = ""
        while True:
            last = rng.choice([one for one in said if one != last])
            row = numbered.back() | {clock.key: clock.back(), verb: last}
            if own is not None:
                row[own[0]] = own[1]
            yield row | ({by: rng.choice(names)} if by else {})

    return rng.choice(HOLDERS["events"]), _fill(rows(), size)


class _Number:
    """A running number, one lower in each row; most lists have none."""

    def __init__(self, rng: SeededRandom) -> None:
        self._rng, self._key = rng, rng.choice(("", "", "", "", "seq", "no", "nr", "line_no", "num"))
        self._at = rng.integer(900, 90_000)

    def back(self) -> dict[str, Any]:
        self._at -= self._rng.integer(1, 4)
        return {self._key: self._at} if self._key else {}


def _is_id(key: str, value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and split_field(key)[-1:] == ("id",)


def _tell_calls(target: ToolResultTarget, rng: SeededRandom, size: int) -> Told:
    """Earlier calls of the tools on the same things, of other sessions as well: what a write's answer has."""
    nouns = set(words_of(target.tool)[1:])
    names = sorted({one.name for one in target.tools if nouns.intersection(words_of(one.name)[1:])})
    clock, (by, actors) = Clock(rng), rng.choice(ACTORS)
    called, numbered = rng.choice(CALL_KEYS), _Number(rng)

    def rows() -> Iterator[Row]:
        while True:
            row = numbered.back() | {clock.key: clock.back(), called: rng.choice(names or [target.tool])}
            yield row | ({by: rng.choice(actors)} if by else {})

    return rng.choice(HOLDERS["calls"]), _fill(rows(), size)


def tell_session(target: ToolResultTarget, rng: SeededRandom, size: int) -> Told | None:
    """The session's earlier calls with their answers, the latest first; None: there are none."""
    calls = [one for one in target.branch.earlier if isinstance(one, ToolResult)]
    if not calls:
        return None
    called, given, answer = rng.choice(
        (("call", "args", "result"), ("tool", "input", "output"), ("name", "arguments", "returned"))
    )

    def rows() -> Iterator[Row]:
        for one in reversed(calls):
            arguments = parse_json(one.call.arguments)
            told = {} if not isinstance(arguments, dict) else arguments
            shown = {name: each for name, each in told.items() if not SECRET.search(name)}
            yield {called: one.call.name, given: shown, answer: _shorten(one.text)}

    return rng.choice(HOLDERS["session"]), _fill(rows(), size)


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def write_scrollback(target: ToolResultTarget, rng: SeededRandom, size: int) -> list[str]:
    """The lines that a terminal has above a command's output: the session's earlier ones; none where there
    are none."""
    lines: list[str] = []
    prompt = rng.choice(("$ ", "% ", "> ", f"user@{draw_token(rng, 'hex', '4')}:~$ ", "❯ "))
    calls = [one for one in target.branch.earlier if isinstance(one, ToolResult)]
    for call in reversed(calls):
        arguments = parse_json(call.call.arguments)
        told = arguments if isinstance(arguments, dict) else {}
        given = [one for name, one in told.items() if isinstance(one, str) and not SECRET.search(name)]
        lines = [f"{prompt}{' '.join((call.call.name, *given))}", *_shorten(call.text).splitlines(), *lines]
        if sum(map(len, lines)) >= size:
            break
    return lines
