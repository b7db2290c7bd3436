"""An answer's verbose form: what the same call returns or explains beside its values.

All that is told follows from the answer, the call's arguments and the tool's declaration. Nothing else is
claimed: no other call, no earlier value, no further record.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.words import fields, verbose_forms
from crosswind.injectors.operators.words.verbose_forms import Dialect
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, find_kinds, read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Half, ToolResultTarget

Block = tuple[str, Any]
"""The name of a field in snake_case, and its value."""

DEEPEST, MOST_FIELDS, LONGEST_ECHO = 3, 60, 400


def list_blocks(target: ToolResultTarget, value: dict[str, Any], rng: SeededRandom) -> list[Block]:
    """The parts of the verbose form, in the order in which they are taken."""
    half, kinds = target.branch.half, find_kinds(target, "")
    if ToolKind.SHELL in kinds:
        return _list_local(value, rng, half)
    device = not kinds.isdisjoint((ToolKind.DEVICE, ToolKind.CODE))
    columns, steps = _tell_columns(value, rng, half), _tell_steps(target, value, rng)
    ways: list[Callable[[], Block | None]] = [
        lambda: _tell_fields(value, rng, half) if columns is None else None,
        lambda: None if device else _tell_shown(value, rng, half),
        lambda: None if device else _tell_arguments(target, rng),
        lambda: None if device else _tell_statistics(value, rng, half),
    ]
    found = [columns, steps, *(way() for way in rng.shuffled(ways)), _tell_operation(target, rng)]
    return [one for one in found if one is not None]


def _list_local(value: dict[str, Any], rng: SeededRandom, half: Half) -> list[Block]:
    """What a command tells with its options: a long listing, a text's size and sums, a path's parts."""
    found = _tell_files(value, rng, half), _tell_text(value, rng, half), _tell_path(value, rng, half)
    return [one for one in found if one is not None]


def _tell_text(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The size and the checksums of the answer's text."""
    texts = [one for one in value.values() if isinstance(one, str) and len(one.split()) >= LEAST_WORDS]
    if not texts:
        return None
    text = max(texts, key=len)
    raw = text.encode(errors="replace")
    told: dict[str, Any] = {
        "bytes": len(raw),
        "characters": len(text),
        "words": len(text.split()),
        "lines": len(text.splitlines()),
        "encoding": "us-ascii" if text.isascii() else "utf-8",
        "longest_line": max(map(len, text.splitlines())),
        "md5": hashlib.md5(raw, usedforsecurity=False).hexdigest(),
        "sha1": hashlib.sha1(raw, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    taken = rng.sample(list(told), rng.integer(4, len(told)))
    return rng.choice(verbose_forms.TEXT_FACTS[half]), {key: one for key, one in told.items() if key in taken}


LEAST_WORDS = 6


def _tell_path(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The parts of the answer's path."""
    texts = (one for one in value.values() if isinstance(one, str) and one.startswith("/") and " " not in one)
    path = next((one for one in texts if len(one) > 1), None)
    if path is None:
        return None
    parent, _, name = path.rstrip("/").rpartition("/")
    parts = [one for one in path.split("/") if one]
    told = {"parent": parent or "/", "basename": name, "absolute": True, "depth": len(parts), "parts": parts}
    taken = rng.sample(list(told), rng.integer(2, len(told)))
    return rng.choice(verbose_forms.PATH_FACTS[half]), {key: one for key, one in told.items() if key in taken}


def _kind_of(value: Any) -> int:
    """The place of a value's type in a dialect."""
    if isinstance(value, bool):
        return 3
    kinds = ((int, 1), (float, 2), (list, 4), (dict, 5))
    return next((at for kind, at in kinds if isinstance(value, kind)), 0)


def _walk(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """The fields of an answer: path, name and value; of a list's records, the first has them."""
    if isinstance(value, list):
        value, path = (value[0] if value else None), f"{path}[]"
    if not isinstance(value, dict) or depth == DEEPEST:
        return
    for key, one in value.items():
        place = f"{path}.{key}" if path else key
        yield place, key, one
        yield from _walk(one, place, depth + 1)


def _tell_fields(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The types of the answer's own fields, with what else such systems say of them."""
    dialect = rng.choice(verbose_forms.DIALECTS[half])
    name = rng.choice(verbose_forms.DESCRIBED[half])
    if dialect.type == "type" and not dialect.name:
        return rng.choice(verbose_forms.SCHEMAS[half]), _describe_json(value, rng.chance(0.5))
    found = [one for one in _walk(value) if one[2] is not None][:MOST_FIELDS]
    if not found:
        return None
    rows = [(path, _describe(dialect, key, one)) for path, key, one in found]
    if dialect.name:
        return name, [{dialect.name: path, **row} for path, row in rows]
    return name, {
        path: row if dialect.type else _name_type(dialect, one[2])
        for (path, row), one in zip(rows, found, strict=True)
    }


def _describe(dialect: Dialect, key: str, value: Any) -> dict[str, Any]:
    row: dict[str, Any] = {dialect.type: _name_type(dialect, value)}
    words = split_field(key)
    if dialect.label and words:
        row[dialect.label] = _title(words)
    unit = verbose_forms.UNITS.get(words[-1]) if len(words) > 1 else None
    if dialect.unit and unit is not None and _kind_of(value) in (1, 2):
        row[dialect.unit] = unit
    if dialect.size and isinstance(value, str):
        row[dialect.size] = next(one for one in (16, 64, 255, 1024, 10**9) if one >= len(value))
    return row | dict(dialect.more)


def _name_type(dialect: Dialect, value: Any) -> str:
    """What a family of systems calls the value's type; of a list, with that of its first element."""
    name = dialect.types[_kind_of(value)]
    first = value[0] if isinstance(value, list) and value else ""
    return name.replace("{}", dialect.types[_kind_of(first)]).replace("{}", dialect.types[0])


def _title(words: tuple[str, ...]) -> str:
    words = words[:-1] if len(words) > 1 and words[-1] in verbose_forms.UNITS else words
    shown = " ".join(word.upper() if word == "id" else word for word in words)
    return shown[:1].upper() + shown[1:]


def _describe_json(value: Any, titled: bool, depth: int = 0) -> dict[str, Any]:
    """A JSON Schema of the value."""
    if value is None:
        return {"type": "null"}
    kind = ("string", "integer", "number", "boolean", "array", "object")[_kind_of(value)]
    told: dict[str, Any] = {"type": kind}
    if depth == DEEPEST:
        return told
    if isinstance(value, list) and value:
        told["items"] = _describe_json(value[0], titled, depth + 1)
    if isinstance(value, dict):
        shown = list(value.items())[:MOST_FIELDS]
        told["properties"] = {key: _describe_json(one, titled, depth + 1) for key, one in shown}
        if titled:
            for key, one in told["properties"].items():
                one["title"] = _title(split_field(key)) or key
        told["required"] = [key for key, _ in shown]
    return told


def _tell_shown(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The answer's own amounts as people in some place write them."""
    locale = rng.choice(verbose_forms.LOCALES[half])
    found = [one for one in _walk(value) if "[]" not in one[0]]
    texts = {path: text for path, key, one in found if (text := _show(key, one, locale)) is not None}
    if not texts:
        return None
    name = rng.choice(verbose_forms.SHOWN[half])
    return name, {"locale": locale[0], **texts} if rng.chance(0.5) else {locale[0]: texts}


def _show(key: str, value: Any, locale: tuple[str, str, str]) -> str | None:
    """A figure that places write in their own ways: one with decimals, or above 999."""
    _, thousands, point = locale
    words = split_field(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or words[-1:] == ():
        return None
    if words[-1] in fields.NAMING | fields.TIMES | {"year"} or not math.isfinite(value):
        return None
    if abs(value) >= 1e12 or "e" in repr(value) or (abs(value) < 1000 and value == int(value)):
        return None
    whole, _, rest = repr(abs(value)).partition(".")
    rest = rest.ljust(2, "0") if len(rest) == 1 and not fields.AMOUNTS.isdisjoint(words) else rest
    rest = "" if rest == "0" else rest
    shown = f"{int(whole):,}".replace(",", thousands)
    unit = verbose_forms.UNITS.get(words[-1]) if len(words) > 1 else None
    sign = "-" if value < 0 else ""
    return sign + shown + (f"{point}{rest}" if rest else "") + (f" {unit}" if unit else "")


def _tell_arguments(target: ToolResultTarget, rng: SeededRandom) -> Block | None:
    """The call's own arguments as the service read them."""
    shown = {name: one for name, one in read_arguments(target).items() if not SECRET.search(name)}
    shown = {name: one for name, one in shown.items() if len(str(one)) <= LONGEST_ECHO}
    half = target.branch.half
    if not shown:
        return None
    if rng.chance(0.5):
        return rng.choice(verbose_forms.ASKED[half]), shown
    name, given = rng.choice(
        (("name", "value"), ("key", "value"), ("parameter", "value"), ("param", "value"))
    )
    rows = [{name: one, given: each} for one, each in shown.items()]
    return rng.choice(verbose_forms.ASKED[half]), rows


def _tell_operation(target: ToolResultTarget, rng: SeededRandom) -> Block | None:
    """What the tool's own declaration says of it."""
    own = next((tool for tool in target.tools if tool.name == target.tool), None)
    if own is None or not own.description or rng.chance(0.5):
        return None
    name = rng.choice(verbose_forms.MEANING[target.branch.half])
    properties = own.parameters.get("properties")
    told = properties if isinstance(properties, Mapping) else {}
    texts = {str(key): one.get("description") for key, one in told.items() if isinstance(one, Mapping)}
    shown = {key: texts[key] for key in sorted(texts) if isinstance(texts[key], str) and texts[key]}
    if not shown or rng.chance(0.3):
        return name, own.description
    said, given = rng.choice((("summary", "parameters"), ("description", "inputs"), ("text", "arguments")))
    return name, {said: own.description, given: shown}


def _tell_statistics(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The least, greatest and mean figures of a list's records, and how often each word is there."""
    lists = [(key, one) for key, one in value.items() if isinstance(one, list) and len(one) > 1]
    found = next((one for one in lists if all(isinstance(each, dict) for each in one[1])), None)
    if found is None:
        return None
    least, most, mean, count = rng.choice(
        (
            ("min", "max", "avg", "count"),
            ("lowest", "highest", "mean", "n"),
            ("from", "to", "average", "rows"),
        )
    )
    told: dict[str, Any] = {}
    for key in found[1][0]:
        column = [one.get(key) for one in found[1]]
        words = split_field(key)
        if words[-1:] == () or words[-1] in fields.NAMING:
            continue
        if all(type(one) in (int, float) and math.isfinite(one) for one in column):
            average = round(sum(column) / len(column), 2)
            told[key] = {least: min(column), most: max(column), mean: average, count: len(column)}
        elif all(isinstance(one, str) and len(one) < LONGEST_WORD for one in column):
            counted = Counter(column)
            if len(counted) < len(column):
                told[key] = dict(counted.most_common())
    return (rng.choice(verbose_forms.COUNTED[half]), told) if told else None


LONGEST_WORD = 24
_TYPES = {int: ("int4", 23, 4), float: ("numeric", 1700, -1), bool: ("bool", 16, 1), str: ("text", 25, -1)}


def _tell_columns(value: Any, rng: SeededRandom, half: Half) -> Block | None:
    """What a database's client tells of the columns of an answer to a query."""
    names, rows = value.get("columns"), value.get("rows")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        return None
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], list) else []
    table = rng.integer(16_400, 99_000)
    told = []
    for at, name in enumerate(names):
        kind, oid, length = _TYPES.get(type(first[at]) if at < len(first) else str, _TYPES[str])
        row = {"name": name, "tableID": table, "columnID": at + 1, "dataType": kind, "dataTypeID": oid}
        told.append(row | {"dataTypeSize": length, "dataTypeModifier": -1, "format": "text"})
    return rng.choice(verbose_forms.COLUMNS[half]), told


def _tell_files(value: dict[str, Any], rng: SeededRandom, half: Half) -> Block | None:
    """The names of a folder's files as `ls -l` has them."""
    lists = [one for one in value.values() if isinstance(one, list) and one]
    names = next((one for one in lists if all(isinstance(each, str) for each in one)), [])
    if any(" " in one or ":" in one for one in names):
        return None
    if not any("." in one.strip(".") for one in names):
        return None
    owner = rng.choice(("root", "app", "dev", "ubuntu", "kim", "deploy"))
    return rng.choice(verbose_forms.LISTED[half]), [_list_file(one, owner, rng) for one in names]


def _list_file(name: str, owner: str, rng: SeededRandom) -> str:
    is_file = "." in name.rpartition("/")[2].lstrip(".")
    moment = datetime.fromtimestamp(rng.integer(1_767_300_000, 1_795_000_000), UTC)
    mode = rng.choice(("-rw-r--r--", "-rw-rw-r--", "-rw-------")) if is_file else "drwxr-xr-x"
    length = rng.integer(40, 90_000) if is_file else 4096
    return f"{mode} {1 if is_file else 2} {owner} {owner} {length:>6} {moment:%b %d %H:%M} {name}"


def _tell_steps(target: ToolResultTarget, value: dict[str, Any], rng: SeededRandom) -> Block | None:
    """The steps of a calculation, where they lead to the answer."""
    given = [one for one in read_arguments(target).values() if one != []]
    lists = [
        one for one in given if isinstance(one, list) and all(type(each) in (int, float) for each in one)
    ]
    numbers = lists[0] if len(lists) == 1 else []
    answer = next((one for one in value.values() if type(one) in (int, float)), None)
    if len(numbers) < 2 or answer is None or len(numbers) > MOST_FIELDS:
        return None
    words = set(words_of(target.tool))
    total = sum(numbers)
    running, steps = numbers[0], []
    for one in numbers[1:]:
        steps.append(f"{running:g} + {one:g} = {running + one:g}")
        running += one
    if words & {"mean", "average"} and math.isclose(total / len(numbers), answer, rel_tol=1e-3):
        steps.append(f"{total:g} / {len(numbers)} = {answer}")
    elif not (words & {"sum", "add", "total"} and math.isclose(total, answer, rel_tol=1e-6)):
        return None
    return rng.choice(verbose_forms.COMPUTED[target.branch.half]), steps
