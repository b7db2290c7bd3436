"""Where what a thing is stands for its name in an English sentence: `this treaty`.

What it is, tell the name itself, the words that lead up to it, or its parameter.
"""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.small_words import GO_ON, is_small_word
from crosswind.injectors.operators.user.values.vague.cities import CITY_NAMES, NO_PLACES, REGION
from crosswind.injectors.operators.user.values.vague.others import LANGUAGES
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    list_told_later,
    list_unnamed,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_OF = (
    "Bank Battle Bay Duchy Gulf House Isle Kingdom Museum Order Republic Siege Tower Treaty University War"
).split()
_FIRST = {"Lake": "lake", "Mount": "mountain", "Hotel": "hotel"}
_LAST = make_words(
    """
    airport arena bank battle bridge castle cathedral cemetery church clinic college company conference
    dynasty empire festival gallery hospital hotel island lake league library mall museum observatory
    palace park pier prize revolution river school stadium station temple theater theatre tower treaty
    university war zoo
    """
)
_MADE_BY = {
    **dict.fromkeys(("painting", "sculpture", "drawing", "portrait", "artwork", "print"), "artist"),
    **dict.fromkeys(("song", "album", "track", "music", "hit", "concert"), "artist"),
    **dict.fromkeys(("book", "novel", "poem", "story", "essay", "play", "article"), "author"),
    **dict.fromkeys(("movie", "film"), "director"),
    **dict.fromkeys(("symphony", "opera", "sonata", "concerto"), "composer"),
}
DONE_BY = {
    "directed": "director",
    "written": "author",
    "authored": "author",
    "composed": "composer",
    "painted": "painter",
    "sung": "singer",
    "performed": "artist",
    "designed": "designer",
    "produced": "producer",
}
"""What their participle tells of them."""
_STARS = re.compile(r"\b(?:starring|featuring|stars|stars in) $", re.IGNORECASE)
_MAKERS = make_words("actor artist author composer director performer player singer writer")
"""Persons who are named by what they make."""
_ASKS = make_words("did do does")
_VERB = re.compile(
    r"(?:[a-z]{2,}ed|won|wrote|made|led|built|founded|ran|sang|shot|starring|featuring|stars) $"
)
_LONGEST = 24
_NAME_GOES_ON = re.compile(r" (?:(?:of|and|or|&|the) )?[A-Z\d]|, [A-Z]|['’]s\b|,? vs\.? ")
_BEFORE = make_words(
    "about against at by for from in near of on to with like than did does do is was are around"
)


def find_named(text: str, one: Mention, start: int, end: int) -> Place | None:
    """The place of a name of which it is told what it is."""
    if one.text.endswith(("'s", "’s")):
        return _find_owner(text, one, start, end)
    title = one.text.startswith("The ") and _VERB.search(text, max(0, start - _LONGEST), start) is not None
    kind = (None if title else find_own_kind(one.text)) or _find_maker(text, one, start)
    if (region := REGION.match(text, end)) is not None and kind in (None, "city"):
        end = region.end()
    before = find_word_before(text, start)
    if before == "the" and kind is not None and kind not in _MAKERS:
        start -= len("the ")
        before = find_word_before(text, start)
    done = _VERB.search(text, max(0, start - _LONGEST), start) is not None
    if kind is None:
        kind = _find_asked(one, before, done=done)
    elif not (done or before in _BEFORE):
        return None
    if before in ("from", "to") and kind in _PLACES:
        return None
    if one.literal or kind is None or _NAME_GOES_ON.match(text, end) or not _stops(text, end, before):
        return None
    told = before == "by" and find_word_before(text, start - len("by ")) in DONE_BY
    forms = (f"this {kind}", *list_told_later(kind)) if told else list_unnamed(kind)
    type = ValueType.OPTION if one.type is ValueType.NAME else None
    return withhold(start, end, forms, kind, type=type, value=(one.start, end))


def _stops(text: str, end: int, before: str) -> bool:
    """Whether the name's phrase ends there: where it is asked what who is named does, before the verb."""
    after = find_next_word(text, end)
    asks = before in _ASKS and after.isalpha() and after.islower()
    return ends_clause(text, end) or after in GO_ON or asks


def _find_asked(one: Mention, before: str, *, done: bool) -> str | None:
    """What a name is of which only its parameter says so: who does something, or where something is."""
    head = (one.thing or "").rpartition(" ")[2]
    if (done or before in _ASKS) and head in _ASKED_FOR:
        return head
    placed = one.type is ValueType.PLACE or head in _ENDS
    return _find_place_kind(one) if placed and before in _AT_PLACE else None


def find_own_kind(name: str) -> str | None:
    """What a name says that it is the name of: the Treaty of Vienna is a treaty."""
    words = name.split(" ")
    if len(words) > 2 and words[1] == "of" and words[0] in _OF:
        return words[0].lower()
    if len(words) > 1 and words[0] in _FIRST:
        return _FIRST[words[0]]
    if name in CITY_NAMES:
        return "city"
    return words[-1].lower() if len(words) > 1 and words[-1].lower() in _LAST else None


def _find_maker(text: str, one: Mention, start: int) -> str | None:
    """What a person is who made what is spoken of: `a novel by Ann Reed`."""
    if _STARS.search(text, max(0, start - 16), start):
        return "actor"
    if find_word_before(text, start) != "by" or (" " not in one.text and one.type is ValueType.PLACE):
        return None
    at = start - len("by ")
    made = find_word_before(text, at)
    if made in DONE_BY:
        return DONE_BY[made]
    kind = (one.thing or "").rpartition(" ")[2]
    return _MADE_BY.get(made.removesuffix("s")) or (kind if kind in _MAKERS else None)


def _find_owner(text: str, one: Mention, start: int, end: int) -> Place | None:
    """`Nordwind's stock` becomes `this company's stock`."""
    kind, after = (one.thing or "").rpartition(" ")[2], find_next_word(text, end)
    name = one.text[:-2]
    kind = find_own_kind(name) or _OWNERS.get(kind, kind)
    before = find_word_before(text, start)
    if (
        kind not in _ASKED_FOR | {"city"}
        or (kind == "city" and name not in CITY_NAMES)
        or not after.isalpha()
        or is_small_word(after)
        or before == "the"
    ):
        return None
    forms = tuple(f"{unnamed}'s" for unnamed in list_unnamed(kind) if " I" not in unnamed)
    return withhold(start, end, forms, kind, value=(start, end - 2))


_OWNERS = {"symbol": "company", "ticker": "company", "stock": "company"}
_ASKED_FOR = make_words("brand club company country player team university artist author")


_ENDS = make_words("destination end to")
_AT_PLACE = make_words("at for in near of to")
_PLACES = make_words("city country place")


def _find_place_kind(one: Mention) -> str | None:
    """What a place is called of which only its parameter says that it is one."""
    head = (one.thing or "place").rpartition(" ")[2]
    if (
        one.text in NO_PLACES
        or one.text in GIVEN_NAMES
        or one.text in LANGUAGES
        or any(map(str.isdigit, one.text))
    ):
        return None
    if head in ("city", "country"):
        return head
    return "place" if head in _ENDS | {"location", "place"} else None
