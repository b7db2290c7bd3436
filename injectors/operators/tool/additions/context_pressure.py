"""Bulk around a tool's answer that says nothing new, so that what matters is crowded out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Gap,
    Holder,
    around_field,
    dump,
    find_case,
    find_holders,
    insert,
    is_plain_text,
    write_key,
)
from crosswind.injectors.operators.words.empty_fields import (
    AMISS,
    ANSWER,
    COMMAND,
    COMPUTED,
    DEVICE,
    ECHOES,
    FOUND,
    MEANINGS,
    PAGES,
    RECORD,
    SEARCH,
    SUBJECTS,
    TRADE,
    TROUBLE,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET
from crosswind.injectors.stacks.errors import LOGINS
from crosswind.injectors.stacks.kinds import find_kinds, read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import TOKEN
from crosswind.injectors.values.parameters import split_name

SCROLLBACK = 6_000
"""Characters of earlier commands at severity 1."""
MOST_FIELDS = 8
"""Empty fields of an object at severity 1."""
BARE = 0.4
"""How often nothing but the request or the indentation is added, at the least severity."""
LONGEST_ECHO = 600
NULL_SHARE = 0.2
"""How often a text's field without a value is null; else it is the empty text."""
INDENTS = ("  ", "  ", "  ", "    ", "    ", "\t")


@operator(
    "tool.context_pressure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (3), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=10,
)
class ContextPressure:
    """A result is longer than it need be, as systems make it: by empty fields, the request repeated,
    indentation, or a terminal's scrollback. Nothing that is added says anything new.

    Severity s: up to 8 x s empty fields in a JSON object, or in each record of its lists, such as answers of
    any kind have and records of this kind: an order's discounts, a device's faults; with probability s / 2
    the call's own arguments, as services repeat them; with probability 1/2 + s / 2 JSON of one line is
    indented. With probability 0.4 (1 - s), one of the latter two comes alone. Before the text of a command
    stand the session's earlier commands with their true output, up to 6,000 x s characters, and its own.
    Every true value keeps its place and its bytes; other text is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text
        value = parse_json(text)
        if severity <= 0:
            return None
        if is_plain_text(value, text):
            above = _write_scrollback(target, round(SCROLLBACK * severity))
            return {"added": [[0, "", above, ""]]} if above else None
        holders = find_holders(text) if is_container(value) else ()
        if not holders:
            return None
        fields = list(_draw_fields(target, holders, rng, severity))
        added, indent = list(_draw_echo(target, value, rng, severity)), rng.choice(INDENTS)
        one_line = "\n" not in text.strip()
        wide = (rng.chance(0.5 + severity / 2) or not fields) and one_line
        bare = rng.chance(BARE * (1 - severity)) and (added or wide)
        added = added if bare else [*fields, *added]
        if not added and not wide:
            return None
        return {"added": added} | ({"indent": indent} if wide else {})

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added: list[list[Any]] = draw["added"]
        text = insert(target.text, added)
        if indent := draw.get("indent"):
            text = _indent(text, indent)
        count = len(text) - len(target.text)
        return Result(text, f"The result of {target.tool} is {count} characters longer, and says no more.")


def _draw_fields(
    target: ToolResultTarget, holders: tuple[Holder, ...], rng: SeededRandom, severity: float
) -> Iterator[list[Any]]:
    """Empty fields behind those of the whole, or of the records of its largest list."""
    text, case, whole = target.text, find_case(target.text), holders[0]
    records = [one for one in holders if one.keys == holders[-1].keys]
    many = len(records) > 1 or text.lstrip().startswith("[")
    chosen = records if many else [whole]
    taken = chosen[0].keys
    pool = _list_fields(target, taken, listed=many)
    count = max(1, round(severity * MOST_FIELDS * (0.5 + rng.uniform() / 2)))
    absent = None if rng.chance(NULL_SHARE) else ""
    fields = {
        write_key(name, case): absent if nothing == "" else nothing
        for name, nothing in _draw_meanings(pool, taken, rng)
    }
    fields = {key: nothing for key, nothing in fields.items() if key not in taken}
    for key, nothing in list(fields.items())[:count]:
        for one in chosen:
            place = around_field(text, one.gaps[-1], key)
            yield [place.at, place.before, dump(nothing, like=text), place.after]


def _draw_meanings(
    pool: list[tuple[str, Any]], keys: frozenset[str], rng: SeededRandom
) -> Iterator[tuple[str, Any]]:
    """A field of each meaning that no key has, all meanings equally likely to come first."""
    met = {"_".join(split_name(key)) for key in keys}
    meanings: dict[frozenset[str], list[tuple[str, Any]]] = {}
    for one in pool:
        alike = next((names for names in MEANINGS if one[0] in names), frozenset(one[:1]))
        meanings.setdefault(alike, []).append(one)
    for alike in rng.shuffled(tuple(meanings)):
        chosen = rng.choice(meanings[alike])
        if met.isdisjoint(alike):
            yield chosen


def _list_fields(target: ToolResultTarget, keys: frozenset[str], *, listed: bool) -> list[tuple[str, Any]]:
    """The empty fields that an object with these keys may have; none that the call speaks of."""
    kinds = find_kinds(target, "")
    if not kinds.isdisjoint((ToolKind.SHELL, ToolKind.CODE, ToolKind.SQL)):
        fields = [] if listed else [*COMMAND]
    elif ToolKind.FUNCTION in kinds:
        fields = [] if listed else [*COMPUTED]
    elif ToolKind.DEVICE in kinds:
        fields = [*DEVICE]
    else:
        about = _find_subject(target.tool, keys)
        found = listed and "search" in split_name(target.tool) and about in ((), SEARCH)
        fields = [*(FOUND if found else about)]
        if not found and (listed or "id" in {next(reversed(split_name(key)), "") for key in keys}):
            fields += RECORD
        if not listed:
            fields += (*ANSWER, *PAGES) if _LIST.search(target.text) else ANSWER
    if AMISS.search(target.text):
        trouble = {name for name, _ in TROUBLE}
        fields = [one for one in fields if one[0] not in trouble and not AMISS.search(one[0])]
    asked = _read_singulars((target.tool, *read_arguments(target)))
    return [one for one in fields if asked.isdisjoint(_read_singulars(one[:1]))]


_LIST = re.compile(r":\s*\[\s*\{")


def _find_subject(tool: str, keys: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """The fields of what a tool's name speaks of."""
    words = frozenset(split_name(tool))
    if not LOGINS.isdisjoint(words):
        return ()
    if any(not _TRADED.isdisjoint(split_name(key)) for key in keys):
        return SUBJECTS[0][1] if _TRADES.isdisjoint(words) else TRADE
    return next((fields for subject, fields in SUBJECTS if not words.isdisjoint(subject)), ())


