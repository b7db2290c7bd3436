"""Sensor noise: readings that are misread, inexact or missing, as instruments give them. None says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.phrases import find_prose
from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.enumerated import list_options
from crosswind.injectors.operators.tool.false_values.false_figures import change_figure, limit, step_figure
from crosswind.injectors.operators.tool.false_values.figures import read_figure, write_figure
from crosswind.injectors.operators.tool.false_values.readings import find_readings, is_reading
from crosswind.injectors.operators.tool.false_values.ties import (
    find_free,
    find_verdicts,
    has_quotes_beside,
)
from crosswind.injectors.operators.tool.false_values.values import (
    Alternatives,
    SpanEdit,
    find_neighbours,
    keep_apart,
    replace_spans,
)
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.operators.words import fields
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.graphemes import find_boundary
from crosswind.injectors.text.json_leaves import MOST
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Frame, find_leaves, open_string
from crosswind.injectors.text.languages import Language, detect_language

MOST_LIKELY = 0.4
"""The largest share of misread values at severity 1; the paper's is 0.2, at severity 0.5."""

UNKNOWN = "?"
"""The paper's symbol for a cell that could not be read."""
UNREAD = ("null", "null", '"unknown"', '"unavailable"')
"""How a value of a sensor could not be read; of other systems' values, null."""
AMBIGUOUS = frozenset({"state", "open", "closed", "active", "mode", "level", "position"})
"""Words of fields that a sensor gives where it also measures; elsewhere a program or a person may."""
UNREAD_SHARE = 0.2
"""The share of misread values of JSON that are unread; of a map's cells it is a half, as in the paper."""


@operator(
    "tool.misread",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="WildGrid, section 2.2 (3) (Noisy signals): per-cell noise, misread tiles and unknown symbols",
    effect=Effect.FALSIFIES,
    version=6,
)
class Misread:
    """Discrete values of a sensing result are misread as a neighbouring value or as unknown; another look
    draws again.

    Severity s: each value is misread with a probability of uniform(0, 0.4 x s), drawn for the whole result.
    JSON has few values, and one of them is misread with probability s in any case (ours; the paper has maps
    only). Discrete values are the cells of a map (lines of single symbols, as plain text or in JSON
    strings) and JSON's words and truth values: those of sensors, told by their fields, where the result has
    any. A neighbour is the cell beside, the next word of the schema or the vocabulary, or another word
    under the same field. Items of lists, and what says how the call went, are read correctly. Half of the
    misread cells show as `?` (the paper's symbol); of the values of JSON that a sensor gives, one in five,
    and all without a neighbour, show as null or as unknown. What judges a figure beside it is read
    correctly. A result that has no other value is misread in one digit of a reading or of another quantity,
    or shows a word without a neighbour as null, unless it is a name (ours); money, discounts, counts and the
    numbers of seats or gates are none. The receipt of a command is read correctly. Nothing else says that
    the result is uncertain, as in the paper. Ids and what the call's arguments hold are read correctly; a
    call that was misread as often as the profile's bounds allow
    returns the truth.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        rate, surely, which = rng.uniform(0, MOST_LIKELY * severity), rng.chance(severity), rng.uniform()
        if is_container(parse_json(target.text)):
            first = which if surely else None
            words = () if _commands(target) else _misread_words(target, rng, rate, first)
            edits = [*words, *_misread_rows(target, rng, rate)]
        else:
            edits = _misread_cells(Frame(target.text), 2, rng, rate)
        return {"spans": [list(one) for one in sorted(edits)]} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = replace_spans(target.text, draw["spans"])
        return Result(text, f"Values in the result of {target.tool} were misread.")


def _commands(target: ToolResultTarget) -> bool:
    """Whether the result is the receipt of a command, by the first word of the tool's name."""
    return next(iter(words_of(target.tool)), "") in COMMANDING


COMMANDING = frozenset(
    """
    start stop lock unlock set create book cancel place transfer post send comment resolve update delete add
    remove press fill buy sell order schedule reserve purchase publish close open pay submit modify exchange
    return renew register activate toggle turn adjust retweet follow unfollow mv cp rm mkdir touch edit upload
    """.split()
)


