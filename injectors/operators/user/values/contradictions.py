"""The values of a message that can be contradicted: with which rivals, and where in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.asides.places import find_missing_mark
from crosswind.injectors.operators.user.values.slips import (
    LONGEST_VALUE,
    agrees,
    draw_slip,
    is_said,
    list_known,
)
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, is_small_word, qualifies
from crosswind.injectors.operators.user.values.spoken_values import find_spoken
from crosswind.injectors.operators.user.values.sure_values import (
    LEADS,
    NUMBERED,
    PLACES,
    PLURAL,
    SureValues,
)
from crosswind.injectors.operators.user.values.vague.place import (
    close_aside,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.packs.draw import Setting
from crosswind.injectors.packs.stems import JOINED
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import make_edit, splits
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.text.quotations import find_open_end
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.known_names import CALIFORNIAN, GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import ValueType

_NO_RIVALS = (ValueType.FILE, ValueType.EMAIL, ValueType.WORD)
"""Whose rival could be somebody else's, or would be nothing that anybody says."""
_COUNTERS = "张枚个個位名人间泊件台部本册冊次回点份条杯瓶双辆家封套块箱袋桶"
_MODEL, _UNIT = re.compile(r"[A-Za-z] ?$"), re.compile(r"[\u4e00-\u9fffA-Za-z%℃]")
"""What stands before a Chinese or Japanese number that is a model's, and behind one that measures."""
_ADJECTIVE = re.compile(r"(?!1\b)\d+[ -][a-z]+[^s]")
"""`45 minute`, which stands before a noun."""
_CAPITAL = re.compile(r"(?:[^.!?:;\n] |^)[A-ZÀ-Þ][\w'’-]*(?:,| and| of| the| of the| &| in| de)? $")
_GOES_ON = re.compile(r",? (?:and |of |the |of the |& |in |in the |de )?[A-Z\d]")
_ARABIC = re.compile(r"[\u0600-\u06ff]")


class Position(StrEnum):
    """Where a contradiction stands."""

    PLACE = "place"
    """In the value's place: the rival and what corrects it at once."""
    END = "end"
    """At the message's end: what puts the value in doubt."""
    SWAP = "swap"
    """The rival in the value's place, and what corrects it at the message's end."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A value of the user's and its rival."""

    value: str
    rival: str
    slip: str
    """The rival in the value's place, without the words that both end in: `13, sorry, 12 years`."""
    type: ValueType
    thing: str | None
    start: int
    end: int
    told: str
    """The value as a phrase in its place says it, with an article or a measure word that goes with it."""
    told_rival: str
    named: str
    """The value as a sentence of its own names it, with what it counts: `two guests`."""
    named_rival: str
    bare_rival: str
    """The rival beside the named value, which says what both are: `not 3, 2 guests`."""
    positions: tuple[Position, ...]
    alike: bool
    """Whether the text speaks another value that a bare correction could be for."""
    leads: bool
    """Whether more that belongs to it stands behind the value: a phrase in its place ends in it."""
    text: str

    def edit(
        self, position: Position, phrase: str, language: Language, *, apart: bool = False
    ) -> list[dict[str, Any]]:
        text = self.text
        if position is not Position.PLACE:
            edit = make_edit(len(text), "", _append(text, phrase, language, apart=apart))
            at = self.start + self.told.rindex(self.value)
            swap = [make_edit(at, self.value, self.rival)] if position is Position.SWAP else []
            return [*swap, edit]
        whole = phrase.endswith((self.told, ")", "）")) or language in JOINED
        told = phrase if whole else close_aside(phrase, text, self.end)
        return [make_edit(self.start, text[self.start : self.end], told)]


def _append(text: str, sentence: str, language: Language, *, apart: bool) -> str:
    missing = find_missing_mark(text, language)
    if apart and not text[-1:].isspace():
        return f"\n{sentence}"
    return f"{missing}{sentence}" if missing else join_sentence(text, sentence, language)


