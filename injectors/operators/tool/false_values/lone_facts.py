"""What of a result may be false where no fact of it stands alone: its only number, the size of a file, a time
or an end that keeps its place among the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from crosswind.injectors.operators.tool.facts import Fact, FactKind, split_field
from crosswind.injectors.operators.tool.false_values.false_figures import is_coordinate
from crosswind.injectors.operators.tool.false_values.figures import read_figure, write_figure
from crosswind.injectors.operators.tool.false_values.ties import QUOTES, has_quotes_beside, is_end
from crosswind.injectors.operators.tool.false_values.values import Alternatives, SpanEdit, draw_other
from crosswind.injectors.operators.tool.false_values.worded_facts import find_worded
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_leaves import follow, is_asked_for
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Frame, find_leaves, open_string

_WRITTEN = r"\d{1,9}(?:[.,]\d{1,6})*"
_ALONE = re.compile(rf"\s*(?P<figure>-?{_WRITTEN})(?: ?(?:%|[A-Z]{{3}}|[a-z]{{1,12}}))?\s*")
_COUNTED = re.compile(r"[ \t]*(?P<figure>\d{1,9})[ \t]+[\w./-]*[A-Za-z][\w./-]*\s*")
"""`wc -l`."""
_LASTED = re.compile(r"\bin (?P<figure>\d{1,5}\.\d{1,3}) ?s(?:ec(?:onds)?)?\b")
"""How long tests took."""
_LISTED = re.compile(
    r"^-[rwxsStT-]{9}[.+@]?[ \t]+\d+[ \t]+\S+[ \t]+\S+[ \t]+(?P<figure>\d{2,12})[ \t]+"
    r"(?:[A-Z][a-z]{2}[ \t]+\d|\d{4}-\d\d)",
    re.MULTILINE,
)
"""The size of a file in `ls -l`."""
_ADDRESS = re.compile(r"(?P<figure>\d{3,5}) [A-Z][\w'.-]*(?: [A-Z][\w'.-]*){1,3}(?:, .*)?")
_TRIALS = 6
_SPANS = frozenset("duration minutes hours length days nights elapsed".split())
"""Words of fields that follow from two times."""


def draw_lone(target: ToolResultTarget, facts: Sequence[Fact], rng: SeededRandom) -> SpanEdit | None:
    """Draw a false value of one such fact; None where there is none."""
    alternatives = Alternatives(target, facts)
    for fact in rng.shuffled(list(_find_lone(target))):
        false = draw_other(fact, alternatives, rng)
        if false is not None and false != fact.text:
            return fact.replace(false)
    for fact in rng.shuffled(list(_find_ordered(parse_json(target.text), facts))):
        for _ in range(_TRIALS):
            false = _draw_ordered(fact, alternatives, facts, rng)
            if false is not None and false != fact.text and _keeps_order(fact, false, facts):
                return fact.replace(false)
    worded = list(find_worded(target))
    return rng.choice(worded).draw(rng) if worded else None


def _find_lone(target: ToolResultTarget) -> Iterator[Fact]:
    text, frame = target.text, Frame(target.text, ascii=target.text.isascii())
    value = parse_json(text)
    if is_container(value):
        leaves = list(find_leaves(text, 2))
        if len(leaves) == 1 and leaves[0].start < leaves[0].end:
            leaf = leaves[0]
            field = next((key for key in reversed(leaf.place) if isinstance(key, str)), "")
            row = len(leaf.place) > 1 or type(leaf.value) is float
            if type(leaf.value) in (int, float) and row and not field:
                yield Fact(FactKind.FIGURE, text[leaf.start : leaf.end], frame, leaf.start, leaf.end)
            elif isinstance(leaf.value, str) and (match := _ADDRESS.fullmatch(leaf.value)) is not None:
                start, end = match.span("figure")
                yield Fact(FactKind.DIGITS, match["figure"], open_string(frame, leaf), start, end, field)
        return
    if target.tool_class is ToolClass.UNKNOWN and _ALONE.fullmatch(text) is None:
        return
    lone = (_ALONE.fullmatch(text), _COUNTED.fullmatch(text), _LASTED.search(text))
    for match in (*lone, *_LISTED.finditer(text)):
        if match is not None and not is_asked_for(match["figure"], target):
            yield Fact(FactKind.FIGURE, match["figure"], frame, *match.span("figure"))


def _find_ordered(value: Any, facts: Sequence[Fact]) -> Iterator[Fact]:
    """The times, and the ends of ranges, that may be others as long as they keep their order."""
    for one in facts:
        if one.prose or not one.place or not isinstance(one.place[-1], str):
            continue
        if one.kind is FactKind.FIGURE:
            priced = has_quotes_beside(one, facts) and _PRICED & _list_words(value, one)
            located = is_coordinate(one) and not _has_text(value, one)
            if located or (is_end(one, value) and not priced):
                yield one
        elif one.kind in (FactKind.TIME, FactKind.DATE):
            holder = follow(value, one.place[:-1])
            follows = isinstance(holder, dict) and any(
                not _SPANS.isdisjoint(split_field(key)) for key in holder
            )
            if _read(one.kind, one.text) is not None and not follows:
                yield one


def _draw_ordered(
    fact: Fact, alternatives: Alternatives, facts: Sequence[Fact], rng: SeededRandom
) -> str | None:
    """A false value near the true one: of a day's two moments another hour, and a place close by."""
    if is_coordinate(fact):
        value, off = read_figure(fact.text), rng.uniform(0.02, 0.4)
        moved = None if value is None else value + (off if rng.chance(0.5) else -off)
        return None if moved is None else write_figure(moved, fact.text, round_=False)
    beside = (one for one in facts if one is not fact and one.place[:-1] == fact.place[:-1])
    clocked = _MOMENT.match(fact.text) if fact.kind is FactKind.DATE else None
    if clocked is None or not any(one.text[:10] == fact.text[:10] for one in beside):
        return draw_other(fact, alternatives, rng)
    start, end = clocked.span(1)
    clock = msgspec.structs.replace(fact, kind=FactKind.TIME, text=clocked[1])
    moved_clock = draw_other(clock, alternatives, rng)
    return None if moved_clock is None else f"{fact.text[:start]}{moved_clock}{fact.text[end:]}"


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ](\d\d:\d\d)")
_PRICED = QUOTES - {"high", "low"}
"""Words of fields beside which no end of a range may be false."""