def _misread_words(
    target: ToolResultTarget, rng: SeededRandom, rate: float, first: float | None
) -> Iterator[SpanEdit]:
    """Misread values of a JSON result; the one at the share `first` of them surely (None: by chance, too)."""
    facts = find_facts(target)
    found = [one for one in facts if one.kind in (FactKind.WORD, FactKind.FLAG) and not one.prose]
    found = [one for one in found if not one.place or isinstance(one.place[-1], str)]
    sensed = [one for one in found if not fields.SENSED.isdisjoint(one.words)]
    alternatives = Alternatives(target, facts)
    judges = find_verdicts(facts)
    sensed, found = ([one for one in ones if one not in judges] for ones in (sensed, found))
    values = sensed or [one for one in found if _find_beside(one, alternatives)]
    if not values and first is not None and (digits := list(_misread_digits(target, facts))):
        yield digits[int(first * len(digits))]
        return
    # A name, as of who leads a shift, is no state that something senses.
    values = values or [one for one in found if not one.text.istitle()]
    unreads = UNREAD if _is_english(target) else UNREAD[:1]
    instrument = any(not fields.MEASURED.isdisjoint(one.words) for one in facts)
    sure = None if first is None else int(first * len(values))
    for at, fact in enumerate(values):
        hit, unread, way, which = rng.chance(rate), rng.chance(UNREAD_SHARE), rng.uniform(), rng.uniform()
        if not hit and at != sure:
            continue
        start, end, _ = fact.replace("")
        quoted = fact.kind is FactKind.WORD
        beside = _find_beside(fact, alternatives)
        senses = not fields.SENSED.isdisjoint(fact.words)
        given = senses and (instrument or not fields.SENSED.difference(AMBIGUOUS).isdisjoint(fact.words))
        if ((given and unread) or not beside) and fact.frame.levels == quoted:
            # What stands in place of a word takes its quotation marks along.
            shown = unreads if given else UNREAD[:1]
            yield start - quoted, end + quoted, shown[int(way * len(shown))]
        elif beside:
            yield start, end, fact.frame.escape(beside[int(which * len(beside))])


def _misread_digits(target: ToolResultTarget, facts: Sequence[Fact]) -> Iterator[SpanEdit]:
    """Each reading with another last digit, or another quantity where there is none, up and down: nobody
    misreads what was set or counted."""
    readings = find_readings(target)
    for fact in find_free(target, facts):
        if fact in readings and not fact.prose and read_figure(fact.text):
            moved = (step_figure(fact, up=up) for up in (True, False))
            yield from (fact.replace(text) for text in moved if text is not None)


def _is_english(target: ToolResultTarget) -> bool:
    """Whether a result's running text, if it has any, is English."""
    prose = find_prose(target.text)
    return (
        target.text.isascii() and "\\u" not in target.text and detect_language(prose) in (None, Language.EN)
    )


def _find_beside(fact: Fact, alternatives: Alternatives) -> Sequence[str]:
    if fact.kind is FactKind.FLAG:
        return ("false" if fact.text == "true" else "true",)
    found = alternatives.find(fact)
    if beside := find_neighbours(fact.text):
        options = list_options(alternatives.target, fact)
        return [one for one in beside if one in options] or found if options else beside
    return found


def _misread_rows(target: ToolResultTarget, rng: SeededRandom, rate: float) -> Iterator[SpanEdit]:
    """Misread the rows of maps that stand in JSON strings."""
    whole = Frame(target.text, ascii=target.text.isascii())
    for leaf in find_leaves(target.text, MOST):
        if isinstance(leaf.value, str) and _LETTER.fullmatch(leaf.value) is None:
            yield from _misread_cells(open_string(whole, leaf), 1, rng, rate)


def _misread_cells(frame: Frame, rows: int, rng: SeededRandom, rate: float) -> list[SpanEdit]:
    edits: list[SpanEdit] = []
    for at, beside in find_cells(frame.text, rows):
        hit, unknown, which = rng.chance(rate), rng.chance(0.5), rng.uniform()
        symbol = UNKNOWN if unknown or not beside else beside[int(which * len(beside))]
        if hit and symbol != frame.text[at]:
            edits.append((frame.locate(at), frame.locate(at + 1), frame.escape(symbol)))
    return edits


_LETTER = re.compile(
    r"[^\W\d]+|[\w-]+|.{1,3}|\d[\d.,]* ?[A-Za-z%°]{1,4}|[<>=~ ]*+[.,:/ \u2013-]*+\d[\d.,:/ \u2013%+-]*"
)
"""A word, an id, a mark, a figure or a range: no row of a map."""


