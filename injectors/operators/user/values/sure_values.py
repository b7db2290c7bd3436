"""The values of a message that are surely of their kind, told once and by themselves. Only there does a slip
of the user's read as one, and leaves whole what a call needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, GERUNDS, SURE
from crosswind.injectors.operators.user.values.ranges import is_of_range
from crosswind.injectors.operators.user.values.small_words import GO_ON as GO_ON_EN
from crosswind.injectors.operators.user.values.small_words import NO_PLURALS, is_small_word
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.languages import GO_ON, is_bound
from crosswind.injectors.operators.user.values.vague.place import (
    find_next_word,
    find_word_before,
)
from crosswind.injectors.packs.domains import list_text_words
from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.entities import find_whole
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.text.negations import is_denied
from crosswind.injectors.text.quotations import find_literals
from crosswind.injectors.text.sentences import count_words, split_sentences
from crosswind.injectors.values.calendar import find_cycle
from crosswind.injectors.values.known_names import CITIES, COUNTRIES, GIVEN_NAMES, GROUPS
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_once, list_parameters, split_name

CITY_NAMES = frozenset(city for cities in CITIES.values() for city in cities)
PLACES = CITY_NAMES | frozenset(COUNTRIES)
NUMBERED = frozenset(
    "account booking card case claim contract employee id invoice issue number order patient policy post"
    " request reservation ticket tweet".split()
)
"""Nouns behind which a number is a name."""
PLURAL = re.compile(
    r" (?:(?:big|large|medium|new|news|small|first|latest) )?"
    rf"{NO_PLURALS}(?:[a-z]+(?<![su])s|people|percent)\b"
)
NO_SLIPS = frozenset(
    """
    all and any both close closed false left no none now off on one open or right start stop today true yes
    """.split()
)
"""What nobody corrects: words that say little, or that mean something else where they stand."""

_KNOWN = PLACES | frozenset(name for group in GROUPS for name in group if len(name) > 3)
_ADDRESSED = frozenset("ask assign call contact email invite message tell to".split())
_CITY = re.compile(r"[A-Z][a-z]{3,}")
_CITY_WORDS = frozenset("city destination town".split())
_SERIES = frozenset("last latest next past previous first coming following this top".split())
"""Words that make one value with what follows: `the last 3 days`. So does `of`: `the week of May 5`."""
LEADS = (SURE | AMBIGUOUS | GERUNDS.keys()) | frozenset(
    """
    about approximately around at exactly first last latest least like nearly need needs next only past
    previous roughly top want wants
    """.split()
)
"""English words behind which a value begins."""
_TO = frozenset("a à auf bis de en hasta in jusqu'à nach por sur um von vers إلى على في".split())
_OF = frozenset("de del du des la le los las les au l d von vom der".split())
_ANDS = frozenset("y e o a u und oder et ou bis hasta à au و أو".split())
_PARTS_OF_DAY = frozenset("por früh morgen mittag abend nachmittag matin soir après midi".split())
_ROUTE = ("a", "à", "hasta", "para", "pour", "vers")
_IDEOGRAPH = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]")
_MOVES = frozenset("从到去在住飞来和与订往至给找查为由")
"""What may stand before a Chinese place or person without being a part of its name."""
_ADMINISTERED = (*"市区县省州镇路街港湾站都府県町村駅", "大学", "机场", "空港")
"""What makes a Chinese or Japanese place the first part of a longer name: `杭州市西湖区`."""
_MODEL = re.compile(r"(?:\w[A-Z]\w*|[^\s.!?¿¡:\n] [A-ZÀ-Þ]\w*) \Z")
"""What a number behind it is a part of, in other languages than English: `l'iPhone 6`."""
_LISTED = re.compile(r"(?:,|，|、)?\s*(?:,|、|and|or|und|oder|y|o|et|ou|与|和|或|と|-|–)?\s*", re.IGNORECASE)
_RANGED = re.compile(
    r"(?:,|，|、)?\s*(?:,|、|and|or|und|oder|y|o|et|ou|与|和|或|と|-|–|~|～|to|till?|until|through|thru|bis|hasta"
    r"|al?|à|au|到|至|から|إلى)?\s*(?:the |el |le )?",
    re.IGNORECASE,
)
_NO_RANGES = (ValueType.PLACE, ValueType.NAME, ValueType.OPTION, ValueType.ID)
_LONGEST_GAP = 10
_CALLED = re.compile(r"\b(?:name(?: is|['’]s)|named|called) \Z", re.IGNORECASE)
_OPENS_LIST = re.compile(r"[:\[({$€£#/+*^-] *\Z")
_CLOSES_LIST = re.compile(r" ?[+*^\])=<>]")
_NAME = re.compile(r" (?!I\b)[A-Z]")
_NUMBER_BEFORE = re.compile(r"\d[\d.,]*[,;] *\Z")
_NUMBER_BEHIND = re.compile(r" ?[,;] ?[-\d]|[.:]\d")
_ITEMS_BEHIND = re.compile(r"(?: [a-z'-]+){1,3}(?: ?:|,? (?:namely|say)\b| ?[(\[])")
"""What a number counts, and that these are listed."""
_DIGIT = re.compile(r"\d")

_FREE_TEXTS = frozenset(
    """
    body caption comment content description details keyword keywords message note query question reason
    search status subject text title topic
    """.split()
)
"""Words of parameters that take what the user says, word for word."""
_SEARCHED = frozenset("keyword keywords query question search".split())
PASSED_ON = CaselessPattern(
    r"\b(?:saying|says|titled?|subject|description|note|content|caption|about|reads?|mentioning|stating|remind"
    r"|search(?:es|ing)?|look(?:ing)? up|google|query|comment(?:ing)?|tweet|post|announce"
    r"|(?:tell|message|email|text|send|write|inform|notify|know|ticket)\b[^.!?\n]{0,60}?(?:\bthat|:)"
    r"|erinner|such|schreib|sag|betreff|titel|recuérd|busca|escrib|dile|título|asunto|rappel|cherch|recherch"
    r"|écri|préviens|prévenir|titre|objet|mensaje|env[ií]|manda|mánda|diciendo|avis|envoie|nachricht|schick|bescheid|informier)|[:：]|搜|提醒|告诉|标题|内容|発信|検索|伝え|件名|リマインド|ابحث|ذكر|اكتب|أخبر|عنوان"
)
"""What leads up to a text that is passed on."""


class SureValues:
    """Tells of a message's values whether they are sure. What it needs of the text is read once."""

    def __init__(
        self,
        text: str,
        spoken: Sequence[Mention],
        tools: ToolList,
        language: Language,
        served: frozenset[str] = frozenset(),
    ) -> None:
        """`served` are the words of the tools' names and descriptions."""
        self._text, self._lower, self._language = text, text.lower(), language
        self._listed = frozenset(_find_listed(text, spoken))
        self.are_searched = not all(_SEARCHED.isdisjoint(one.words) for one in list_parameters(tools))
        """Whether a tool takes the user's question as it stands."""
        self._takes_texts = not all(_FREE_TEXTS.isdisjoint(one.words) for one in list_parameters(tools))
        told = self._takes_texts or language is not Language.EN
        self._passed_on = _find_passed_on(text) if told else []
        self._acts, named = _list_named(tools.key)
        self._served = served | named

    def is_sure(self, one: Mention) -> bool:
        said = one.text.lower()
        twice = find_whole(self._lower, said, find_whole(self._lower, said, 0) + 1) >= 0
        passed_on = any(start <= one.start < end for start, end in self._passed_on)
        if said in NO_SLIPS or twice or passed_on or one.start in self._listed:
            return False
        if is_denied(self._text, one.start, one.end, self._language):
            return False
        if _OPENS_LIST.search(self._text, max(0, one.start - 3), one.start):
            return False
        if _CLOSES_LIST.match(self._text, one.end, one.end + 2) or self._belongs(one):
            return False
        english = self._language is Language.EN and one.type is not ValueType.OPTION
        if english and _NAME.match(self._text, one.end):
            return False  # `Seven Samurai`, `Denver Broncos`, `3 pm EST`.
        return self._is_of_kind(one)

    def _belongs(self, one: Mention) -> bool:
        """Whether what stands before it, or right behind it, may be a part of the same value: `type 2
        diabetes`, `early May`, `$5k`, `新大阪`."""
        text, language = self._text, self._language
        if is_bound(text, one, language):
            return True
        if language in UNSPACED:
            ahead = text[one.start - 1 : one.start]
            named = one.type in (ValueType.PLACE, ValueType.NAME)
            within = text.startswith(_ADMINISTERED, one.end)
            return named and (within or (_IDEOGRAPH.match(ahead) is not None and ahead not in _MOVES))
        before = find_word_before(text, one.start)
        if text[one.end : one.end + 1].isalnum() or is_of_range(text, one):
            return True
        if language is Language.EN:
            known = one.type is ValueType.OPTION or before in (one.thing or "").split()
            return before != "" and not (
                known or before in LEADS or before in NUMBERED or is_small_word(before)
            )
        if _DIGIT.search(one.text) is None and not self._is_plain(one, before):
            return True
        model = _MODEL.search(text, max(0, one.start - 32), one.start) is not None
        alone = _ends(text, one.end, language) and before not in _TO
        return one.type is ValueType.NUMBER and (model or alone)

    def _is_plain(self, one: Mention, before: str) -> bool:
        """Whether a value without digits surely stands by itself: a day, or a place to or in which."""
        following = find_next_word(self._text, one.end).lower()
        if one.type is ValueType.DATE:
            return before not in _OF and following not in _OF | _PARTS_OF_DAY | _ANDS
        ends = _ends(self._text, one.end, self._language) and following not in _OF
        if before == "de":
            return ends and following in _ROUTE
        return one.type is ValueType.PLACE and ends and before in _TO and not self._takes_texts

    def _is_called(self, one: Mention) -> bool:
        """Whether somebody, or something, is called like a city: `my name is Paris`."""
        named = is_city(one) or one.text in _KNOWN
        ahead = max(0, one.start - _LONGEST_GAP)
        return named and _CALLED.search(self._text, ahead, one.start) is not None

    def _is_of_kind(self, one: Mention) -> bool:
        before, english = find_word_before(self._text, one.start), self._language is Language.EN
        if one.type is not ValueType.DATE and find_cycle(one.text) is not None:
            return False  # A day that is taken for something else.
        match one.type:
            case ValueType.PLACE | ValueType.NAME if english and before == "the":
                sure = False  # `the Hilton`
            case ValueType.PLACE | ValueType.NAME if english and self._is_called(one):
                sure = False
            case ValueType.PLACE:
                told = english and before in ("in", "near") and _is_located(one)
                sure = one.text not in GIVEN_NAMES and (is_city(one) or one.text in _KNOWN or told)
            case ValueType.NAME if one.text in _KNOWN or is_city(one):
                sure = not english or is_small_word(before) or before in LEADS
            case ValueType.NAME:
                person = not PERSONS.isdisjoint((one.thing or "").split()) and before != "with"
                named = one.text.partition(" ")[0] in GIVEN_NAMES and count_words(one.text) <= _MOST_NAMES
                sure = named and (person or before in _ADDRESSED)
            case ValueType.OPTION:
                sure = self._is_chosen(one, before)
            case ValueType.DURATION | ValueType.TIME:
                sure = before not in _SERIES
            case ValueType.DATE:
                sure = not english or before not in _SERIES | {"of"}
            case ValueType.NUMBER:
                sure = _is_number_alone(self._text, one, english) and not self._is_told(one, before)
            case _:
                sure = True
        return sure

    def _is_chosen(self, one: Mention, before: str) -> bool:
        """Whether an option is what the user chooses, and a rival can stand in its place: none that a tool
        is named for, that qualifies what no tool knows, or that an article agrees with."""
        if self._language is not Language.EN:
            adjective = self._language is Language.DE and one.text[:1].islower()
            return adjective or before.lower() not in _GENDERS.get(self._language, ())
        noun = _QUALIFIED.match(self._text, one.end)
        qualified = noun is not None and noun[1] not in GO_ON_EN
        said = one.text.lower()
        apart = before in _PREPOSITIONS or (noun is not None and qualified and noun[1] not in self._acts)
        if not apart and not self._acts.isdisjoint(said.split()):
            return False  # The fuel that `fill_fuel_tank` fills.
        if qualified and noun is not None and said not in _FOR_ALL and not self._knows(noun[1]):
            return False  # A business meeting, where a flight has a business class.
        return qualified or before not in ("", "the", "my")

    def _knows(self, noun: str) -> bool:
        return noun in self._served or noun.removesuffix("s") in self._served or f"{noun}s" in self._served

    def _is_told(self, one: Mention, before: str) -> bool:
        """Whether a number counts what is only told of: `two flights were late`, `and five cousins`."""
        counted = PLURAL.match(self._text, one.end) if self._language is Language.EN else None
        if counted is None:
            return False
        if _TOLD.match(self._text, counted.end()):
            return True
        beside = before in ("and", "with") and not _DIGIT.search(one.text)
        return beside and not self._knows(counted[0].split()[-1])


