"""Where what a thing is stands for its name in an English sentence: `a certain treaty`.

What it is, tell the name itself, the words that lead up to it, or the only parameter that takes such a thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.small_words import (
    DETERMINERS,
    GO_ON,
    is_small_word,
    make_words,
)
from crosswind.injectors.operators.user.values.vague_cities import CITY_NAMES, NO_PLACES, REGION
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    list_unnamed,
)
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

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
_DONE_BY = {
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
_STARS = re.compile(r"\b(?:starring|featuring|stars|stars in) $", re.IGNORECASE)
_MAKERS = make_words("actor artist author composer director performer player singer writer")
"""Persons of whom one says `a certain`."""
_ASKS = make_words("did do does")
_VERBS = re.compile(r"(?:[a-z]{2,}ed|won|wrote|made|led|built|founded|ran|sang|shot) $")
_NAME_GOES_ON = re.compile(r" (?:(?:of|and|or|&|the) )?[A-Z\d]|, [A-Z]|['’]s\b|,? vs\.? ")
_BEFORE = make_words(
    "about against at by for from in near of on to with like than did does do is was are around"
)


def find_named(text: str, one: Mention, start: int, end: int) -> Place | None:
    """The place of a name of which it is told what it is."""
    if one.literal:
        return None
    if one.text.endswith(("'s", "’s")):
        return _find_owner(text, one, start, end)
    kind = find_own_kind(one.text) or _find_maker(text, one, start)
    if (region := REGION.match(text, end)) is not None and kind in (None, "city"):
        end = region.end()
    if _NAME_GOES_ON.match(text, end):
        return None
    before = find_word_before(text, start)
    if before == "the":
        if kind is None or kind in _MAKERS:
            return None
        start -= len("the ")
        before = find_word_before(text, start)
    if kind is None:
        kind = _find_kind(one) if before in _ASKS or _VERBS.search(text[:start]) else None
        ends = (one.thing or "").rpartition(" ")[2] in _ENDS
        if kind is None and before in _AT_PLACE and (one.type is ValueType.PLACE or ends):
            kind = _find_place_kind(one)
        if kind is None:
            return None
    elif before not in _BEFORE and not (_VERBS.search(text[:start]) or _STARS.search(text[:start])):
        return None
    after = find_next_word(text, end)
    asks = before in _ASKS and after.isalpha() and after.islower()
    if not (ends_clause(text, end) or after in GO_ON or asks):
        return None
    forms = list_unnamed(kind, ends=ends_clause(text, end))
    type = ValueType.OPTION if one.type is ValueType.NAME else None
    return Place(
        start, end, None, forms=forms, withholds=True, called=kind, type=type, value=(one.start, end)
    )


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
    if made in _DONE_BY:
        return _DONE_BY[made]
    kind = (one.thing or "").rpartition(" ")[2]
    kind = _DONE_BY.get(kind, kind)
    return _MADE_BY.get(made.removesuffix("s")) or (kind if kind in _MAKERS else None)


def _find_owner(text: str, one: Mention, start: int, end: int) -> Place | None:
    """`Nordwind's stock` becomes `a certain company's stock`."""
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
    forms = tuple(f"{unnamed}'s" for unnamed in list_unnamed(kind, ends=False))
    return Place(start, end, None, forms=forms, withholds=True, called=kind, value=(start, end - 2))


_OWNERS = {"symbol": "company", "ticker": "company", "stock": "company"}
_ASKED_FOR = make_words("brand club company country player team university artist author")


def _find_kind(one: Mention) -> str | None:
    kind = (one.thing or "").rpartition(" ")[2]
    return kind if kind in _ASKED_FOR else None


_ENDS = make_words("departure destination end from origin start to")
_AT_PLACE = make_words("at for from in near of to")


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


LANGUAGES = make_words(
    """
    Arabic Bengali Chinese Czech Danish Dutch English Finnish French German Greek Hebrew Hindi Hungarian
    Italian Japanese Korean Mandarin Norwegian Persian Polish Portuguese Romanian Russian Spanish Swahili
    Swedish Thai Turkish Ukrainian Urdu Vietnamese
    """
)
_CURRENCY = re.compile(
    r"(?:AUD|BRL|CAD|CHF|CNY|EUR|GBP|INR|JPY|KRW|MXN|RMB|SEK|USD)\b|(?:(?:US|U\.S\.|[A-Z][a-z]+) )?(?:dollars?|euros?|pounds?|yen|yuan|rupees?|francs?|pesos?|krona|kroner|won)\b",
)


def find_other(text: str, one: Mention, start: int, end: int) -> Place | None:
    """The place of a language, or of a currency that money is turned into."""
    before = find_word_before(text, start)
    spoken = one.thing is None or "language" in one.thing
    if one.text in LANGUAGES and before in ("in", "into", "to", "from"):
        if spoken and (ends_clause(text, end) or find_next_word(text, end) in GO_ON):
            forms = list_unnamed("language", ends=ends_clause(text, end))
            forms = forms if before == "in" else ("another language", *forms)
            return Place(start, end, None, forms=forms, withholds=True, called="language")
        if before in ("to", "into") and (money := _CURRENCY.match(text, start)) is not None:
            return _put_currency(text, start, money.end())
    money = _CURRENCY.match(text, start) if before in ("to", "into", "in") else None
    return None if money is None or money.end() < end else _put_currency(text, start, money.end())


def _put_currency(text: str, start: int, end: int) -> Place | None:
    if not (ends_clause(text, end) or find_next_word(text, end) in GO_ON):
        return None
    forms = ("another currency", "a different currency")
    return Place(start, end, None, forms=forms, withholds=True, called="target currency", value=(start, end))


_BARE: Mapping[str, str] = {
    **dict.fromkeys(
        ("compound", "molecule", "substance", "chemical", "metal", "element", "gas", "material", "solvent"),
        "in of",
    ),
    **dict.fromkeys(("ingredient", "food", "dish", "fruit", "vegetable"), "in of with"),
    **dict.fromkeys(("drug", "medication", "medicine", "allergen"), "of with"),
    **dict.fromkeys(("disease", "illness", "symptom"), "about for of with"),
    **dict.fromkeys(("topic", "subject"), "about on"),
    **dict.fromkeys(("species", "animal", "plant", "crop"), "of"),
    **dict.fromkeys(("sport", "hobby", "activity"), "for in of"),
    **dict.fromkeys(("industry", "field", "profession", "sector"), "in"),
    **dict.fromkeys(("product", "item"), "for of"),
    "medium": "in through",
    "color": "in",
}
"""By a parameter's last word the prepositions behind which a bare noun fills it."""
_BARE_PLACE = re.compile(
    r"(?<=[a-z] )(?P<prep>about|for|in|of|on|through|with) (?P<noun>[a-z]{3,}(?: [a-z]{4,})?)(?=[ .,?!]|$)"
)
_VERBAL = make_words(
    "cause come contain does exist grow help live made make occur produce said take using work"
)
_NO_NOUNS = make_words(
    """
    addition advance average bed bulk case charge cash class common danger depth detail details duty everyone
    everything favor fact foot free full general grams home inches instance kilograms kilometers line love
    meters metres miles mind minutes hours days nothing order one ones online particular people person place
    private progress public question reference return sale shape short something someone stock store sum
    sure terms time times total town tune turn type types use vain view yesterday units words work school
    name names date size price mass speed value number numbers each same both many more most much other
    person persons kids children adults anything
    """
)
"""What behind a preposition is no such thing."""


