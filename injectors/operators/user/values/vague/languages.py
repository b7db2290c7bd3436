"""Where vague words fit in a sentence of the other languages (docs/phrase-packs.md has each one's rules)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from crosswind.injectors.operators.user.values.vague import english
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    accept_all,
    close_aside,
    ends_clause,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.calendar import NEAR_DAYS
from crosswind.injectors.values.coarse import read_count
from crosswind.injectors.values.known_names import CITIES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_MOMENTS = (ValueType.DATE, ValueType.TIME)
_WHERE_AND_WHEN = (*_MOMENTS, ValueType.PLACE)
_QUALIFIED = (ValueType.OPTION, ValueType.NAME, ValueType.PLACE, ValueType.FILE, ValueType.WORD)
_CITIES = frozenset(city for cities in CITIES.values() for city in cities)
_IN_WORD = re.compile(r"[\w/_@#'’-]")


def find_place(text: str, one: Mention, language: Language) -> Place | None:
    """The place of a value; None where no vague words fit."""
    foreign = language is not Language.EN
    near = foreign and (one.text.lower() in _NEAR or _is_code(text, one))
    bound = near or one.text.lower() in _TODAY or is_bound(text, one, language)
    if one.type is ValueType.NAME and foreign and one.text in _CITIES:
        one = msgspec.structs.replace(one, type=ValueType.PLACE)
    if bound:
        return None
    return _find_numbered(text, one, language) or _FINDERS[language](text, one)


def _is_code(text: str, one: Mention) -> bool:
    """Whether it is a postcode before its town, letters of a plate, or a firm: no count, and no person."""
    if one.type is ValueType.NUMBER:
        postcode = _POSTCODE.fullmatch(one.text) is not None
        return postcode and find_next_word(text, one.end)[:1].isupper()
    return one.type is ValueType.NAME and (one.text.isupper() or "&" in one.text)


_POSTCODE = re.compile(r"\d{3}(?!00)\d\d")


def _find_numbered(text: str, one: Mention, language: Language) -> Place | None:
    """`meine Bestellung 88213` is enough without its number."""
    noun, digits = _OWNED.get(language), one.type is ValueType.NUMBER and _LONG_NUMBER.fullmatch(one.text)
    if noun is None or not (one.type is ValueType.ID or digits) or _JOINED.match(text, one.end):
        return None
    found = noun.search(text, max(0, one.start - _LONGEST_NOUN), one.start)
    if found is None:
        return None
    return Place(found.end("noun"), one.end, dropped="", type=ValueType.ID, value=(one.start, one.end))


_JOINED = re.compile(r"[\w/_@#'’-]", re.ASCII)
_LONG_NUMBER = re.compile(r"\d{4,}")
_LONGEST_NOUN = 40
_OWNED: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(
        r"\b(?P<noun>(?:meine[nrms]?|mein|die|der|den|dem|das|unsere[nrms]?) [A-ZÄÖÜ][a-zäöüß]+)"
        r"(?: (?:Nr\.|Nummer|mit der Nummer))? #?$"
    ),
    Language.ES: re.compile(r"\b(?P<noun>(?:mi|el|la|nuestr[oa]) [a-záéíóúñ]{4,})(?: (?:número|nº))? #?$"),
    Language.FR: re.compile(r"\b(?P<noun>(?:ma|mon|la|le|notre) [a-zéèêç]{4,})(?: (?:numéro|n°))? #?$"),
    Language.ZH: re.compile(r"(?P<noun>订单|预订|快递|包裹|工单|账户)(?:号|编号)?#?$"),
    Language.JA: re.compile(r"(?P<noun>注文|予約|荷物|チケット|口座)(?:番号)?#?$"),
    Language.AR: re.compile(r"(?P<noun>[\u0600-\u06ff]{3,})(?: رقم) #?$"),
}
"""Nouns that a user calls theirs, and the words for `number` before an id."""


_NEAR = frozenset(day for days in NEAR_DAYS.values() for day in days)
"""Days told from today, for which only English has less exact words."""
_TODAY = frozenset(days[0] for name, days in NEAR_DAYS.items() if "," not in name)
"""Which nobody tells less exactly."""


_BEFORE: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(
        r"\b(?:(?:früh|morgens?|vormittags?|mittags?|nachmittags?|abends?|nachts?)(?: (?:um|gegen|ab))?"
        r"|(?:nächst|kommend|dies|letzt|jed)e[nrms]?|hotel|herrn?|frau|dr\.|firma) $",
        re.IGNORECASE,
    ),
    Language.ES: re.compile(
        r"\b(?:doctora?|dra?\.|señora?|don|doña|hotel|calle|avenida|plaza|próximo|est[ea]|es[ea]|cada) $",
        re.IGNORECASE,
    ),
    Language.FR: re.compile(
        r"\b(?:docteur|dr|monsieur|m\.|madame|mme|hôtel|rue|avenue|place|gare|aéroport|ce|chaque) $",
        re.IGNORECASE,
    ),
    Language.ZH: re.compile(r"[上下本这每]$"),
    Language.JA: re.compile(r"(?:毎[朝晩日週]|[今朝夜]|今晩|夕方)$"),
}
_BEHIND: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(r" (?:uhr|früh|morgen|abend|nachmittag)\b", re.IGNORECASE),
    Language.ES: re.compile(r" (?:que viene|próximo|pasado|por la)\b"),
    Language.FR: re.compile(r" ?(?:prochain|dernier|matin|soir|h\b|heures?\b|°)"),
    Language.ZH: re.compile(r"[年月日号点时]"),
    Language.JA: re.compile(r"[年月日時]"),
}
_LONGEST_BOUND = 16
"""Characters before a value in which a word is looked for that it belongs to."""


_UNFINISHED = ("年", "Dr.", "Dr", "Frau", "Herr", "Herrn")
"""Ends of values that go on: a title before a name, a year before a month."""


def is_bound(text: str, one: Mention, language: Language) -> bool:
    """Whether the value is a part of a name or a phrase: `Frau Osei`, `nächsten Dienstag`, `2024年`."""
    if one.text.endswith(_UNFINISHED) or (language is Language.DE and _is_noun_of_state(text, one)):
        return True
    before, behind = _BEFORE.get(language), _BEHIND.get(language)
    if before is not None and before.search(text, max(0, one.start - _LONGEST_BOUND), one.start):
        return True
    return behind is not None and behind.match(text, one.end) is not None


def _is_noun_of_state(text: str, one: Mention) -> bool:
    """`in Zustellung`: German writes every noun with a capital."""
    return (
        one.type is ValueType.PLACE and find_word_before(text, one.start) == "in" and one.text not in _CITIES
    )


def _is_apart(text: str, one: Mention) -> bool:
    beside = text[max(0, one.start - 1) : one.start] + text[one.end : one.end + 1]
    return _IN_WORD.search(beside) is None


def _ends_phrase(text: str, end: int, small: frozenset[str]) -> bool:
    """Whether the value qualifies no noun behind it."""
    return ends_clause(text, end) or find_next_word(text, end).lower() in small


def _is_alone(entry: Entry) -> bool:
    """Whether it is an entry for a number that a noun follows."""
    return entry.fits == (ValueType.NUMBER,) or entry.text.endswith("{coarse}")


_DE_GO_ON = frozenset(
    """
    ab am an auf aus bei bis bitte für im in ist mit nach oder per sowie um und von vor zu zum zur als
    auch aber dass weil wenn ein eine einen kann können buchen anzeigen ändern schicken senden
    stornieren reservieren verschieben
    """.split()
)
_DE_UNITS = frozenset(
    """
    Grad Prozent Euro Dollar Kilometer Zentimeter Millimeter Meter Kilogramm Kilo Gramm Tonne Liter Milliliter
    Hektar Watt Volt Knoten
    """.split()
)
_DE_ID_NOUNS = (
    "bestellung",
    "buchung",
    "rechnung",
    "sendung",
    "ticket",
    "reservierung",
    "auftrag",
    "vertrag",
)
_DE_NO_OBJECT = frozenset("mit von aus bei zu seit nach als unter über maximal bis höchstens".split())
"""Words behind which no accusative stands, or a limit does."""
_DE_STAYING = frozenset("ab als an auf bis für mit nach seit von vor zu".split())
_DE_BOUND = frozenset("vom zum zur beim ans ins ein eine einen einem einer".split())
_DE_POSSESSIVES = frozenset("mein meine meinen dein ihr unser".split())
_DE_DROPPED = frozenset("am um im in an den dem der das die".split())


def _find_german(text: str, one: Mention) -> Place | None:
    start, end, before = one.start, one.end, find_word_before(text, one.start)
    if not _is_apart(text, one) or before in _DE_BOUND:
        return None
    if one.type in _WHERE_AND_WHEN:
        while before in _DE_DROPPED:
            start -= len(before) + 1
            before = find_word_before(text, start)
    elif before in _DE_DROPPED - {"am", "um", "im", "in", "an"} or before in _DE_POSSESSIVES:
        return None
    if one.type is ValueType.ID:
        return Place(start, end) if before.endswith(_DE_ID_NOUNS) else None
    if one.type is ValueType.NUMBER:
        noun = find_next_word(text, end)
        measured = not _DE_UNITS.isdisjoint((noun, noun.removesuffix("n")))
        counts = noun[:1].isupper() and not measured and not _is_couple(one)
        return Place(start, end, _is_alone if counts else _has_coarse)
    if one.type in _QUALIFIED and not _ends_phrase(text, end, _DE_GO_ON):
        return None

    def fits(entry: Entry) -> bool:
        first = entry.text.split()[0]
        if before in _DE_STAYING and one.type in _WHERE_AND_WHEN:
            return one.type in _MOMENTS and entry.text == "{coarse}"
        if one.type is ValueType.MONEY:
            # `Versicherungswert etwas Geld` is no German: behind a noun the amount is a name for it.
            return before not in _DE_NO_OBJECT and not _is_behind_noun(text, start)
        return first != "den"

    return Place(start, end, fits, lambda phrase, coarse: close_aside(phrase, text, end))


def _is_behind_noun(text: str, start: int) -> bool:
    """Whether a German noun stands before it: a word with a capital that begins no sentence."""
    return _DE_NOUN.search(text, max(0, start - _LONGEST_NOUN), start) is not None


_DE_NOUN = re.compile(r"[^\s.!?] [A-ZÄÖÜ][\w-]+:? \Z")


def _is_couple(one: Mention) -> bool:
    """Whether it is too small a number for `a few`."""
    return (read_count(one.text) or 0) < _FEW


_FEW = 3


def _has_coarse(entry: Entry) -> bool:
    return "{coarse}" in entry.text


_FR_GO_ON = frozenset(
    """
    à au aux avec chez dans de des du en et le la les ou par pour puis que qui sans sur vers depuis
    avant après s'il svp stp merci
    """.split()
)


_FR_ROUTE = re.compile(r"\b(?:de |d['’])[\w'’-]+(?: [\w'’-]+)? $")
_FR_UNITS = frozenset("degrés euros kilomètres litres mètres pourcents secondes".split())
_FR_STAYING = frozenset("avant après depuis dès jusqu'au pour vers".split())
_FR_LIMITS = frozenset("moins plus maximum environ".split())
_FR_BEFORE_PERSON = frozenset("à avec chez par pour".split())
"""Words behind which a name is a person's; behind a noun it may be a painter's or a shop's."""
_FR_CONTRACTED = ("de", "du", "des", "au", "aux")
_FR_OWNED = ("le", "la", "les", "un", "une", "mon", "ma", "ton", "ta", "votre", "cette", "ce")