@lru_cache(256)
def _list_named(keyed: ToolListKey) -> tuple[frozenset[str], frozenset[str]]:
    """The words of the tools' names, and those with the words of their parameters."""
    acts = frozenset(word for tool in keyed.tools for word in split_name(tool.name))
    parameters = list_once(keyed)
    chosen = {word for one in parameters for option in one.options for word in option.lower().split()}
    described = {word for tool in keyed.tools for word in _list_described(tool.parameters)}
    return acts, acts | chosen | described | {word for one in parameters for word in one.words}


def _list_described(schema: Mapping[str, Any]) -> Iterator[str]:
    """The words in which a tool describes its parameters."""
    properties = schema.get("properties")
    for member in properties.values() if isinstance(properties, Mapping) else ():
        if isinstance(member, Mapping) and isinstance(member.get("description"), str):
            yield from list_text_words(member["description"])


_PREPOSITIONS = frozenset("as at by for from in of on to with".split())
_FOR_ALL = frozenset(
    """
    advanced american annual beginner black blue brown cheap chinese cold daily deluxe expensive extra fast
    female french gray green grey high hot indian intermediate italian japanese large local long low luxury
    male medium mexican monthly new old orange pink purple quarterly red short silver slow small spanish
    standard thai vegan vegetarian weekly white yearly yellow
    """.split()
)
"""Options that stand before any noun, and their rivals too."""


