"""Typing errors in a user's message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.typos.input_methods import (
    LANGUAGES,
    draw_conversion,
    find_request_words,
)
from crosswind.injectors.operators.user.typos.marks import MARKED, draw_mark, draw_small
from crosswind.injectors.operators.user.typos.plain_words import PlainWord, find_plain_words
from crosswind.injectors.operators.user.typos.slips import draw_slip
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.entities import MEANING_WORDS, Span
from crosswind.injectors.text.languages import UNABLE, Language, detect_language, is_foreign
from crosswind.injectors.text.sentences import count_words

TRIALS = 12
"""A message gets at most this many typos, each with probability severity / 2: 6 x severity on average."""

WORDS = 12
"""Words for each typo of a message at severity 0.5 and where a paper gives a number of typos; at severity 1
half as many."""

APART = 12
"""Characters between two typos: nobody mistypes words side by side."""

_SHORT = 4
"""Letters of a word that people mistype more readily than shorter ones."""
SPARED = 0.6
"""How often a shorter word waits until all others are mistyped."""

RUN_ON, SPLIT = 0.07, 0.02
"""How often two words are run together, and one is split (Kukich 1992: 13 % and 2 % of the errors in messages
typed at once; the first is lower here, since a value beside a word is never joined to it)."""

_SPLIT_FROM = 7
"""Letters of the shortest word that is split."""

COMMANDED = (Language.DE, Language.ES, Language.FR)
"""Languages that a text too short to tell may be in, if it begins with one of their commands."""

UNKNOWN_LANGUAGE = "it isn't known which words of this language a call could need"

Count = Annotated[int, Field(ge=1, le=TRIALS)]


@operator(
    "user.typos",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("realistic_typos", "Typo"),
    source="RobustBench-TC, table 1 and appendix F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
    version=6,
)
@dataclass(frozen=True)
class Typos:
    """Typing errors as people make them: missed, doubled, swapped and neighbouring keys of the language's
    keyboard, spaces, capitals, apostrophes and signs, misspellings, wrong conversions of input methods.

    Severity: the number of typos per message is binomial with mean 6 x severity (12 trials), with at most
    one typo for each six words of the message at severity 1, for each twelve at 0.5, and always one. With
    `between` it is uniform between these two (RobustBench-TC: 2 and 4), with at most one for each twelve
    words, and severity is the share of messages. Where fewer words may be mistyped, there are fewer
    typos. Now and then the mark that ends the message or its first capital is missed, too; the mark always
    where no word may be mistyped. Protected entities, values, words of the tools' names, and all words that
    a call could need are never touched; where tools are declared, these are all but the words that put a
    request. The weights of the kinds follow published studies, which `slips.py` names.
    """

    between: tuple[Count, Count] | None = None
    """The smallest and the largest number of typos in a message."""

    def __post_init__(self) -> None:
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"{list(self.between)} ends below its beginning: swap the two")

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        # Everything is drawn in a fixed order, so that more severity means more of the same typos.
        share = 0.5 if self.between is not None else severity
        own, tools = target.own, ToolList.of(target.tools)
        most = max(1, int(count_words(own) * 2 * share / WORDS))
        count = min(most, self._draw_count(rng, severity))
        if count == 0:
            return None
        language, protected = _find_language(target, own), tuple(target.protected)
        words = _find_words(target.text, tools, language, protected)
        small = draw_small(target.text, language, protected, rng) if words else None
        draw_last = partial(draw_mark, target.text, language, tools, protected, marks := rng.named("mark"))
        mark = draw_last() if marks.chance(MARKED) or not words else None
        if words is None and mark is None:
            return {"edits": [], UNABLE: UNKNOWN_LANGUAGE}
        edits = [one for one in (small, mark) if one is not None]
        shuffled = sorted(
            rng.shuffled(words or ()), key=lambda one: one.end - one.start < _SHORT and rng.chance(SPARED)
        )
        wanted = count - (small is not None)
        edits += _draw_edits(target.text, language, shuffled, rng, wanted, edits)
        if not edits and words and (late := draw_last()) is not None:
            edits.append(late)
        return {"edits": sorted(edits, key=lambda one: int(one["at"]))} if edits else None

    def _draw_count(self, rng: SeededRandom, severity: float) -> int:
        if self.between is None:
            return rng.successes(TRIALS, severity / 2)
        hit, (least, most) = rng.chance(severity), self.between
        return rng.integer(least, most) if hit else 0

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        listed = ", ".join(_name_typo(one["was"], one["now"]) for one in draw["edits"])
        return Result(
            apply_edits(target.text, draw["edits"]), f"The user's message was given typos ({listed})."
        )


def _name_typo(was: str, now: str) -> str:
    """A typo as the note names it. What can't be seen is said in words."""
    if not now:
        return f"{'a space' if was.isspace() else was} missing"
    return f"a space before {was}" if now == f" {was}" else f"{was} as {now}"


def _find_language(target: UserTarget, own: str) -> Language | None:
    found = detect_language(own) or detect_language(target.branch.opening)
    if found is not None or is_foreign(own):
        return found
    first = own.split(None, 1)[0].lower() if own.strip() else ""
    return next((one for one in COMMANDED if first in read_words(f"commands.{one}")), Language.EN)


def _find_words(
    text: str, tools: ToolList, language: Language | None, protected: Sequence[Span]
) -> tuple[PlainWord, ...] | None:
    if language in LANGUAGES:
        return find_request_words(text, language, protected)
    return find_plain_words(text, tools, language, protected)


def _draw_edits(
    text: str,
    language: Language | None,
    words: list[PlainWord],
    rng: SeededRandom,
    count: int,
    others: Sequence[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """As many edits as are wanted, of words that no edit has touched."""
    taken = [(one["at"] - APART, one["at"] + len(one["was"]) + APART) for one in others]
    apart = 0 if language in LANGUAGES else APART
    for one in words:
        if count == 0:
            return
        drawn = _draw_edit(text, one, language, rng)
        if drawn is None:
            continue
        start, end = drawn["at"], drawn["at"] + len(drawn["was"]) + 1
        if all(end <= first or last <= start for first, last in taken):
            taken.append((start - apart, end + apart))
            count -= 1
            yield drawn


def _draw_edit(
    text: str, one: PlainWord, language: Language | None, rng: SeededRandom
) -> dict[str, Any] | None:
    word = text[one.start : one.end]
    if language in LANGUAGES:
        conversion = draw_conversion(text, one, language, rng)
        return make_edit(one.start, word, conversion[1]) | {"kind": conversion[0]} if conversion else None
    spacing = rng.uniform()
    if one.joins and spacing < RUN_ON:
        return make_edit(one.end, " ", "") | {"kind": "run-on"}
    if spacing > 1 - SPLIT and (split := _split(word, rng)):
        return make_edit(one.start, word, split) | {"kind": "split"}
    slip = draw_slip(word, language, rng)
    if slip is None or slip[1].lower() in MEANING_WORDS:
        return None
    return make_edit(one.start, word, slip[1]) | {"kind": slip[0]}


def _split(word: str, rng: SeededRandom) -> str | None:
    if len(word) < _SPLIT_FROM or not word.isalpha():
        return None
    at = rng.integer(2, len(word) - 2)
    parts = word[:at], word[at:]
    return " ".join(parts) if MEANING_WORDS.isdisjoint(map(str.lower, parts)) else None
