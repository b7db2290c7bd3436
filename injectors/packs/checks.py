"""The checks of a phrase pack: its entries, and how much they repeat one another."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby

from crosswind.injectors.packs.address import find_addresses
from crosswind.injectors.packs.model import SLOT, Entry, Pack, Problem
from crosswind.injectors.packs.parts import (
    CONVERSATION_SLOTS,
    DRAWN_SLOTS,
    OPERATORS,
    PARTS,
    Form,
    Part,
)
from crosswind.injectors.packs.words import (
    find_changes,
    find_content_words,
    find_values,
    opening,
    runs,
)
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language

Row = tuple[int, Entry, Part]

_DRAWN = re.compile(r"uuid|time|int:(?P<low>\d+)-(?P<high>\d+)|hex:[1-9]\d?|one:[^|]*(?:\|[^|]+)+")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LEAST_SHARE = 0.4
"""The smaller half of a part has at least this share."""
_LONGEST_FIELD = 60
_CLOSE = 0.8
"""How alike an operator's name and a misspelling of it are: those of one family are alike themselves."""
_OVERUSED = 0.1
"""A content word may be in this share of a part's entries, and in three at least."""
_SHARED = 0.05
"""An opening may be in this share of a part's entries, a run of words in this share of an operator's."""


def check(pack: Pack) -> list[Problem]:
    """All problems of a pack, by line."""
    rows: list[Row] = []
    problems: list[Problem] = []
    for line, entry in zip(pack.lines, pack.entries, strict=True):
        part = PARTS.get((entry.operator, entry.part))
        if part is None:
            fix, part = _find_meant(entry)
            problems.append(Problem(line, f"no part {entry.part!r} of {entry.operator!r}: {fix}"))
        if part is not None:
            rows.append((line, entry, part))
    for each in _CHECKS:
        problems.extend(each(rows, pack.language))
    return sorted(problems, key=lambda problem: problem.line)


def _find_meant(entry: Entry) -> tuple[str, Part | None]:
    """How to mend an entry whose part there isn't, and the part that was meant, if that is clear: the rest of
    the entry is checked as one of it."""
    operator = entry.operator
    if operator not in OPERATORS:
        near = get_close_matches(operator, OPERATORS, n=1, cutoff=_CLOSE)
        if not near:
            return "name an operator that draws from packs: " + ", ".join(sorted(OPERATORS)), None
        return f"did you mean {near[0]!r}?", PARTS.get((near[0], entry.part))
    known = [name for other, name in PARTS if other == operator]
    near = known if len(known) == 1 else get_close_matches(entry.part, known, n=1)
    return f"its parts are {', '.join(known)}", PARTS[operator, near[0]] if near else None


def check_fields(rows: Sequence[Row], _: Language) -> Iterator[Problem]:
    """The fields that the part's form has, and slots between balanced braces."""
    for line, entry, part in rows:
        if (part.form in (Form.FIELD, Form.TOOL)) != bool(entry.key):
            yield Problem(line, f"key {entry.key!r}: fields and tools have one, other entries have none")
        if (part.form is Form.TOOL) != bool(entry.parameter):
            yield Problem(line, f"parameter {entry.parameter!r}: a tool has one, other entries have none")
        for field, name in (("key", entry.key), ("parameter", entry.parameter)):
            if name and not _NAME.fullmatch(name):
                yield Problem(line, f"{field} {name!r}: write it in snake_case")
        if part.name == "errand" and not entry.served_by:
            yield Problem(line, "served_by is missing: name the stems of tools that would do the errand")
        if set(SLOT.sub("", entry.text)) & {"{", "}"}:
            yield Problem(line, f"text {entry.text!r}: braces are for slots only")
        elif part.form is Form.FIELD and not _is_short_json(entry.text):
            yield Problem(line, f"text {entry.text!r}: write JSON of less than {_LONGEST_FIELD} characters")


def _fill_sample(slot: re.Match[str]) -> str:
    kind, _, given = slot[1].partition(":")
    return "0" if kind == "int" else given.partition("|")[0] if kind == "one" else "a"


