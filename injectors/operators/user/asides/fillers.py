"""What of a user's own words may be said again: one of its values, or the request in a few words.

Nothing is guessed: where nothing is sure there is no filler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from crosswind.injectors.operators.user.requests.extraction import find_requests
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.negations import is_limit, is_restricted
from crosswind.injectors.text.quotations import find_literals
from crosswind.injectors.text.sentences import count_words, split_sentences
from crosswind.injectors.values.forms import find_forms
from crosswind.injectors.values.parameters import ValueType

LONGEST_TEXT = 4_000
"""Characters of a text in which something to be said again is looked for."""

_SURE = frozenset(
    {ValueType.DATE, ValueType.TIME, ValueType.MONEY, ValueType.DURATION, ValueType.EMAIL, ValueType.FILE}
)
"""Values that stand alone: "November 15", "80 euros". A number doesn't, nor does "the first"."""
_COUNTED = re.compile(
    r" (?!more|less|than|other|and|or|to|of|in|at|on|for|by|with|from|is|are|per)([a-z]{3,}s)\b"
)
"""The noun behind an English number that counts something: "10 gallons"."""
_RELATIVE = re.compile(r"(?i)^(?:an?|one|this|last) |^/|^[a-z]+$")
"""Words that say less when they stand alone, and a folder."""
_ADJECTIVE = re.compile(
    r".*[ -](?:dollar|euro|pound|second|minute|hour|day|night|week|month|year)", re.IGNORECASE
)
"""What stands before a noun: "a 250,000 dollar mortgage"."""
_RANGE = tuple("to until through bis und and au à al hasta y or - – ~ ～ 至 到 から".split())
"""What stands between the ends of a range."""
_CODE = re.compile(r"#?[A-Z0-9][A-Z0-9_-]*\d[A-Z0-9_-]*")


def draw_said(text: str, language: Language, rng: SeededRandom) -> dict[str, str] | None:
    """Draw what a user says again, as the slots of a phrase: the values in one line, or in English the
    request, or what it asks for. Nobody sums up a short message."""
    long = count_words(text) >= (LONG if language is Language.EN else _LONG_ELSEWHERE)
    values = list_values(text, language) if long else []
    request = shorten_request(text) if language is Language.EN and long else None
    thing = find_thing(text) if language is Language.EN and long and request is None else None
    if _LEAST <= len(values) <= _MOST and not ((request or thing) and rng.chance(_REQUEST)):
        return {"value": _COMMAS.get(language, ", ").join(values)}
    return {"request": request} if request else {"thing": thing} if thing else None


LONG, _LONG_ELSEWHERE = 20, 14
"""Words of the shortest message of which something is said again, in English and in other languages."""
_LEAST, _MOST = 2, 5
"""Values of a message that is summed up."""
_COMMAS = {Language.ZH: "、", Language.JA: "、", Language.AR: "، "}
_REQUEST = 0.3
"""How often the request is said again where a value could be."""


def find_thing(text: str) -> str | None:
    """What an English message asks for, with its article: "the area", "a cheap hotel"."""
    if len(asked := find_requests(text, Language.EN)) == 1:
        order = _ORDERED.match(shorten_request(text, 1.0) or "")
        if order is not None and asked[0].end - asked[0].start > _MOSTLY * len(text.strip()):
            return order[1]
    question = _QUESTION.fullmatch(text.strip())
    return question[1] if question else None


_ARTICLE = r"(?:the|an?|my|our)"
_ORDERED = re.compile(
    r"(?:find|book|reserve|order|rent|buy|calculate|compute|determine|check|fetch|retrieve|show|display|estimate"
    rf"|look up|search for|recommend|suggest) (?:me |us )?({_ARTICLE}(?: [\w'’-]+){{1,5}})"
)
"""Orders for a thing that the user then has, or knows."""
_ALSO = r"and (?:the|my|what|how|who|when|where|which|why|is|are|do|can|should|find|tell|show)"
"""How a question goes on that asks for something else as well."""
_QUESTION = re.compile(
    r"(?i:what(?:['’]s| is| was| are| were)) "
    r"(the(?: (?!of\b|in\b|and\b|or\b|way\b|like\b)[a-z][\w'’-]*){1,3}?)"
    r"(?: (?:of|in|on|at|for|to|from|between|with|by|near|right now|today|tomorrow)\b"
    rf"(?:(?!\b{_ALSO}\b)[^?!;])*)?\?"
)
_MOSTLY = 0.8
"""The share of a message that its request must have: the rest may ask for more."""


