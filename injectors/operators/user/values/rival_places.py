"""Whether a rival can stand in a value's place, and whether what is said there is all of the value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crosswind.injectors.operators.user.values.rival_names import COUNTERS, MOMENTS, is_noun
from crosswind.injectors.operators.user.values.slips import agrees
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, is_small_word, qualifies
from crosswind.injectors.operators.user.values.sure_values import LEADS, NUMBERED
from crosswind.injectors.operators.user.values.vague.place import find_next_word, find_word_before
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_MODEL, _UNIT = re.compile(r"[A-Za-z] ?$"), re.compile(r"[\u4e00-\u9fffA-Za-z%℃]")
"""What stands before a Chinese or Japanese number that is a model's, and behind one that measures."""
_CAPITAL = re.compile(r"(?:[^.!?:;\n] |^)[A-ZÀ-Þ][\w'’-]*(?:,| and| of| the| of the| &| in| de)? $")
_GOES_ON = re.compile(r",? (?:and |of |the |of the |& |in |in the |de )?[A-Z\d]")
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_MASS = ("action", "fantasy", "fiction", "horror", "music", "news")
_BEFORE_VALUES = frozenset(
    """
    are be been enjoy enjoys ideally is like likes love loves mainly mostly prefer preferably preferred
    preferring prefers specifically strictly usually
    """.split()
)
"""Words behind which a value begins, as behind a verb that bids."""
_LABELS = frozenset(("id", "no", "number"))
"""Words behind which a value stands alone, with a capital as well: `Order ID 8812`."""
_NEAR = 4
"""Characters between a day and a time that may be one value: `Friday at 5 pm`."""


def is_behind_moment(one: Mention, spoken: Iterable[Mention]) -> bool:
    """Whether it is a day or a time right behind another one."""
    return any(_are_one_moment(other, one) for other in spoken)


def is_before_moment(one: Mention, spoken: Iterable[Mention]) -> bool:
    """Whether it is a day or a time right before another one."""
    return any(_are_one_moment(one, other) for other in spoken)


def _are_one_moment(first: Mention, second: Mention) -> bool:
    near = 0 <= second.start - first.end <= _NEAR
    return near and first.type in MOMENTS and second.type in MOMENTS


def is_within_phrase(text: str, one: Mention, language: Language) -> bool:
    """Whether it stands within a phrase that a correction would cut in two: `my Boston to New York trip`,
    `the Chinese fiction section`."""
    if language is not Language.EN:
        return False
    if one.type is ValueType.PLACE:
        return find_word_before(text, one.start) in DETERMINERS
    return one.type is ValueType.OPTION and qualifies(text, one.end)


def _is_measure(text: str, one: Mention) -> bool:
    """Whether a number has a unit behind it, `10公斤`, or is a model's: `iPhone 15`."""
    if one.type is not ValueType.NUMBER:
        return False
    behind = text[one.end : one.end + 1]
    counted = behind in COUNTERS
    return _MODEL.search(text[: one.start][-2:]) is not None or (
        not counted and _UNIT.match(behind) is not None
    )


def may_stand_inside(text: str, one: Mention, start: int, end: int, rival: str, language: Language) -> bool:
    """Whether a rival can stand in the value's place: the value is no part of anything longer, and the rival
    goes with what stands before it."""
    if _GLUED_BEHIND.match(text, end) or _GLUED_BEFORE.search(text[:start][-1:]):
        return False
    if _is_part(text, one, start, language) or (language in UNSPACED and _is_measure(text, one)):
        return False
    if language is Language.AR:
        return not _ARABIC.match(text[start - 1 : start]) and not _ARABIC.match(text[end : end + 1])
    if one.type is ValueType.NUMBER and one.text.isalpha() and one.text[0].isupper():
        return False  # It begins a sentence.
    if language is Language.FR and _ELIDED.search(text, max(0, start - 4), start):
        return False
    return language is not Language.EN or _goes_with(text, one, start, end, rival)


_GLUED_BEFORE = re.compile(r"[\w/_@#'’&-]$", re.ASCII)
_GLUED_BEHIND = re.compile(r"['’]s\b|[-/_@'’]\w")
_ELIDED = re.compile(r"(?:\b[dlDL]|qu)['’]$")


def _is_part(text: str, one: Mention, start: int, language: Language) -> bool:
    """Whether a longer name or number may begin before the value."""
    capital = _CAPITAL.search(text[max(0, start - 24) : start])
    if capital and one.type is ValueType.PLACE and capital[0].endswith(" in "):
        capital = None  # `a tour of the Prado in Madrid`
    ordered = language is Language.EN and find_word_before(text, start).lower() in LEADS | _LABELS
    return (capital is not None and not ordered) or _DIGIT_BEFORE.search(
        text[max(0, start - 4) : start]
    ) is not None


_DIGIT_BEFORE = re.compile(r"\d[ ,]+$")


def _goes_with(text: str, one: Mention, start: int, end: int, rival: str) -> bool:
    """Whether an English rival goes with the word before it, and that word belongs to no value."""
    before = find_word_before(text, start)
    named = one.type in (ValueType.OPTION, ValueType.PLACE, ValueType.NAME) or month_of(one.text) is not None
    called = before in (one.thing or "").split()
    alone = one.type is ValueType.NUMBER and not qualifies(text, end) and not called
    if before in NUMBERED or (called and one.type is ValueType.OPTION):
        named = alone = False
    begins = is_small_word(before) or before in LEADS | _BEFORE_VALUES
    if (named or alone) and before and not begins:
        return False  # What stands before may belong to it: an extra large one.
    # `a comedy`, but not `a horror`
    return agrees(before, rival) and not (is_noun(text, one, Language.EN) and rival in _MASS)


def goes_on(text: str, end: int, language: Language) -> bool:
    """Whether more that may belong to the value stands behind it."""
    if language in UNSPACED or _GOES_ON.match(text, end):
        return True
    return qualifies(text, end) if language is Language.EN else find_next_word(text, end) != ""


def stands_whole(
    text: str, one: Mention, named: tuple[str, str] | None, language: Language, *, leads: bool
) -> bool:
    """Whether the message's end names all of the value that a call may need, so that a rival can stand alone
    in its place."""
    if _TITLE.search(text, max(0, one.start - 8), one.start):
        return False
    named_kind = one.type in (ValueType.PLACE, ValueType.NAME)
    if language in UNSPACED:
        apart = not named_kind or _AFTER_NAME.match(text, one.end) is not None
        return apart and (one.type is not ValueType.NUMBER or named is not None)
    if language is Language.EN:
        counted = one.type is ValueType.NUMBER and named is not None
        return (counted and not _OF_THESE.match(text, one.end)) or one.type is ValueType.OPTION or not leads
    if one.type is ValueType.NUMBER:
        return not leads
    return not named_kind or not (
        (leads and _GOES_ON.match(text, one.end)) or _OF_NAME.search(text[: one.start])
    )


_AFTER_NAME = re.compile(r"[^\u4e00-\u9fff\u30a0-\u30ff\w]|[\u3040-\u309f的到去飞住至明今后是有出之]|$")
"""What may stand behind a Chinese or Japanese place that is no part of a longer name."""
_OF_THESE = re.compile(r" [a-z]+ of\b")
_OF_NAME = re.compile(r"\b(?:de|del|d['’]|du|des|von|vom) ?$", re.IGNORECASE)
_TITLE = re.compile(r"[A-Z]\w*\. $")