@operator(
    "tool.numeric_noise",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="ours (beyond the papers), after the noise of measuring instruments",
    effect=Effect.FALSIFIES,
    version=6,
)
class NumericNoise:
    """The readings of a result are off as an instrument's are; another look draws again.

    Severity s sets the largest relative error: three tenths of it, and a part of that for what varies
    little, as a voltage, a pressure or a temperature. One defect of the instrument goes through the whole
    result: jitter (each reading uniform within its error), drift (all off by the same share) or coarse
    steps. An error too small for the last digit moves that digit with probability s. A share of s / 20 of
    the readings is missing besides, as the data says so (`null`, `NaN`, `-999`), or stands at the upper end
    of its range. Readings are the numbers whose fields or units are those of measurements; where there are
    none, other quantities. They keep their decimals, their sign and their bounds. Ids, codes, card numbers,
    doses, ends of ranges, prices and other sums of money, discounts, running times, counts, numbers of
    seats, rooms and gates, years, dates and what the call's arguments hold are protected. Nothing says that
    the result is inexact; a call that was off as often as the profile's bounds allow returns the truth.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        way, drift, phase = rng.uniform(), rng.uniform(-1, 1), rng.uniform()
        most = LARGEST * severity
        readings = find_readings(target)
        missing = next((one for one in ("NaN", "-999", "-9999") if one in target.text), "null")
        edits: list[SpanEdit] = []
        for fact in readings:
            lost, end, jitter = rng.chance(severity / 20), rng.chance(0.5), rng.uniform(-1, 1)
            part = QUOTED if has_quotes_beside(fact, readings) else _find_part(fact)
            error = most * part * (jitter if way < JITTER else drift)
            if lost and not end and fact.frame.levels == 0 and not fact.prose and is_reading(fact):
                shown: str | None = missing
            elif lost and end and part == 1 and is_reading(fact):
                shown = _saturate(fact)
            else:
                shown = _add_error(fact, error) if way < COARSE else _round(fact, most * part, phase)
                if shown is None and abs(jitter) < severity:
                    shown = _step(fact, up=(error if way < COARSE else phase - 0.5) > 0)
            if shown is not None and shown != fact.text:
                edits.append(fact.replace(shown))
        return {"spans": [list(one) for one in keep_apart(edits)]} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = len(draw["spans"])
        what = "number was" if count == 1 else "numbers were"
        note = f"{count} {what} made inexact in the result of {target.tool}."
        return Result(replace_spans(target.text, draw["spans"]), note)


LARGEST = 0.3
"""The largest relative error at severity 1: a reading that is further off is no plausible one."""
JITTER, COARSE = 0.5, 0.8
"""Half of the results jitter, three in ten drift, and the others have coarse steps."""


_PARTS = {
    word: part
    for part, words in (
        (0.1, "volt volts voltage frequency hz spo spo2 sao2 saturation oxygen"),
        (0.25, "pressure psi bar hpa kpa temperature temp celsius fahrenheit dew feelslike"),
        (0.5, "humidity heart pulse bpm weight mass height"),
    )
    for word in words.split()
}
"""By words of fields: which part of the error readings have that vary little."""


QUOTED = 0.02
"""The same of a price beside its own means and ends."""


def _find_part(fact: Fact) -> float:
    """The words of a field, such as `frontTirePressure`, or the letters of its unit tell."""
    return min((_PARTS[word] for word in fact.about if word in _PARTS), default=1.0)


def _add_error(fact: Fact, error: float) -> str | None:
    value = read_figure(fact.text)
    assert value is not None
    return change_figure(fact, value * (1 + error), round_=False)


def _step(fact: Fact, *, up: bool) -> str | None:
    """The figure with another last digit: what an error smaller than that digit comes to."""
    value = read_figure(fact.text)
    assert value is not None
    if fact.text.isdigit():
        return change_figure(fact, value + (1 if up or value < 2 else -1), round_=False)
    step = 10.0 ** -len(re.split(r"[.,]", fact.text)[-1]) if re.search(r"\d[.,]\d", fact.text) else 1.0
    step = step if up or abs(value) <= step else -step
    near = (value + times * step for times in ((1, -1, 2) if value else ()))
    return next((one for at in near if (one := change_figure(fact, at, round_=False)) is not None), None)


def _round(fact: Fact, severity: float, phase: float) -> str | None:
    """The reading of an instrument whose steps, which begin somewhere, are as large as the error."""
    value = read_figure(fact.text)
    assert value is not None
    step = abs(value) * severity
    moved = (round(value / step - phase) + phase) * step if step > 0 else value
    return change_figure(fact, moved, round_=False) or change_figure(fact, value + step / 2, round_=False)


def _saturate(fact: Fact) -> str | None:
    """The upper end of the reading's range; None where it has none."""
    value = read_figure(fact.text)
    assert value is not None
    top = limit(fact, value, float("1e12"))
    return write_figure(top, fact.text, round_=False) if value >= 0 and top < 1e9 else None


_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[0-9]{2}")


def find_cells(text: str, least_rows: int) -> list[tuple[int, list[str]]]:
    """The cells of a map drawn with one symbol a cell: each place in the text, with the other symbols beside
    it in its row. None where fewer than `least_rows` lines are rows. Of a large map the first 400 cells.
    """
    rows = list(_rows(text))
    if len(rows) < least_rows:
        return []
    found: list[tuple[int, list[str]]] = []
    for start, row in rows:
        for at, symbol in enumerate(row):
            if len(found) == MOST:
                return found
            if not symbol.isspace():
                near = [row[beside] for beside in (at - 1, at + 1) if 0 <= beside < len(row)]
                found.append((start + at, [one for one in near if one != symbol and not one.isspace()]))
    return found


def _rows(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        if _is_row(line):
            yield start, line
        start += len(line) + 1


def _is_row(line: str) -> bool:
    """Whether the line holds symbols rather than words: letters stand side by side only where they are
    capitals of at most two kinds."""
    runs = _LETTERS.findall(line)
    words = any(not run.isascii() or not run.isupper() or len(set(run)) > 2 for run in runs)
    return not words and not _NUMBER.search(line) and sum(map(len, line.split())) > 1 and _single(line)


def _single(line: str) -> bool:
    return line.isascii() or all(find_boundary(line, at) == at for at in range(1, len(line)))