def list_values(text: str, language: Language) -> list[str]:
    """The values whose kind is sure, each the only one of its kind, of the clause that has most: those of
    several are for different things. What is ruled out, or bounds the rest, would be a wish by itself."""
    found = list(find_forms(text))
    kinds = [kind for _, _, kind in found]
    literals = [(one.start, one.end) for one in find_literals(text)]
    values = [
        (start, value)
        for start, end, kind in found
        if (kind is ValueType.NUMBER or kinds.count(kind) == 1)
        and not any(at < end and start < stop for at, stop in literals)
        and (value := _read_value(text, start, end, kind, language)) is not None
        and not is_restricted(text, start, end, language)
        and not is_limit(text, start, end, language)
    ]
    clauses = [[value for at, value in values if start <= at < end] for start, end in _split_clauses(text)]
    return max(clauses, key=len, default=[])


def _split_clauses(text: str) -> Iterator[tuple[int, int]]:
    """The sentences, and within an English one each order."""
    for start, end in split_sentences(text):
        orders = [found.start() for found in _AND_THEN.finditer(text, start, end) if found[1] in _ORDERS]
        yield from pairwise((start, *orders, end))


_AND_THEN = re.compile(r"(?:;|\b(?:and|but|then))\s+(?:(?:also|instead|please|then)\s+)?([a-z]+)")
_ORDERS = SURE | AMBIGUOUS


def _read_value(text: str, start: int, end: int, kind: ValueType, language: Language) -> str | None:
    """The value as it can stand alone; None where that would be unclear."""
    value = text[start:end].rstrip(".,")
    if kind is ValueType.NUMBER:
        noun = _COUNTED.match(text, end) if language is Language.EN else None
        part = (
            text[:start]
            .lower()
            .endswith(("top ", "last ", "first ", "next ", "which ", "what ", "the ", "every "))
        )
        return value + noun[0] if noun and not part else None
    if kind is ValueType.ID:
        return value if _CODE.fullmatch(value) else None
    if (
        kind not in _SURE
        or _RELATIVE.search(value)
        or _ADJECTIVE.fullmatch(value)
        or _ends_range(text[:start])
    ):
        return None
    said = kind is ValueType.DURATION or any(letter.isdigit() for letter in value)
    return value if said else None


def _ends_range(before: str) -> bool:
    """Whether a value ends a range, by the text before it: by itself it says too little."""
    bare = before.rstrip()
    if not bare.endswith(_RANGE):
        return False
    heads = (bare.removesuffix(word).split() for word in _RANGE if bare.endswith(word))
    return any(letter.isdecimal() for words in heads for letter in "".join(words[-1:]))


_CUT = re.compile(
    r",|;|\s(?:and|or|then|in|on|at|from|for|to|into|by|with|within|using|called|named|titled|saying|that|which|who"
    r"|whose|where|if|when|as|so|because|under|over|between|after|before|near|via|per|along|than|is|are|but)\b"
)
_INCOMPLETE = re.compile(
    r"(?:open|put|set|let|keep|have|make|take|tell|give|know|convert|change|turn|switch|add|move|send|see|go|get"
    r"|compare|exchange|replace|invite|ask|say|write|translate|raise|update|increase|reduce|use|bring)\b"
)
"""Verbs that say too little without what follows their object."""
_GOES_ON = re.compile(r",|\s(?:and|or|then|that|which|who|whose|where|than|is|are|but)\b")
"""What follows asks for something else as well, or says which one is meant."""
_OPEN = re.compile(r"\b(?:why|how|what|whether|out|up|of|the|a|an|my)\Z")
_NAMED = re.compile(r"[\w'’#$€£%.,/-]+")


_GREETED = re.compile(
    r"(?i)\W*(?:and|but|or|also|plus|then|now|next|ok|okay|so|great|good|perfect|nice|cool|thanks?|thx|yes|yeah"
    r"|yep|no|nope|sure|alright|right|well|sorry|hi|hey|hello|dear|what about|how about|actually|wait)\b"
)


def goes_on(text: str) -> bool:
    """Whether an English message goes on from an earlier one, or greets: nobody greets in front of it."""
    return _GREETED.match(text) is not None


def shorten_request(text: str, share: float | None = None) -> str | None:
    """The message's only request without its circumstances: "book a business class flight"."""
    requests = find_requests(text, Language.EN)
    if len(requests) != 1:
        return None
    asked = requests[0].infinitive
    cut = _CUT.search(asked)
    if cut is not None and _GOES_ON.search(asked, cut.start()):
        return None
    short = asked[: cut.start()] if cut else asked
    if (
        _INCOMPLETE.match(short)
        or _OPEN.search(short)
        or not 3 <= count_words(short) <= _WORDS
        or not short.isascii()
    ):
        return None
    if not all(_NAMED.fullmatch(word) for word in short.split()):
        return None
    return short if len(short) < len(text) * (share or _SHORTER) else None


_SHORTER = 0.5
"""The share of a message that a request said again may have: nobody repeats the whole of a short one."""
_WORDS = 8
"""Words of a request that is said again: no more than people would type."""