_TOLD = re.compile(
    r" (?:(?:already|earlier|have|has|had|also|just) )?"
    r"(?:was|were|are|got|failed|came|went|said|did|paid|arrived|left|cancelled|canceled|been)\b"
)
"""What is said of something that the user doesn't ask for."""
_QUALIFIED = re.compile(r" ([a-z]{3,})\b")
_GENDERS = {
    Language.DE: frozenset(
        "am beim das dem den der des die ein eine einem einen einer im ins vom zum zur".split()
    ),
    Language.ES: frozenset("al del el la los las un una".split()),
    Language.FR: frozenset("au aux du la le les un une".split()),
}
"""Articles, and what is contracted with one: a rival may be of another gender, `im Loge`."""

_MOST_NAMES = 3


def is_city(one: Mention) -> bool:
    """Whether it surely is a city, by its parameter and its letters."""
    named = not _CITY_WORDS.isdisjoint((one.thing or "").split())
    return named and _CITY.fullmatch(one.text) is not None


def _is_located(one: Mention) -> bool:
    """Whether its parameter takes a place, of which nothing says that it is a city."""
    return not {"location", "place"}.isdisjoint((one.thing or "").split()) and bool(_CITY.fullmatch(one.text))


def _ends(text: str, end: int, language: Language) -> bool:
    """Whether no noun follows that the value counts, or that its name goes on with."""
    following = find_next_word(text, end).lower()
    return following == "" or following in GO_ON.get(language, ())