_TRADED = frozenset({"symbol", "ticker", "watchlist", "portfolio", "shares"})
_TRADES = frozenset({"order", "orders", "trade", "trades", "buy", "sell"})


def _read_singulars(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for name in names for word in split_name(name)) - {"id", "order"}


def _draw_echo(
    target: ToolResultTarget, value: Any, rng: SeededRandom, severity: float
) -> Iterator[list[Any]]:
    """The call's arguments in a field of their own, where the system is a service or computes."""
    wanted, first = rng.chance(severity / 2), rng.chance(0.3)
    keys = rng.shuffled(ECHOES)
    kinds, arguments = find_kinds(target, ""), read_arguments(target)
    if not wanted or not arguments or not isinstance(value, dict) or any(map(SECRET.search, arguments)):
        return
    if not kinds.isdisjoint((ToolKind.SHELL, ToolKind.CODE, ToolKind.SQL, ToolKind.DEVICE)):
        return
    case = find_case(target.text)
    key = next((one for one in keys if write_key(one, case) not in value), None)
    content = dump(dict(arguments), like=target.text)
    if key is not None and len(content) <= LONGEST_ECHO:
        gaps: tuple[Gap, ...] = find_holders(target.text)[0].gaps
        place = around_field(target.text, gaps[0 if first else -1], write_key(key, case))
        yield [place.at, place.before, content, place.after]


def _write_scrollback(target: ToolResultTarget, most: int) -> str:
    """The session's earlier commands and what they printed, as far as there is room; and the command that
    printed this text. Empty: no command did."""
    own = _read_command(target.arguments)
    if own is None:
        return ""
    written: list[str] = []
    for one in reversed(target.branch.earlier):
        if isinstance(one, ToolResult) and one.call.name == target.tool:
            command = _read_command(one.call.arguments)
            if command is None or sum(map(len, written)) + len(one.text) + len(command) > most:
                break
            end = "" if one.text.endswith("\n") or not one.text else "\n"
            written.append(f"$ {command}\n{one.text}{end}")
    return f"{''.join(reversed(written))}$ {own}\n"


def _read_command(arguments: str) -> str | None:
    value = parse_json(arguments)
    found = value.get("command", value.get("cmd")) if isinstance(value, dict) else None
    return found if isinstance(found, str) and found.strip() else None


def _indent(text: str, indent: str) -> str:
    """JSON with each member on a line of its own; the scalars keep their bytes."""
    pieces: list[str] = []
    depth, opened = 0, False
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in ("}", "]"):
            depth -= 1
            pieces.append(token if opened else f"\n{indent * depth}{token}")
            opened = False
            continue
        if opened:
            pieces.append(f"\n{indent * depth}")
        opened = token in ("{", "[")
        depth += opened
        if token == ",":
            token = f",\n{indent * depth}"
        pieces.append(": " if token == ":" else token)
    return "".join(pieces)