def join_sentence(text: str, sentence: str, language: Language) -> str:
    """A sentence as it is appended to a text: on a line of its own where the text ends in none."""
    if not text or text[-1].isspace():
        return sentence
    finished = text.rstrip("\"'”’)»")[-1:] in (*".!?…。！？؟:：",)
    if not finished or "\n" in text:
        return f"\n{sentence}"
    return sentence if language in UNSPACED else f" {sentence}"


def find_contradictions(target: UserTarget, rng: SeededRandom, setting: Setting) -> Iterator[Contradiction]:
    """The values that have rivals, in random order."""
    text = target.text
    spoken = [
        one for one in find_spoken(target) if one.type not in _NO_RIVALS and len(one.text) <= LONGEST_VALUE
    ]
    if not spoken:
        return
    known = list_known(target)
    values = SureValues(text, spoken, ToolList.of(target.tools), setting.language, setting.tools)
    taken, opened = {one.text for one in spoken}, _list_opened(target)
    for one in rng.shuffled(spoken):
        if one.type in opened or not values.is_sure(one):
            continue
        rival = draw_slip(text, one, rng, setting.language, known.get(one.type, ()), taken)
        if rival is not None:
            found = _contradict(target, one, rival, values, spoken, setting.language)
            if found.positions:
                yield found


def _contradict(
    target: UserTarget,
    one: Mention,
    rival: str,
    values: SureValues,
    spoken: list[Mention],
    language: Language,
) -> Contradiction:
    """A value with its rival, and the positions where the two can stand, maybe none."""
    text, positions = target.text, list[Position]()
    closed = find_open_end(target.own) is None
    slip = _shorten(text, one.text, rival)
    start, end, told, told_rival = _span(text, one, slip, language)
    inside = _may_stand_inside(text, one, start, end, rival, language)
    inside = inside and not splits(target.protected, start) and not splits(target.protected, end)
    inside = inside and not (values.are_searched and one.type is ValueType.NAME)
    behind = _find_noun_behind(text, one, language)
    if inside and not _is_behind(one, spoken) and not (_is_within(text, one, language) and not behind):
        positions.append(Position.PLACE)
    named = _name_both(text, one, rival, language)
    leads = _leads(text, one, end, language) or _is_before(one, spoken)
    region = _find_region(text, one, rival)
    if region:
        named, leads = (f"{one.text}{region}", f"{rival}{region}"), False
    whole = _stands_whole(text, one, named, language, leads=leads)
    if inside and closed and whole and not splits(target.protected, len(text)):
        positions.append(Position.SWAP)
    if closed and named is not None:
        positions.append(Position.END)
    value_named, rival_named = named or _name_option(text, one, rival, language)
    if behind and end == one.end and start == one.start:
        before = find_word_before(text, start)
        lead = f"{before} " if before in ("a", "an", "the") else ""
        start, end, slip = start - len(lead), end + len(behind), rival
        told, told_rival = f"{lead}{told}{behind}", f"{lead}{told_rival}{behind}"
    return Contradiction(
        one.text,
        rival,
        slip,
        one.type,
        one.thing,
        start,
        end,
        told,
        told_rival,
        value_named,
        rival_named,
        rival if one.type is ValueType.NUMBER else slip if one.type in _SHORTENED else rival_named,
        tuple(positions),
        _has_like(target, one, language),
        (leads and not behind) or region != "",
        text,
    )


_SHORTENED = (ValueType.DURATION, ValueType.MONEY, ValueType.NAME)


def _is_within(text: str, one: Mention, language: Language) -> bool:
    """Whether it stands within a phrase that a correction would cut in two: `my Boston to New York trip`,
    `the Chinese fiction section`."""
    if language is not Language.EN:
        return False
    if one.type is ValueType.PLACE:
        return find_word_before(text, one.start) in DETERMINERS
    return one.type is ValueType.OPTION and qualifies(text, one.end)


