"""The place that a value has in a sentence, and the words beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from crosswind.injectors.packs.model import Entry
from crosswind.injectors.values.parameters import ValueType

_LAST = re.compile(r"([^\W_]+) $")
_NEXT = re.compile(r" ([^\W_]+)")
_STOP = re.compile(r"\s*(?:$|[;:!?)…\n]|[.,](?!\w))")
_LONGEST = 24
_NEEDS_MORE = re.compile(
    r"(?:['’](?:s|re|m)|\b(?:am|are|based|be|been|being|born|do|does|go|goes|happened|is|live|lived|lives"
    r"|located|moved|need|put|headquartered|domiciled|stationed|housed|rooted|settled|situated"
    r"|living|resid(?:e|es|ing)|stay|staying|was|were"
    r"|(?:arriv|beginn|com|depart|end|leav|return|start)ing)) $",
    re.IGNORECASE,
)
"""Verbs that say nothing without what follows."""


def accept_all(entry: Entry) -> bool:
    return True


def keep(phrase: str, coarse: str | None) -> str:
    return phrase


@dataclass(frozen=True, slots=True)
class Place:
    """What gives way to vague words: text[start:end], more than the value where words go with it."""

    start: int
    end: int
    accept: Callable[[Entry], bool] | None = accept_all
    """The entries that fit there; None: none does."""
    join: Callable[[str, str | None], str] = keep
    """A phrase, and the coarse form in it, as they stand there."""
    dropped: str | None = None
    """What is left where the value is left out; None: it can't be."""
    dropped_span: tuple[int, int] | None = None
    thing: str | None = None
    """The noun that calls the value there; None: none, but in English what its type is called."""
    type: ValueType | None = None
    """What the value surely is; None: the mention's type."""
    forms: tuple[str, ...] = ()
    """Less exact words for this very value, which need no hedge: `Anna`, `Larimer Street`."""
    withholds: bool = False
    """Whether those tell nothing of the value: `my order`."""
    called: str | None = None
    """What the user calls the value, where its parameter doesn't say so: `budget`."""
    value: tuple[int, int] | None = None
    """What isn't told any more, where it is more than the mention: `San Diego, California`."""

    def __post_init__(self) -> None:
        if self.dropped is not None and self.dropped_span is None:
            object.__setattr__(self, "dropped_span", (self.start, self.end))
            object.__setattr__(self, "accept", None)

    def or_dropped(self, other: Place) -> Place:
        """This place, where the value can also be left out as at the other one."""
        return replace(self, dropped=other.dropped, dropped_span=other.dropped_span)

    def with_join(self, join: Callable[[str, str | None], str]) -> Place:
        """This place with another way to join a phrase."""
        return replace(self, join=join)


def withhold(
    start: int,
    end: int,
    forms: tuple[str, ...],
    called: str,
    *,
    value: tuple[int, int] | None = None,
    type: ValueType | None = None,
) -> Place:
    """The place of a value of which these words tell nothing."""
    at = value or (start, end)
    return Place(start, end, None, forms=forms, withholds=True, called=called, type=type, value=at)


TOLD_LATER = ("I'll give you in a minute", "I'll tell you in a second")
"""How a phrase ends of a thing that the user is going to tell."""


def list_told_later(noun: str) -> tuple[str, ...]:
    """Words for a measure that the user is going to tell: the sentence ends with them."""
    article = "an" if noun[0] in "aeiou" else "a"
    return tuple(f"{article} {noun} {later}" for later in TOLD_LATER)


def is_told_later(phrase: str) -> bool:
    return phrase.endswith(TOLD_LATER)


def list_unnamed(noun: str) -> tuple[str, ...]:
    """Words that point at a thing without its name: `this city`, `my favorite artist`."""
    if noun == "language":
        return ("another language", "a different language")
    if noun in ("drug", "medicine"):
        return ("my medication", "this medication", f"this {noun}")
    article = "an" if noun[0] in "aeiou" else "a"
    forms = [f"this {noun}"]
    if noun in _OWNED:
        forms.insert(0, f"my {noun}")
    if noun in _MAKERS:
        forms.insert(0, f"{article} {noun} I like")
    if noun in _LIKED | _MAKERS:
        forms.insert(0, f"my favorite {noun}")
    return tuple(forms)


_LIKED = frozenset("album book movie player podcast restaurant song team".split())
_MAKERS = frozenset("actor artist author band composer designer director painter singer".split())
_OWNED = frozenset("bank club gym medication school team university".split())


def find_word_before(text: str, at: int) -> str:
    """The word before the place, in lower case; empty where none stands there with one space between."""
    found = _LAST.search(text[max(0, at - _LONGEST) : at])
    return found[1].lower() if found else ""


def find_next_word(text: str, at: int) -> str:
    """The word behind the place, as it is written; empty where none stands there with one space between."""
    found = _NEXT.match(text, at, at + _LONGEST)
    return found[1] if found else ""


def ends_clause(text: str, at: int) -> bool:
    """Whether a mark stands there, or nothing."""
    return _STOP.match(text, at) is not None


def close_aside(phrase: str, text: str, end: int) -> str:
    """The phrase, with another comma where it has one and the sentence goes on."""
    return f"{phrase}," if re.search(r", ", phrase) and not ends_clause(text, end) else phrase


def leave_out(place: Place, text: str, go_on: frozenset[str]) -> Place:
    """The place of a phrase that the sentence doesn't need: it can go with the comma before it."""
    start, after = place.start, find_next_word(text, place.end)
    if text[:start][-2:] not in (", ",) and not text[:start][-2:-1].isalnum():
        return place
    comma = text[:start].endswith(", ")
    if not comma and _NEEDS_MORE.search(text, max(0, start - _LONGEST), start):
        return place
    if not ends_clause(text, place.end) and (comma or after not in go_on):
        return place
    return place.or_dropped(Place(start - 1 - comma, place.end, dropped=""))
