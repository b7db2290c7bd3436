"""Fields of remarks behind an object's own: their names, and the packs' values."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.operators.insertion import (
    Around,
    around_field,
    dump,
    find_case,
    find_first_holder,
    write_key,
)
from crosswind.injectors.operators.tool.additions.suggestions import to_singular
from crosswind.injectors.operators.words.results import (
    CHANGING,
    ENVELOPES,
    NO_NOUNS,
    NO_SUBJECTS,
    PROMOTIONS,
    RECORDS,
    REMARK_KINDS,
    REMARK_LISTS,
    REMARK_SUFFIXES,
    REMARK_TEXTS,
    REMARKS,
    SAYS_NO_SUBJECT,
)
from crosswind.injectors.packs.draw import Setting, draw_phrase, list_fitting
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import split_name

OWN_NAME = 0.45
"""How often a field's name says what of the result's own it is on: `price_note`."""
FLAGGED, EACH_FLAG = 0.75, 0.1
"""How often a remark is a field with a value, and no sentence, at most and for each that there is."""
LISTED, TYPED, TYPED_ALONE = 0.2, 0.5, 0.2
"""How often a field of remarks holds a list, and how often one in it, or by itself, is an object with its
kind."""
EMPTY = '""}'
"""The end of such an object before it has its text."""


class RemarkFields:
    """Draws fields for one object; none of a name twice."""

    def __init__(self, target: ToolResultTarget, value: Any) -> None:
        self._tool, self._text = target.tool, target.text
        self._holder = find_first_holder(target.text, value) if isinstance(value, dict) else None
        self._case = find_case(target.text)
        self._taken = set(self._holder.keys) if self._holder else set()

    def place_promotion(self, text: str, rng: SeededRandom) -> Around | None:
        """The place of a sentence that names another of the records."""
        said = text.lower()
        return self._place([one for one in rng.choices(PROMOTIONS, 4) if one not in said])

    def place_remark(self, about: tuple[str, ...], text: str, rng: SeededRandom) -> Around | None:
        """The place of a sentence on these stems."""
        subject = self._find_subject(about)
        if subject not in RECORDS:
            subject = _find_head(subject, text)
        listed, own = rng.chance(LISTED), rng.chance(OWN_NAME)
        if listed:
            named = [f"{subject}_notes", *REMARK_LISTS] if own and subject else rng.choices(REMARK_LISTS, 3)
        else:
            named = rng.choices(REMARKS, 3)
            if own and subject:
                named = [f"{subject}_{one}" for one in rng.choices(REMARK_SUFFIXES, 3)]
        place = self._place(named)
        if place is None:
            return None
        typed = rng.chance(TYPED) if listed else rng.chance(TYPED_ALONE) and not named[0].endswith("s")
        opened, closed = ("[", "]") if listed else ("", "")
        if typed:
            key, kind = rng.choice(REMARK_KINDS)
            texts = [one for one in REMARK_TEXTS if one not in named]
            made = dump({key: kind, rng.choice(texts): ""}, like=self._text)
            opened, closed = f"{opened}{made.removesuffix(EMPTY)}", f"}}{closed}"
        return Around(place.at, f"{place.before}{opened}", f"{closed}{place.after}")

    def place_plain(self) -> Around | None:
        """The place of a sentence on anything."""
        return self._place(REMARKS)

    def draw_flag(
        self, setting: Setting, used: Collection[str], rng: SeededRandom
    ) -> tuple[str, list[Any]] | None:
        """A field of the packs on the system behind the result, and the name of its entry; the more there
        are, the more often."""
        wanted = list_own(setting, "field", frozenset())
        if not rng.chance(min(FLAGGED, EACH_FLAG * len(wanted))):
            return None
        known = set(map(id, wanted.values()))  # Two packs may give entries the same id.
        phrase = draw_phrase(rng, setting, OPERATOR, "field", used=used, accept=lambda one: id(one) in known)
        if phrase is None:
            return None
        subject = self._find_subject(wanted[phrase.entry].about)
        general = phrase.entry.startswith(GENERAL)  # Those of a domain say what they are on.
        noun = subject in _BEFORE_FIELDS and phrase.text not in ("true", "false")
        apart = general and noun and phrase.key not in NO_NOUNS and subject not in split_name(phrase.key)
        named = [phrase.key, f"{subject}_{phrase.key}"] if apart else [phrase.key]
        if rng.chance(OWN_NAME):
            named.reverse()
        told = json.loads(phrase.text)
        if _ON_ANSWER.search(phrase.key) and rng.chance(ENVELOPED):
            told, named = {write_key(phrase.key, self._case): told}, rng.shuffled(ENVELOPES)
        place = self._place(named)
        return None if place is None else (phrase.entry, [place.at, place.before, told, place.after])

    def _place(self, named: Sequence[str]) -> Around | None:
        """The place behind the object's own fields of the first of these names that it hasn't."""
        if self._holder is None:
            return None
        key = next((key for one in named if (key := write_key(one, self._case)) not in self._taken), None)
        if key is None:
            return None
        self._taken.add(key)
        return around_field(self._text, self._holder.gaps[-1], key)

    def _find_subject(self, about: tuple[str, ...]) -> str:
        """What stems are on, by the result's own names or else the tool's; empty: neither says."""
        keys = self._holder.keys if self._holder else frozenset[str]()
        return _find_subject(about, keys, self._tool) if len(keys) <= MOST_KEYS else ""


ENVELOPED = 0.25
"""How often a value that is on the answer as a whole stands in an object of its own: `meta`."""
_ON_ANSWER = re.compile(
    "cache|ttl|age_|_age|lag|sync|refresh|revision|version|stale|snapshot|realtime|latency"
)
GENERAL = f"{Language.EN}/{Domain.GENERAL}@"
MOST_KEYS = 40
"""Of an object whose subjects are remembered."""
OPERATOR = "tool.misleading"


@lru_cache(2048)
def _find_subject(about: tuple[str, ...], keys: frozenset[str], tool: str) -> str:
    own = {"_".join(split_name(key)) for key in keys}
    if (found := next((one for one in about if one in own and one not in NO_SUBJECTS), None)) is not None:
        return "_".join(_drop_last(found.split("_")))
    called = f"_{'_'.join(split_name(tool))}_"
    words = next((one for one in about if f"_{one}_" in called), "").split("_")
    while len(words) > 1 and words[0] in _VERBS:
        del words[0]
    words = _drop_last(words)
    return "" if words[0] in _VERBS else to_singular("_".join(words))


def _find_head(subject: str, text: str) -> str:
    """The last word of a name, where the remark speaks of it; empty: it doesn't."""
    head = subject.rpartition("_")[2]
    said = (to_singular(word) for word in _WORD.findall(text.lower()))
    return head if head in said else ""


