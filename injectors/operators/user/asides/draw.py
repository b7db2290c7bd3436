"""Draw what a user says beside the request: phrases from the packs, each at a place of the message where it
reads as people write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from crosswind.injectors.operators.phrases import NO_PACK, PhraseDraw, find_setting
from crosswind.injectors.operators.user.asides.fillers import fill_sentence, find_things
from crosswind.injectors.operators.user.asides.places import (
    Aside,
    Places,
    continues,
    find_places,
    insert_asides,
    join_closing,
)
from crosswind.injectors.operators.user.asides.references import refers_back
from crosswind.injectors.packs.draw import Phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.injectors.text.entities import OPENERS
from crosswind.injectors.text.languages import UNABLE, Language, is_foreign
from crosswind.injectors.text.sentences import has_end

Position = Literal["before", "between", "behind", "apart"]
"""In front of the message, between two of its sentences, behind it, or behind it as a paragraph."""

_WEIGHTS: Mapping[Position, float] = {"before": 3.0, "between": 3.0, "behind": 4.0, "apart": 2.0}
_SLOT = "{sentence}"
_LONG = 80
"""Characters of a message behind which a user begins a paragraph."""


class Closing(msgspec.Struct, frozen=True, gc=False):
    """The part of an operator whose entries close an aside."""

    part: str
    chance: float
    """How often one stands behind an aside that ends the message."""
    ahead: float = 0.0
    """How often one stands behind an aside that the request follows: only such as continue its sentence.
    Others speak of the request as said."""


class AsideDraw:
    """Draws one operator's asides for a message. `able` is False where its language has no pack."""

    def __init__(self, target: UserTarget, rng: SeededRandom, operator: str) -> None:
        self._target, self._rng = target, rng
        self._setting = find_setting(target)
        self.places: Places = find_places(target.text, target.own)
        self._phrases = None if self._setting is None else PhraseDraw(target, self._setting, rng, operator)
        self._asides: list[dict[str, Any]] = []

    @property
    def language(self) -> Language | None:
        return None if self._setting is None else self._setting.language

    @property
    def count(self) -> int:
        return len(self._asides)

    def add(self, part: str) -> None:
        """Add an entry of a part at a drawn place; none where none fits."""
        position, said = self.draw_at(part, self.draw_position())
        if said is not None:
            self.put(position, said)

    def close(self, closing: Closing) -> None:
        """Let the user close the last aside of the message, as often as the closing says."""
        if not self._asides or self._setting is None:
            return
        last = max(self._asides, key=lambda one: int(one["at"]))
        last = [one for one in self._asides if one["at"] == last["at"]][-1]
        follows = last["at"] < len(self._target.text)
        bracket = last["said"][-1] in ")）"
        if not self._rng.chance(closing.ahead if follows else closing.chance) or (follows and bracket):
            return
        setting = self._setting
        things = find_things(self._target.own, setting.language, setting.tools)
        slots = {"thing": self._rng.choice(things)} if things else {}

        def accept(entry: Entry) -> bool:
            if follows:
                return continues(entry.text) and has_end(entry.text)
            return not (bracket and continues(entry.text))

        if (found := self._draw(closing.part, accept, slots)) is not None:
            last["closing"] = self._type(found.text, ends=follows)

    def draw_at(self, part: str, position: Position) -> tuple[Position, str | None]:
        """An entry of a part that can stand at the place, or else at another one; and that place."""
        for one in dict.fromkeys((position, "behind" if self.places.behind else "before")):
            found = self._draw(part, lambda entry, one=one: self._accepts(entry, one))  # type: ignore[misc]
            if found is not None:
                return one, self._type(found.text, ends=one == "between")
        return position, None

    def draw_own(self, part: str, sentence: str) -> str | None:
        """An entry of a part around a sentence of the user's own."""
        assert self.language is not None
        found = self._draw(part, slots={"sentence": _SLOT})
        return None if found is None else fill_sentence(self._type(found.text), sentence, self.language)

    def _draw(
        self,
        part: str,
        accept: Callable[[Entry], bool] | None = None,
        slots: Mapping[str, str] | None = None,
    ) -> Phrase | None:
        return None if self._phrases is None else self._phrases.draw(part, accept, slots)

    def forget(self) -> None:
        """Give back the entry that was drawn last: it isn't put anywhere."""
        if self._phrases is not None:
            self._phrases.names.pop()

    def put(self, position: Position, said: str) -> None:
        """Put a sentence at a place."""
        at = len(self._target.text)
        if position == "before":
            at = 0
        elif position == "between":
            at = self._rng.choice(self.places.between)
        lead = self._rng.choice(("\n\n", "\n")) if position == "apart" else ""
        self._asides.append({"at": at, "said": said, "lead": lead})

    def finish(self, count: int = 1, **members: Any) -> Draw | None:
        """The draw; None where there is nothing to say. In a language without a pack it says so, and has the
        places of `count` asides, for a model that can write them.
        """
        if self._phrases is None:
            if not is_foreign(self._target.own):
                return None
            empty = {"at": len(self._target.text), "said": ""}
            return {"asides": [empty] * count, UNABLE: NO_PACK, **members}
        if not self._asides:
            return None
        # A message has one paragraph of its own at most: what follows in it goes on there.
        apart = [one for one in self._asides if one["lead"]]
        for one in apart[1:]:
            one["lead"] = ""
        kept = [{name: value for name, value in one.items() if value != ""} for one in self._asides]
        return {"asides": kept, "phrases": self._phrases.names, "language": str(self.language), **members}

    def draw_position(self) -> Position:
        """A place of the message, by how often people put an aside there."""
        places, text = self.places, self._target.text
        weights = dict(_WEIGHTS)
        if not places.before:
            weights["before"] = 0.0
        if not places.between:
            weights["between"] = 0.0
        if not places.behind:
            weights["behind"] = weights["apart"] = 0.0
        if len(text) < _LONG and "\n" not in text:
            weights["apart"] *= 0.25
        if not any(weights.values()):
            return "before"
        return self._rng.weighted(tuple(weights), tuple(weights.values()))

    def _accepts(self, entry: Entry, position: Position) -> bool:
        assert self._setting is not None
        if position == "before":
            return not refers_back(entry.text, self._setting.language)
        return position != "between" or has_end(entry.text)

    def _type(self, phrase: str, *, ends: bool = False) -> str:
        """The phrase as this user types: without capitals or final stops where the message has none, and now
        and then where it has. `ends`: a sentence follows on its line, so that the stop stays."""
        own = self._target.own.strip()
        small = next((letter.islower() for letter in own if letter.isalpha()), False)
        bare = own[-1:].isalnum()
        lower, drop = self._rng.chance(0.7 if small else 0.12), self._rng.chance(0.5 if bare else 0.12)
        first = phrase.split(maxsplit=1)[0].rstrip(",")
        if lower and self.language is Language.EN and first.lower() in OPENERS and first != "I":
            phrase = phrase[0].lower() + phrase[1:]
        return (
            phrase[:-1]
            if drop and not ends and phrase.endswith((".", "。")) and phrase[-2] != "."
            else phrase
        )


def apply_asides(text: str, draw: Draw, said: Sequence[str] | None = None) -> str:
    """The text with the asides of a draw; `said` are a model's words in place of the drawn ones."""
    if UNABLE in draw and said is None:
        return text
    language = Language(draw["language"]) if "language" in draw else None
    asides: Iterable[Mapping[str, Any]] = draw["asides"]
    return insert_asides(
        text,
        [
            Aside(
                one["at"],
                join_closing(words, one["closing"], language) if "closing" in one else words,
                one.get("lead", ""),
            )
            for one, words in zip(asides, said or [one["said"] for one in asides], strict=False)
        ],
        language,
    )