def _shorten(text: str, value: str, rival: str) -> str:
    """The rival without the words in which both end, where what is left says something of its own."""
    words, ends = rival.split(" "), value.split(" ")
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words[::-1], ends[::-1], strict=False))
    )
    short = " ".join(words[: len(words) - shared]).rstrip(",")
    return short if short and not is_said(text, short) and not is_said(value, short) else rival


def _name_option(text: str, one: Mention, rival: str, language: Language) -> tuple[str, str]:
    """An option and its rival by themselves, or with the noun that they stand before: `the rear door`."""
    if _is_noun(text, one, language):
        article = find_word_before(text, one.start)
        return f"{article} {one.text}", f"{article} {rival}"
    noun = _NOUN.match(text, one.end)
    if language is not Language.EN or one.type is not ValueType.OPTION or noun is None:
        return one.text, rival
    if not qualifies(text, one.end):
        return one.text, rival
    before = find_word_before(text, one.start)
    if before not in _BEFORE_OPTIONS or qualifies(text, noun.end()):
        return one.text, rival
    lead = f"{before} " if before in ("a", "an", "the") else ""
    return f"{lead}{one.text}{noun[0]}", f"{lead}{rival}{noun[0]}"


def _find_noun_behind(text: str, one: Mention, language: Language) -> str:
    """The noun that an option stands before, and that is said again with it: `a standard ride, sorry, a
    shared ride`."""
    noun = _NOUN.match(text, one.end)
    single = language is Language.EN and one.type is ValueType.OPTION and noun is not None
    return noun[0] if single and noun and qualifies(text, one.end) and not qualifies(text, noun.end()) else ""


_NOUN = re.compile(r" [a-z]{3,}\b")
_BEFORE_OPTIONS = frozenset(("a", "an", "the", "with", "in", "and"))
"""Words before an option that say where what it belongs to begins."""


def _list_opened(target: UserTarget) -> set[ValueType]:
    """The types of the user's values that other noise has left open: a value of such a type at the end would
    be taken for the one that is missing."""
    if target.clean is None or target.clean == target.text:
        return set()
    mentions = find_mentions(target.clean, ToolList.of(target.tools))
    told = _OR_TWO.sub("", target.text)
    return {one.type for one in mentions if not is_said(told, one.text)}


_OR_TWO = re.compile(r"\w+ or two\b")
"""The last word of a value that has become vague: of `next week` in `the next week or two`."""


def _has_like(target: UserTarget, one: Mention, language: Language) -> bool:
    """Whether another value is of its kind, so that a correction has to say which one it is for."""
    text, kinds = target.text, next((kinds for kinds in _LIKE if one.type in kinds), (one.type,))
    noun = PLURAL.match(text, one.end) if language is Language.EN else None
    for other in find_mentions(text, ToolList.of(target.tools)):
        if other.start == one.start or other.type not in kinds:
            continue
        counted = PLURAL.match(text, other.end) if noun is not None else None
        # What they count tells two numbers apart: `2 guests`, `4 nights`.
        if noun is None or counted is None or counted[0].lower() == noun[0].lower():
            return True
    if one.type in (ValueType.PLACE, ValueType.NAME) and any(
        word[0] in _NAMES and not one.start <= word.start() < one.end for word in _CAPITALISED.finditer(text)
    ):
        return True  # `Tom owes me 50, send it to Anna`, with one person among the values.
    if noun is None and _BARE.fullmatch(one.text) and language not in UNSPACED:
        # `May 4 ... I meant 2!` could be for the day.
        return any(found.start() != one.start for found in _BARE.finditer(text))
    digits = _LONG_DIGITS.fullmatch(one.text)
    return digits is not None and any(
        found.start() != one.start and len(found[0]) == len(one.text) for found in _LONG_DIGITS.finditer(text)
    )


_LIKE = ((ValueType.ID, ValueType.NUMBER), (ValueType.PLACE, ValueType.NAME))
_NAMES = PLACES | frozenset(GIVEN_NAMES)
_CAPITALISED = re.compile(r"[A-ZÀ-Þ]\w+")
_BARE = re.compile(r"\d+(?:[.,]\d+)*")
"""A number without a word for what it is."""
_LONG_DIGITS = re.compile(r"(?<!\d)\d{4,}(?!\d)")