def find_bare(text: str, tools: ToolList) -> Iterator[tuple[Mention, Place]]:
    """Bare nouns that fill the only parameter of their kind: `the molar mass of glucose`."""
    found = [
        (kind, one)
        for one in list_parameters(tools)
        if one.type in (ValueType.WORD, ValueType.NAME, ValueType.PLACE) and not one.options
        for kind in [_find_head(one.words)]
        if kind in _BARE
    ]
    kind = found[0][0] if found else ""
    if len({one for one, _ in found}) != 1 or kind in text.lower():
        return
    ways = _BARE[kind].split()
    for match in _BARE_PLACE.finditer(text):
        start, end = match.span("noun")
        words = match["noun"].split(" ")
        if match["prep"] not in ways or is_small_word(words[0]) or words[0] in _NO_NOUNS:
            continue
        if len(words) > 1 and (
            is_small_word(words[1]) or words[1].endswith(("ed", "ve")) or words[1] in _VERBAL
        ):
            end -= len(words.pop()) + 1
        if words[-1] in _NO_NOUNS | DETERMINERS or words[-1].endswith(("ing", "ly")):
            continue
        said = text[start:end]
        if not (ends_clause(text, end) or find_next_word(text, end) in GO_ON) or text.count(said) > 1:
            continue
        if _NAME_GOES_ON.match(text, end):
            continue
        forms = list_unnamed(kind, ends=ends_clause(text, end))
        one = Mention(start, end, said, ValueType.WORD, kind)
        yield one, Place(start, end, None, forms=forms, withholds=True, called=kind, value=(start, end))


def _find_head(words: tuple[str, ...]) -> str:
    """The noun of a parameter's name: `drug` of `drug_a`, `food` of `food_name`."""
    plain = [word for word in words if len(word) > 2 and word not in ("name", "names")]
    return plain[-1].removesuffix("s") if plain and plain[-1] != "species" else "".join(plain[-1:])
