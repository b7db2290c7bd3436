"""Bare English nouns that fill the only parameter of their kind: `the molar mass of glucose`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.small_words import (
    DETERMINERS,
    GO_ON,
    is_small_word,
)
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    leave_out,
    list_unnamed,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

_KINDS = (ValueType.WORD, ValueType.NAME, ValueType.PLACE)
_NAME_BEHIND = re.compile(r" (?:(?:of|and|or|&|the) )?[A-Z\d]|['’]s\b| (?:and|or) ")
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
}
"""By a parameter's last word the prepositions behind which a bare noun fills it."""
_GONE = make_words("activity dish food fruit hobby ingredient item product sport vegetable")
"""Kinds that nobody points at: a recipe with chicken is a recipe."""
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
    dollars euros pounds yen rupees currency celsius fahrenheit name names date size price mass speed value
    number numbers each same both many more most much other person persons kids children adults anything
    """
)
"""What behind a preposition is no such thing."""


def find_bare(text: str, tools: ToolList) -> Iterator[tuple[Mention, Place]]:
    """Such nouns, each with its place."""
    kinds = {
        kind
        for one in list_parameters(tools)
        if one.type in _KINDS and not one.options and (kind := _find_head(one.words)) in _BARE
    }
    kind = kinds.pop() if len(kinds) == 1 else ""
    if not kind or kind in text.lower():
        return
    for match in _BARE_PLACE.finditer(text):
        start, end = match.start("noun"), _find_end(match)
        said = text[start:end]
        if _SEARCHES.search(text[: match.start("prep")]) is not None:
            continue
        stops = ends_clause(text, end) or find_next_word(text, end) in GO_ON
        if match["prep"] not in _BARE[kind].split() or not (said and stops) or text.count(said) > 1:
            continue
        if not _NAME_BEHIND.match(text, end):
            if kind in _GONE and match["prep"] == "of":
                continue
            if kind in _GONE:
                gone = leave_out(Place(match.start("prep"), end, None), text, GO_ON)
                if gone.dropped is not None and gone.dropped_span is not None:
                    place = Place(*gone.dropped_span, dropped="", called=kind, value=(start, end))
                    yield Mention(start, end, said, ValueType.WORD, kind), place
                continue
            forms = list_unnamed(kind)
            yield Mention(start, end, said, ValueType.WORD, kind), withhold(start, end, forms, kind)


_SEARCHES = re.compile(r"(?i)\b(?:ask|look|search|shop|wait)(?:ing)? ?\Z")
"""Verbs that say nothing without what is looked for."""


def _find_end(match: re.Match[str]) -> int:
    """Where the noun ends; where it begins, if it is none of such a kind."""
    words, end = match["noun"].split(" "), match.end("noun")
    if len(words) > 1 and (is_small_word(words[1]) or words[1].endswith(("ed", "ve")) or words[1] in _VERBAL):
        end -= len(words.pop()) + 1
    odd = is_small_word(words[0]) or words[0] in _NO_NOUNS
    odd = odd or words[-1] in _NO_NOUNS | DETERMINERS or words[-1].endswith(("ing", "ly"))
    return match.start("noun") if odd else end


def _find_head(words: tuple[str, ...]) -> str:
    """The noun of a parameter's name: `drug` of `drug_a`, `food` of `food_name`."""
    plain = [word for word in words if len(word) > 2 and word not in ("name", "names")]
    return plain[-1].removesuffix("s") if plain and plain[-1] != "species" else "".join(plain[-1:])