_MOMENTS = (ValueType.DATE, ValueType.TIME)
_NEAR = 4
"""Characters between a day and a time that may be one value: `Friday at 5 pm`."""


def _is_behind(one: Mention, spoken: list[Mention]) -> bool:
    """Whether it is a day or a time right behind another one."""
    return one.type in _MOMENTS and any(
        other.type in _MOMENTS and 0 <= one.start - other.end <= _NEAR for other in spoken
    )


def _is_before(one: Mention, spoken: list[Mention]) -> bool:
    return one.type in _MOMENTS and any(
        other.type in _MOMENTS and 0 <= other.start - one.end <= _NEAR for other in spoken
    )


def _span(text: str, one: Mention, rival: str, language: Language) -> tuple[int, int, str, str]:
    """What gives way in the value's place, and how the value and its rival are told there."""
    if language in UNSPACED and one.type is ValueType.NUMBER and text[one.end : one.end + 1] in (*_COUNTERS,):
        counter = text[one.end]
        return one.start, one.end + 1, f"{one.text}{counter}", f"{rival}{counter}"
    start, words = one.start, _CARRIED.get(language, frozenset())
    if one.type in (*_MOMENTS, ValueType.PLACE) or language is Language.ES:
        while (before := find_word_before(text, start)) in words:
            start -= len(before) + 1
    if _is_noun(text, one, language):
        start -= len(find_word_before(text, start)) + 1
    lead = text[start : one.start]
    return start, one.end, f"{lead}{one.text}", f"{lead}{rival}"


_MASS = ("action", "fantasy", "fiction", "horror", "music", "news")


def _is_noun(text: str, one: Mention, language: Language) -> bool:
    """Whether an option is a noun by itself, which is said again with its article: `a comedy`."""
    article = language is Language.EN and find_word_before(text, one.start) in ("a", "an")
    return article and one.type is ValueType.OPTION and not qualifies(text, one.end)


_CARRIED: Mapping[Language, frozenset[str]] = {
    Language.EN: frozenset(("the",)),
    Language.DE: frozenset("am dem den der im um".split()),
    Language.ES: frozenset("a el la las los".split()),
    Language.FR: frozenset("à le la".split()),
}
"""Words that belong to a value, and are said again with it: `the 3rd`, `a las 17:00`."""


def _name_both(text: str, one: Mention, rival: str, language: Language) -> tuple[str, str] | None:
    """The value and its rival as a sentence of their own names them; None where they would say too little."""
    if one.type is ValueType.NUMBER:
        if language in UNSPACED:
            counter = text[one.end : one.end + 1]
            return (f"{one.text}{counter}", f"{rival}{counter}") if counter in (*_COUNTERS,) else None
        noun = PLURAL.match(text, one.end) if language is Language.EN else None
        return (f"{one.text}{noun[0]}", f"{rival}{noun[0]}") if noun is not None else None
    if one.type in (ValueType.OPTION, ValueType.WORD) or month_of(one.text) is not None:
        return None
    if one.type is ValueType.DURATION and _ADJECTIVE.fullmatch(one.text):
        return None
    if language is Language.EN and one.type is ValueType.DATE and find_word_before(text, one.start) == "the":
        return f"the {one.text}", f"the {rival}"
    if one.type is ValueType.DATE and (year := _YEAR.search(one.text)) is not None:
        rival = rival.removesuffix(year[0])
    return name_value(one.text, one.type, language), name_value(rival, one.type, language)


_YEAR = re.compile(r"(?<=[a-z\d]),? \d{4}\Z")
"""The year of a date, which nobody says again to correct its day."""


