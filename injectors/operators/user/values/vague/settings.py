"""What something is set to in an English sentence: the user can leave it open, `Set the alarm`."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.vague.place import Place, ends_clause, find_next_word
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_SET = re.compile(
    r"\b(?:adjust|change|decrease|increase|lower|modify|raise|reduce|set|switch|turn (?:up|down)|update) "
    r"(?:the |my |our )(?P<noun>[a-z]+(?: [a-z]+){0,2})(?: (?:in|of) (?:the |my )[a-z]+)?"
    r"(?P<to> (?:to|by) )(?:the )?[$€£]?$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:%| ?°[CF]?\b| (?:celsius|degrees|dollars|euros|fahrenheit|minutes|percent|pounds))*", re.I
)
_LONGEST = 80
_NOT_SET = make_words("file name order price")
"""What nobody sets without saying to what."""


def find_setting_value(text: str, one: Mention) -> Place | None:
    """The place of ` to 40` behind `set the volume`."""
    found = _SET.search(text, max(0, one.start - _LONGEST), one.start)
    rest = _UNIT.match(text, one.end)
    stop = one.end if rest is None or one.type is not ValueType.NUMBER else rest.end()
    if found is None or not (ends_clause(text, stop) or find_next_word(text, stop) in _GO_ON):
        return None
    noun = found["noun"].rpartition(" ")[2]
    if noun in _NOT_SET:
        return None
    called = noun if noun in (one.thing or "").split() else None
    if called is None and "degrees" in text[one.start : stop]:
        called = "temperature"
    return Place(found.start("to"), stop, dropped="", called=called, value=(one.start, stop))


_GO_ON = make_words("and for please")
