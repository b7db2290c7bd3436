"""Towns in English messages without capitals: `i need a doctor in antioch`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.small_words import GO_ON, is_small_word
from crosswind.injectors.operators.user.values.vague.others import LANGUAGES
from crosswind.injectors.operators.user.values.vague.place import Place, leave_out
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

_SMALL = r"(?:an|as|at|by|do|he|if|in|is|it|me|my|no|of|on|or|so|to|up|us|we)\b"
"""Words of two letters that are no state: `in oakland, ca`."""
_TOWN = re.compile(
    r" (?P<prep>in|near|around) (?P<name>[a-z]{4,}(?: [a-z]{2,}){0,2}?)"
    rf"(?:, ?(?!{_SMALL})[a-z]{{2}}\b)?"
    r"(?= ?[.,?!]| (?:today|tomorrow|tonight|right|please|this|next|for|on|with|that|who|and|at)\b|$)"
)
_TOWNS = make_words("city location town")
_NO_TOWNS = make_words(
    """
    advance bulk cash category celsius class degrees detail dollars euros excel fahrenheit feet format
    front full general german grams here imperial inches json kilometers life line metric miles mind
    minutes mode months need order part particular parts percent person place pounds private process
    public real seconds short size stock store style table terms theaters theatres there time total town
    units weeks words work yards years
    """
)
_LANGUAGES = frozenset(map(str.lower, LANGUAGES))


def find_towns(text: str, tools: ToolList) -> Iterator[tuple[Mention, Place]]:
    """Unknown towns behind `in` that the sentence doesn't need, where a tool takes one."""
    if any(map(str.isupper, text.replace("I", "")[1:])):
        return
    parameters = list_parameters(tools)
    if not any(_TOWNS.intersection(one.words[-1:]) and not one.options for one in parameters):
        return
    options = {option.lower() for one in parameters for option in one.options}
    for match in _TOWN.finditer(text):
        words = match["name"].split(" ")
        odd = any(
            is_small_word(word) or word in _NO_TOWNS | _LANGUAGES | options or month_of(word)
            for word in words
        )
        if odd or words[-1].endswith(("ing", "ly", "s")):
            continue
        start, end = match.start("name"), match.end()
        place = leave_out(Place(match.start("prep"), end, None), text, GO_ON)
        if place.dropped is not None and place.dropped_span is not None:
            one = Mention(start, end, text[start:end], ValueType.PLACE, "city")
            yield one, Place(*place.dropped_span, dropped="", value=(start, end))
