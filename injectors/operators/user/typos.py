"""Keyboard typos in a user's message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.keystrokes import mistyped
from crosswind.injectors.operators.user.open_words import CASELESS, is_caseless, open_words
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from crosswind.injectors.text.languages import UNABLE

TRIALS = 12
"""A message gets at most so many typos, each with probability severity / 2: 6 x severity on average."""

Count = Annotated[int, Field(ge=1, le=TRIALS)]


@operator(
    "user.typos",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("realistic_typos", "Typo"),
    source="RobustBench-TC, table 1 and appendix F (Observation); by rule here, by a model there",
)
@dataclass(frozen=True)
class Typos:
    """Typing errors: a neighbouring key, swapped, dropped and doubled letters, common misspellings.

    Severity: the number of typos per message is binomial with mean 6 x severity (12 trials), whatever the
    message's length, as far as it has words to spoil: one typo a word at most. With `between` it is even
    between these two (RobustBench-TC: 2 and 4), and severity is the share of messages. Never touched are
    protected entities, words under four letters and words of scripts without letter case, in which names
    can't be told from words.
    """

    between: tuple[Count, Count] | None = None
    """The least and the most typos of a message."""

    def __post_init__(self) -> None:
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"{list(self.between)} ends below its beginning: swap the two")

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        # All of the draws come in a fixed order, so that more severity means more of the same typos.
        count = self._count(rng, severity)
        words = list(open_words(target))
        edits: list[tuple[int, str, str, str]] = []
        for start, word in rng.shuffled(words)[:count]:
            kind, typed = mistyped(word, rng)
            if typed is not None:
                edits.append((start, word, typed, kind))
        if not edits:
            caseless = count > 0 and not words and is_caseless(target.text)
            return {"edits": [], UNABLE: CASELESS} if caseless else None
        return {
            "edits": [dict(zip(("at", "was", "now", "kind"), edit, strict=True)) for edit in sorted(edits)]
        }

    def _count(self, rng: Stream, severity: float) -> int:
        if self.between is None:
            return sum(rng.uniform() < severity / 2 for _ in range(TRIALS))
        hit, (least, most) = rng.chance(severity), self.between
        return rng.integer(least, most) if hit else 0

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        pieces: list[str] = []
        end = 0
        for edit in draw["edits"]:
            pieces += (target.text[end : edit["at"]], edit["now"])
            end = edit["at"] + len(edit["was"])
        pieces.append(target.text[end:])
        listed = ", ".join(f"{edit['was']} as {edit['now']}" for edit in draw["edits"])
        return Result("".join(pieces), f"The user's message was given typos ({listed}).")