def _has_text(value: Any, fact: Fact) -> bool:
    """Whether a text beside coordinates says which place it is."""
    holder = follow(value, fact.place[:-1])
    return isinstance(holder, dict) and any(isinstance(one, str) for one in holder.values())


def _list_words(value: Any, fact: Fact) -> set[str]:
    """The words of the fields beside a fact."""
    holder = follow(value, fact.place[:-1])
    return {word for key in holder for word in split_field(key)} if isinstance(holder, dict) else set()


def _keeps_order(fact: Fact, false: str, facts: Sequence[Fact]) -> bool:
    """Whether the false value stands to all that are compared with it as the true one does."""
    before, after = _read(fact.kind, fact.text), _read(fact.kind, false)
    if before is None or after is None:
        return False
    for one in facts:
        beside = one.place[:-1] == fact.place[:-1] or (
            fact.kind is not FactKind.FIGURE and one.words == fact.words
        )
        other = _read(one.kind, one.text) if one is not fact and one.kind is fact.kind and beside else None
        if other is not None and (before > other, before < other) != (after > other, after < other):
            return False
    return True


_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?(?: ?([AaPp])\.?[Mm]\.?)?")
_ISO = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)


def _read(kind: FactKind, text: str) -> tuple[float, str] | None:
    """What the fact says, as it can be compared with another of its kind; None where it can't."""
    if kind is FactKind.FIGURE:
        value = read_figure(text)
        return None if value is None else (value, "")
    if kind is FactKind.DATE:
        return (0.0, text) if _ISO.fullmatch(text) else None
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    hour = int(clock[1]) % 12 + 12 * (clock[3] in "Pp") if clock[3] else int(clock[1])
    return 0.0, f"{hour:02d}:{clock[2]}"