_FR_TOLD = re.compile(r" qu(?:e\b|['’])")
"""Behind whom something is told: `écris à Florence que`."""


def _find_french(text: str, one: Mention) -> Place | None:
    start, end, before = one.start, one.end, find_word_before(text, one.start)
    where_or_when = one.type in _WHERE_AND_WHEN
    while where_or_when and before in ("à", "en", "dans", "le", "la"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    owned = not where_or_when and before in _FR_OWNED
    routed = _FR_ROUTE.search(text, max(0, start - 40), start) or _FR_TOLD.match(text, end)
    if one.type is ValueType.PLACE and routed:
        return None  # Where one goes, or who is told something, is no place where something is.
    reaches = one.type in (ValueType.NUMBER, ValueType.DURATION) and before == "à"
    if owned or reaches or before in _FR_CONTRACTED or not _is_apart(text, one):
        return None
    if one.type is ValueType.NUMBER:
        noun = find_next_word(text, end)
        counts = noun.endswith(("s", "x")) and noun not in _FR_UNITS and not _is_couple(one)
        if before in ("les", "des", "mes"):
            return Place(start, end, lambda entry: entry.text == "quelques") if counts else None
        return Place(start, end, _is_alone if counts else _has_coarse)
    attached = one.type in _QUALIFIED and not _ends_phrase(text, end, _FR_GO_ON)
    nobody = one.type is ValueType.NAME and before not in _FR_BEFORE_PERSON
    if attached or nobody or (one.type is ValueType.ID and before != "commande"):
        return None
    adverb = one.type is ValueType.PLACE and start < one.start

    def fits(entry: Entry) -> bool:
        if one.type is ValueType.PLACE:
            return adverb
        first = entry.text.split()[0]
        if one.type in _MOMENTS and before in _FR_STAYING:
            return first not in ("à", "un", "plutôt", "si")
        return first not in ("la", "le") or before not in _FR_LIMITS

    return Place(start, end, fits, lambda phrase, coarse: close_aside(phrase, text, end))


_ES_GO_ON = frozenset(
    """
    a al con de del desde en y e o u para por que si sin sobre hacia hasta el la los las un una antes
    después gracias
    """.split()
)
_ES_PREPOSITIONS = frozenset("a con de desde en para por sin sobre hacia hasta entre tras durante".split())
_ES_UNITS = frozenset("grados euros kilómetros litros metros minutos dólares pesos".split())
_ES_OWN = ("a", "en", "hacia", "por", "durante", "cuando", "más")


def _find_spanish(text: str, one: Mention) -> Place | None:
    start, end, before = one.start, one.end, find_word_before(text, one.start)
    if one.type in (ValueType.NUMBER, ValueType.NAME) and before in ("el", "la", "los", "las"):
        return None
    while before in ("el", "la", "los", "las"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if one.type in _MOMENTS and before in ("a", "en"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if one.type in (ValueType.MONEY, ValueType.NAME) and before == "de":
        return None
    if not _is_apart(text, one) or before in ("al", "del", "un", "una", "mi", "tu", "su"):
        return None
    noun = before.isalpha() and before not in _ES_PREPOSITIONS and len(before) > 3
    if one.type is ValueType.NUMBER:
        following = find_next_word(text, end)
        counts = following.endswith("s") and following not in _ES_UNITS and not _is_couple(one)
        return Place(start, end, _is_alone if counts else _has_coarse)
    attached = one.type in _QUALIFIED and not _ends_phrase(text, end, _ES_GO_ON)
    if attached or (one.type is ValueType.ID and not noun):
        return None

    def fits(entry: Entry) -> bool:
        first = entry.text.split()[0]
        if one.type is ValueType.OPTION:
            return (first in ("como", "según", "de", "a", "al")) == noun
        if one.type is ValueType.DATE and entry.text.startswith("{coarse}"):
            return before in _ES_PREPOSITIONS
        if one.type is ValueType.PLACE:
            return before == "en"
        if one.type is ValueType.NAME and not before:
            return False
        return not (before in _ES_PREPOSITIONS and first in _ES_OWN)

    return Place(start, end, fits, lambda phrase, coarse: close_aside(phrase, text, end))


_ZH_MEASURES = "张个位间件台部本次份条杯瓶双辆家名人盒套封只把块支箱袋桶斤排"
_ZH_LIMIT = re.compile(r"(?:超过|不到|低于|高于|至少|最多)$")
_ZH_BEHIND_PLACE = re.compile(r"$|[^\u4e00-\u9fff\w]|的|有|今|明天|后天|天气|酒店|餐厅|景点|这|哪")
"""What may stand behind a place that is no part of a longer name: not `杭州市西湖区`."""
_ZH_PART_OF_DAY = re.compile(r"[早晚]上?$|[上下中]午$|凌晨$|傍晚$")
_ZH_HEDGES = re.compile(r"大概|差不多|约莫|大约|左右|前后|上下")


def _find_chinese(text: str, one: Mention) -> Place | None:
    behind, ahead = text[one.end : one.end + 2], text[max(0, one.start - 3) : one.start]
    if re.search(r"[\w_/@-]", ahead[-1:] + behind[:1], re.ASCII) or "第" in ahead:
        return None
    whole = ahead[-1:] not in (*"从到去往至飞回", "") and _ZH_BEHIND_PLACE.match(text, one.end)
    of_day = one.type is ValueType.TIME and _ZH_PART_OF_DAY.search(ahead)
    if of_day or (one.type is ValueType.PLACE and not whole):
        return None
    if one.type is ValueType.NUMBER and (not behind or behind[:1] not in _ZH_MEASURES):
        return None
    if _ZH_LIMIT.search(ahead) or (one.type is ValueType.TIME and _ZH_HEDGES.match(behind)):
        return None
    hedged = _ZH_HEDGES.search(ahead + behind) or behind in ("以内", "以上", "以下")

    def fits(entry: Entry) -> bool:
        if entry.text.endswith("的") and behind[:1] == "的":
            return False
        if one.type is ValueType.NUMBER and "{coarse}" in entry.text and entry.text != "{coarse}":
            return not hedged
        return not (hedged and _ZH_HEDGES.search(entry.text))

    return Place(one.start, one.end, fits)


_JA_PARTICLE = re.compile(
    r"\s*(?:$|[。、！？!?,\n]|は|が|を|に|へ|で|と|から|まで|より|の|も|や|です|だ|くらい|ぐらい)"
)
_JA_COUNTERS = "枚名人個泊件本冊台回部点杯箱通匹着足席室組"


def _find_japanese(text: str, one: Mention) -> Place | None:
    end = one.end
    halved = one.type is ValueType.TIME and text[one.start - 2 : one.start] in ("午前", "午後")
    moves = one.type is ValueType.PLACE and text.startswith(("へ", "から", "まで", "行", "発"), end)
    if halved or moves:
        return None
    if re.search(r"[\w_/@-]", text[max(0, one.start - 1) : one.start], re.ASCII):
        return None
    if one.type is ValueType.NUMBER:
        counted = text[end : end + 1] in _JA_COUNTERS and text[end : end + 1] != "" and not _is_couple(one)
        return Place(one.start, end, lambda entry: "{" not in entry.text) if counted else None
    if one.type is ValueType.NAME and (honorific := re.match(r"さん|様|氏", text[end : end + 2])) is not None:
        end += len(honorific[0])
    if not _JA_PARTICLE.match(text, end):
        return None
    if one.type is ValueType.ID:
        noun = re.search(r"[\u30a0-\u30ff\u4e00-\u9fff]$", text[: one.start][-1:])
        return Place(one.start, end) if noun and text[end : end + 1] != "の" else None
    behind_no, before_no = text[one.start - 1 : one.start] == "の", text[end : end + 1] == "の"

    def fits(entry: Entry) -> bool:
        clause = behind_no and entry.text.startswith(("前", "先日", "以前", "この"))
        return not clause and not (before_no and entry.text.endswith("のどこか"))

    return Place(one.start, end, fits)


_AR_PREPOSITIONS = ("في", "من", "منذ", "إلى", "قبل", "بعد", "حتى")
_AR_MOMENTS = ("الموعد", "التاريخ", "الوقت", "الساعة", "وقت", "ساعة")
_AR_LETTER = re.compile(r"[\u0600-\u06ff]")
_AR_LEADS = {ValueType.DATE: ("يوم",), ValueType.TIME: ("الساعة",), ValueType.ID: ("رقم",)}


def _find_arabic(text: str, one: Mention) -> Place | None:
    start, end = one.start, one.end
    if _AR_LETTER.match(text[start - 1 : start]) or _AR_LETTER.match(text[end : end + 1]):
        return None
    before = find_word_before(text, start)
    if before in _AR_LEADS.get(one.type, ()):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if one.type is ValueType.ID:
        return Place(start, end) if before and _AR_LETTER.match(before) else None
    if one.type is ValueType.NUMBER:
        if before in _AR_MOMENTS:
            return None
        count = int(one.text) if one.text.isdecimal() else 0
        return (
            Place(start, end, lambda entry: "{" not in entry.text)
            if 3 <= count <= 10 and find_next_word(text, end)
            else None
        )
    moment = one.type in _MOMENTS and (not before or before not in _AR_PREPOSITIONS)

    def join(phrase: str, coarse: str | None) -> str:
        return f"في {phrase}" if moment and phrase.split(maxsplit=1)[0] in _AR_MOMENTS else phrase

    return Place(start, end, accept_all, join)


GO_ON: Mapping[Language, frozenset[str]] = {
    Language.DE: _DE_GO_ON,
    Language.FR: _FR_GO_ON,
    Language.ES: _ES_GO_ON,
}
"""Words behind which a value ends its phrase."""

_FINDERS: Mapping[Language, Callable[[str, Mention], Place | None]] = {
    Language.EN: english.find_place,
    Language.DE: _find_german,
    Language.FR: _find_french,
    Language.ES: _find_spanish,
    Language.ZH: _find_chinese,
    Language.JA: _find_japanese,
    Language.AR: _find_arabic,
}