_WORD = re.compile(r"[a-z]+")
_BEFORE_FIELDS = RECORDS | {"weather", "forecast", "rate", "balance"}
"""What the names of fields with values begin with."""


def _drop_last(words: list[str]) -> list[str]:
    """The words of a name without those at its end that don't say what it is on."""
    while len(words) > 1 and words[-1] in SAYS_NO_SUBJECT:
        words = words[:-1]
    return words


_VERBS = READING | CHANGING


@lru_cache(256)
def list_own(setting: Setting, part: str, slots: frozenset[str]) -> dict[str, Entry]:
    """The entries on what both the result's fields and the tool's name speak of, by their names, or else on
    what the fields do, or else on what the name does: a flight's price is no timetable."""
    own = list_entries(setting, part, slots)
    without_tool = msgspec.structs.replace(setting, tools=frozenset())
    without_fields = msgspec.structs.replace(setting, opening="")
    by_fields = own.keys() & list_entries(without_tool, part, slots).keys()
    by_name = own.keys() & list_entries(without_fields, part, slots).keys()
    both = by_fields & by_name
    chosen = both if len(both) >= ENOUGH or (both and part == "remark") else by_fields or by_name
    return {name: one for name, one in own.items() if name in chosen}


ENOUGH = 4
"""Fields on both: fewer leave too few to draw from."""


@lru_cache(256)
def list_entries(
    setting: Setting, part: str, slots: frozenset[str], *, on_tools: bool = False
) -> dict[str, Entry]:
    """The fitting entries by their names: those that say what they are about, or those that name a tool."""
    fitting = list_fitting(setting, OPERATOR, part, slots)
    return {name: one for name, one in fitting if (one.id in ON_TOOLS if on_tools else bool(one.about))}


ON_TOOLS = frozenset({"remark-tool-1", "remark-tool-2"})
"""Entries that name another tool."""