def _is_short_json(text: str) -> bool:
    filled = SLOT.sub(_fill_sample, text)
    try:
        json.loads(filled)
    except ValueError:
        return False
    return len(text) < _LONGEST_FIELD


def check_slots(rows: Sequence[Row], _: Language) -> Iterator[Problem]:
    """Known slots, all that the part needs, and none that its operator can't fill."""
    for line, entry, part in rows:
        for slot in SLOT.findall(entry.text):
            name = slot.partition(":")[0]
            if not _is_known(slot):
                known = ", ".join(sorted(CONVERSATION_SLOTS | DRAWN_SLOTS))
                yield Problem(line, f"slot {{{slot}}} is unknown: use one of {known}")
            elif name not in part.needs | part.may:
                yield Problem(line, f"slot {{{slot}}} can't be filled in {part.operator}/{part.name}")
        if lost := part.needs - set(entry.slots):
            yield Problem(line, f"text {entry.text!r}: {part.name} needs {{{'}, {'.join(sorted(lost))}}}")
        if part.name == "same" and not entry.text.rstrip(".!?)。！？）؟").endswith("{value}"):
            yield Problem(line, f"text {entry.text!r}: end it with {{value}}, which the user says last")


def _is_known(slot: str) -> bool:
    if (drawn := _DRAWN.fullmatch(slot)) and drawn["low"]:
        return int(drawn["low"]) < int(drawn["high"])
    return bool(drawn) or slot in CONVERSATION_SLOTS