def _find_listed(text: str, spoken: Iterable[Mention]) -> Iterator[int]:
    """The places of those that are listed, or the ends of a range: nothing but a comma, an `and` or a `to`
    stands between two of a kind."""
    by_type: dict[ValueType, list[Mention]] = {}
    for one in spoken:
        by_type.setdefault(one.type, []).append(one)
    for kind, mentions in by_type.items():
        for first, second in pairwise(sorted(mentions, key=lambda one: one.start)):
            gap = text[first.end : second.start]
            joined = _LISTED if kind in _NO_RANGES else _RANGED
            if len(gap) <= _LONGEST_GAP and joined.fullmatch(gap):
                yield from (first.start, second.start)


def _find_passed_on(text: str) -> list[tuple[int, int]]:
    """What goes into a text that a tool takes as it is, to the end of its sentence: a message, a title, a
    reminder, what is searched for."""
    quoted = [one.start for one in find_literals(text)]
    sentences = split_sentences(text)
    found = [(PASSED_ON.search(text, start, end), end) for start, end in sentences]
    colon = next((match.end() for match, _ in found if match is not None and match[0][-1:] in ":："), None)
    if colon is not None:
        return [(colon, len(text))]
    return [
        (match.end(), end)
        for match, end in found
        if match is not None and not any(0 <= at - match.end() <= _LONGEST_GAP for at in quoted)
    ]


def _is_number_alone(text: str, one: Mention, english: bool) -> bool:
    """Whether a number counts something or stands by itself. One in words surely counts
    before its noun, in English."""
    if _NUMBER_BEFORE.search(text, max(0, one.start - 12), one.start):
        return False
    if _NUMBER_BEHIND.match(text, one.end, one.end + 3) or _ITEMS_BEHIND.match(text, one.end):
        return False
    if _DIGIT.search(one.text) is None:
        counts = english and PLURAL.match(text, one.end) is not None
        return counts and find_word_before(text, one.start) != "the"
    return True