def _is_measure(text: str, one: Mention) -> bool:
    """Whether a number has a unit behind it, `10公斤`, or is a model's: `iPhone 15`."""
    if one.type is not ValueType.NUMBER:
        return False
    behind = text[one.end : one.end + 1]
    counted = behind != "" and behind in _COUNTERS
    return _MODEL.search(text[: one.start][-2:]) is not None or (
        not counted and _UNIT.match(behind) is not None
    )


_BEFORE_VALUES = frozenset(
    """
    are be been enjoy enjoys ideally is like likes love loves mainly mostly prefer preferably preferred
    preferring prefers specifically strictly usually
    """.split()
)
"""Words behind which a value begins, as behind a verb that bids."""
_LABELS = frozenset(("id", "no", "number"))
"""Words behind which a value stands alone, with a capital as well: `Order ID 8812`."""


def _may_stand_inside(  # noqa: PLR0911
    text: str, one: Mention, start: int, end: int, rival: str, language: Language
) -> bool:
    glued = re.match(r"['’]s\b|[-/_@'’]\w", text[end : end + 3]) or re.search(
        r"[\w/_@#'’&-]$", text[:start][-1:], re.ASCII
    )
    if glued or (language in UNSPACED and _is_measure(text, one)):
        return False
    capital = _CAPITAL.search(text[max(0, start - 24) : start])
    order = language is Language.EN and find_word_before(text, start).lower() in LEADS | _LABELS
    if capital and one.type is ValueType.PLACE and capital[0].endswith(" in "):
        capital = None  # `a tour of the Prado in Madrid`
    if (capital and not order) or re.search(r"\d[ ,]+$", text[max(0, start - 4) : start]):
        return False  # A part of a longer name or number.
    if language is Language.AR:
        return not _ARABIC.match(text[start - 1 : start]) and not _ARABIC.match(text[end : end + 1])
    before = find_word_before(text, start)
    named = one.type in (ValueType.OPTION, ValueType.PLACE, ValueType.NAME) or month_of(one.text) is not None
    called = before in (one.thing or "").split()
    alone = one.type is ValueType.NUMBER and not qualifies(text, end) and not called
    if before in NUMBERED or (called and one.type is ValueType.OPTION):
        named = alone = False
    begins = is_small_word(before) or before in LEADS | _BEFORE_VALUES
    if language is Language.EN and (named or alone) and before and not begins:
        return False  # What stands before may belong to it: an extra large one.
    if language is Language.EN and not agrees(before, rival):
        return False
    if _is_noun(text, one, language) and rival in _MASS:
        return False  # `a comedy`, but not `a horror`
    if one.type is ValueType.NUMBER and one.text.isalpha() and one.text[0].isupper():
        return False  # It begins a sentence.
    return not (
        language is Language.FR and re.search(r"(?:\b[dlDL]|qu)['’]$", text[max(0, start - 4) : start])
    )


def _leads(text: str, one: Mention, end: int, language: Language) -> bool:
    if language in UNSPACED or _GOES_ON.match(text, end):
        return True
    return qualifies(text, end) if language is Language.EN else find_next_word(text, end) != ""


def _stands_whole(
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


def _find_region(text: str, one: Mention, rival: str) -> str:
    """The state behind a city, where its rival lies there, too: `, CA`."""
    found = _STATE.match(text, one.end)
    return found[0] if found is not None and {one.text, rival} <= CALIFORNIAN else ""


_STATE = re.compile(r", (?:CA|Calif(?:\.|ornia))(?![\w-])")


def name_value(value: str, kind: ValueType, language: Language) -> str:
    """A value as a sentence of its own names it: with the article that its language gives a date."""
    if not value[:1].isdigit() or kind not in (ValueType.DATE, ValueType.TIME):
        return value
    written = re.search(r"[^\W\d]{3}", value) is not None
    if language is Language.FR and kind is ValueType.DATE and written:
        return f"le {value}"
    if language is Language.ES and kind is ValueType.DATE and written:
        return f"el {value}"
    if language is Language.ES and kind is ValueType.TIME:
        return f"la {value}" if re.match(r"1\b", value) else f"las {value}"
    return value