def check_values(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """A user's digits, and numbers and days in words, could be taken for a value of the task."""
    for line, entry, part in rows:
        if not part.of_user:
            continue
        plain = SLOT.sub(" ", entry.text)
        if any(letter.isdigit() for letter in plain):
            yield Problem(line, f"text {entry.text!r}: leave the digits out, or use a slot")
        for word in find_values(plain, language):
            yield Problem(line, f"word {word!r} could be taken for a value: leave it out, or use a slot")


def check_addresses(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """A phrase that addresses its reader says how, so that no message mixes two ways."""
    for line, entry, part in rows:
        if part.form is Form.PHRASE:
            for found in find_addresses(SLOT.sub("x", entry.text), language):
                if found is not entry.address:
                    fix = f'write "address": "{found}", or word it otherwise'
                    yield Problem(line, f"text {entry.text!r} addresses its reader: {fix}")


def check_joins(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """No word stands before a slot that it would have to agree or contract with."""
    for line, entry, _ in rows:
        for found in find_changes(entry.text, language):
            yield Problem(line, f"{found!r}: the first word depends on the slot's value; put another between")


def check_duplicates(rows: Sequence[Row], _: Language) -> Iterator[Problem]:
    """No id, no text and, within a part, no key twice."""
    seen: dict[tuple[str, ...], int] = {}
    for line, entry, part in rows:
        marks: list[tuple[str, ...]] = [("id", entry.id)]
        if part.form is not Form.FIELD:
            marks.append(("text", entry.text.casefold()))
        if entry.key:
            marks.append(("key", entry.operator, entry.key))
        for mark in marks:
            if (first := seen.setdefault(mark, line)) != line:
                yield Problem(line, f"{mark[0]} {mark[-1]!r} is in line {first} too")


def check_openings(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """No opening is a part's habit."""
    found: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for line, entry, part in rows:
        if part.form is Form.PHRASE:
            counts[part.operator, part.name] += 1
            if begins := opening(entry.text, language):
                found.setdefault((part.operator, part.name, begins), []).append(line)
    for (operator, name, begins), lines in found.items():
        most = _allow(counts[operator, name])
        for line in lines[most:]:
            yield Problem(line, f"opening {' '.join(begins)!r} is in line {lines[0]} too: {most} may have it")


def check_runs(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """The halves of an operator share no run of words outside of slots, and none is a half's habit."""
    found: dict[tuple[str, tuple[str, ...]], list[tuple[int, Half]]] = {}
    counts: Counter[str] = Counter()
    for line, entry, part in rows:
        if part.form is Form.PHRASE:
            counts[part.operator] += 1
            for run in dict.fromkeys(runs(entry.text, language)):
                found.setdefault((part.operator, run), []).append((line, entry.half))
    for (operator, run), places in found.items():
        (first, half), most = places[0], _allow(counts[operator])
        for at, (line, other) in enumerate(places):
            if other is not half:
                yield Problem(line, f"words {' '.join(run)!r} are in line {first} of the other half")
            elif at >= most:
                yield Problem(line, f"words {' '.join(run)!r} are in line {first} too: {most} may have them")


def _allow(count: int) -> int:
    """How many of so many entries may share an opening, or a run of words."""
    return max(1, int(_SHARED * count))


def check_words(rows: Sequence[Row], language: Language) -> Iterator[Problem]:
    """No content word is a part's habit."""
    for part, texts in _group_phrases(rows):
        counts = Counter(
            word for _, entry in texts for word in find_content_words(SLOT.sub(" ", entry.text), language)
        )
        most = max(3, int(_OVERUSED * len(texts)))
        for word, count in counts.items():
            if count > most:
                where = f"{count} of {len(texts)} entries of {part.operator}/{part.name}"
                yield Problem(texts[0][0], f"word {word!r} is in {where}: {most} may have it")


def check_halves(rows: Sequence[Row], _: Language) -> Iterator[Problem]:
    """Both halves of a part have about as many entries."""
    lines: dict[tuple[str, str], int] = {}
    counts: Counter[tuple[str, str, Half]] = Counter()
    for line, entry, part in rows:
        lines.setdefault((part.operator, part.name), line)
        counts[part.operator, part.name, entry.half] += 1
    for (operator, name), line in lines.items():
        train, test = counts[operator, name, Half.TRAIN], counts[operator, name, Half.TEST]
        if min(train, test) < _LEAST_SHARE * (train + test) - 0.5:
            yield Problem(line, f"{operator}/{name} has {train} of train and {test} of test: divide by half")


def _group_phrases(rows: Sequence[Row]) -> Iterator[tuple[Part, list[tuple[int, Entry]]]]:
    def by_part(row: Row) -> tuple[str, str]:
        return row[2].operator, row[2].name

    for named, found in groupby(sorted(rows, key=by_part), by_part):
        if PARTS[named].form is Form.PHRASE:
            yield PARTS[named], [(line, entry) for line, entry, _ in found]


_CHECKS: tuple[Callable[[Sequence[Row], Language], Iterable[Problem]], ...] = (
    check_fields,
    check_slots,
    check_values,
    check_addresses,
    check_joins,
    check_duplicates,
    check_openings,
    check_runs,
    check_words,
    check_halves,
)


def check_between(packs: Sequence[Pack]) -> Iterator[tuple[Pack, Problem]]:
    """Across the packs of a language: no run of words in a part's train half here and its test half there,
    and no tool's name twice."""
    seen: dict[tuple[Language, str, str, tuple[str, ...]], tuple[Pack, int, Half]] = {}
    tools: dict[tuple[Language, str], tuple[Pack, int]] = {}
    for pack in packs:
        for line, entry in zip(pack.lines, pack.entries, strict=True):
            part = PARTS.get((entry.operator, entry.part))
            if part and part.form is Form.TOOL:
                other, first = tools.setdefault((pack.language, entry.key), (pack, line))
                if other is not pack:
                    yield pack, Problem(line, f"tool {entry.key!r} is in line {first} of {other.name}")
            for run in runs(entry.text, pack.language) if part and part.form is Form.PHRASE else ():
                mark = (pack.language, entry.operator, entry.part, run)
                other, first, half = seen.setdefault(mark, (pack, line, entry.half))
                if other is not pack and half is not entry.half:
                    where = f"line {first} of {other.name}, in the {half} half"
                    yield pack, Problem(line, f"words {' '.join(run)!r} are in {where}")
