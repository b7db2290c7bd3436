"""Tell what a conversation is about, by the names and descriptions of its tools and by how it opens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain, pairwise

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.text.tokens import TokenProperty, read_tokens
from crosswind.injectors.values.parameters import list_parameters, split_name

_STEMS: dict[Domain, frozenset[str]] = {
    domain: frozenset(stems.split())
    for domain, stems in {
        Domain.SHOPPING: """
            basket buy cart catalog checkout coupon courier customer deliver delivery discount exchange
            garment gift grocery inventory item menu merchant order parcel pizza product purchase refund
            restaurant retail return seller ship shipment shipping shop size sku store takeaway voucher
            warehouse wishlist
            """,
        Domain.TRAVEL: """
            accommodation airfare airline airport baggage boarding bus cab cabin cruise departure
            destination fare ferry flight hostel hotel itinerary layover lodging luggage passenger passport
            rail rental reservation resort seat sightsee station taxi tour train transit travel trip visa
            """,
        Domain.FILES: """
            archive bash cat cd chmod command cp cwd dir directory disk document echo file filesystem folder
            grep ls mkdir mv path rm rmdir shell sort tail tar terminal touch unzip wc zip
            """,
        Domain.CODE: """
            api branch bug build code commit compile debug dependency deploy function git github issue
            lint merge method module package pipeline pull python refactor release repo repository snippet
            test variable
            """,
        Domain.BANKING: """
            account atm balance bank beneficiary bill bond broker card credit crypto currency debit deposit
            dividend forex fund iban insurance invest invoice loan money mortgage pay payee payment payroll
            portfolio premium price savings share stock tax ticker trade transaction transfer wallet
            watchlist withdraw
            """,
        Domain.MESSAGING: """
            appointment attendee calendar channel chat comment contact conversation email event follow inbox
            invite mail meeting message newsletter notify post reminder reply reschedule retweet schedule
            send slack sms thread tweet voicemail
            """,
        Domain.SEARCH: """
            album article artist browse citation crawl dictionary document encyclopedia fact film forecast
            google lookup lyric movie news page query recipe retrieve search snippet song source translate
            url weather web webpage website wikipedia
            """,
        Domain.DEVICES: """
            alarm appliance blind brake camera car charger climate coffee conditioner conveyor curtain
            device dishwasher door driver drone engine fan filament freezer fridge fuel garage gear
            headlight heating home humidifier kettle lamp light lock mileage mower navigation odometer oven
            playback pressure printer purifier robot router sensor smart solar speaker spindle sprinkler
            tank television temperature thermostat tire tv vacuum vehicle volume washer wifi window
            """,
        Domain.HEALTH: """
            admission allergy blood bmi calorie clinic dentist diagnosis diet doctor dosage dose drug
            exercise fitness glucose gym health heart hospital lab meal medical medication medicine nurse
            nutrition optician patient pet pharmacy prescription sleep symptom therapist therapy treatment
            triage vaccine vet veterinary vital ward workout
            """,
        Domain.SUPPORT: """
            agent broadband case complaint escalate exhibit faq feedback helpdesk incident internet library
            member membership modem museum outage password permit plan priority renew reset resolution
            resolve sim sla subscription support telecom ticket troubleshoot visitor
            """,
        Domain.DATA: """
            aggregate analytics chart column correlation csv dashboard database dataframe dataset etl
            histogram join kpi metric mysql percentile pivot plot postgres query regression report row
            schema select spreadsheet sql table warehouse
            """,
    }.items()
}
_FOREIGN: dict[Domain, tuple[str, ...]] = {
    domain: tuple(stems.split())
    for domain, stems in {
        Domain.SHOPPING: """
            bestellung compra devolución envío gutschein lieferung pedido rücksendung umtausch warenkorb
            """,
        Domain.TRAVEL: """
            alojamiento billete equipaje flug koffer reise unterkunft viaje vuelo zugverbindung
            """,
        Domain.SUPPORT: "kundendienst kündigung passwort störung tarif vertrag",
        Domain.MESSAGING: "calendario correo mensaje nachricht recordatorio reunión",
    }.items()
}
"""How German, Spanish and French words begin, for the domains that have packs in other languages."""
_CHINESE: dict[Domain, re.Pattern[str]] = {
    Domain.SHOPPING: re.compile("订单|退货|换货|快递|商品|优惠券|购物车|收货|退款"),
    Domain.TRAVEL: re.compile("航班|机票|酒店|行程|火车票|高铁|行李|民宿|签证"),
    Domain.SUPPORT: re.compile("工单|套餐|故障|密码|客服|宽带|投诉|会员"),
}
"""Chinese words, which are found anywhere: no space stands between them."""
_SHORTEST_PREFIX = 5
"""A stem of so many letters begins longer words, too: `deliver` is in `delivering`, `car` not in `care`."""
_LONGEST_PREFIX = 64
"""No stem is as long: a word of any length is looked at in linear time."""
_WORD = re.compile(r"\w+")
_NAME_WEIGHT, _DESCRIPTION_WEIGHT, _PARAMETER_WEIGHT, _OPENING_WEIGHT = 3.0, 1.0, 1.0, 1.5
_CLEAR = 2.5
"""The weight that a domain needs: more than one word of a message gives."""


def list_stems(word: str) -> tuple[str, ...]:
    """The stems that a lower-case word may have: itself, its singular, and what it begins with, where that is
    long."""
    return _short_stems(word) if len(word) <= _LONGEST_PREFIX else _list_stems(word)


def _list_stems(word: str) -> tuple[str, ...]:
    longest = min(len(word), _LONGEST_PREFIX)
    return word, word.removesuffix("s"), *[word[:size] for size in range(_SHORTEST_PREFIX, longest)]


_short_stems = lru_cache(8192)(_list_stems)


def list_all_stems(words: Collection[str]) -> frozenset[str]:
    """The stems that any of the words may have."""
    stems = _short_stems if max(map(len, words), default=0) <= _LONGEST_PREFIX else list_stems
    return frozenset(chain.from_iterable(map(stems, words)))


def _list_domains(word: str) -> tuple[Domain, ...]:
    """The domains of which the word has a stem."""
    return _short_domains(word) if len(word) <= _LONGEST_PREFIX else _find_domains(word)


def _find_domains(word: str) -> tuple[Domain, ...]:
    found = _list_stems(word)
    if word.isascii() and _ALL_STEMS.isdisjoint(found) and not word.startswith(_ALL_FOREIGN):
        return ()  # Most words are of none.
    return tuple(
        domain
        for domain, stems in _STEMS.items()
        if not stems.isdisjoint(found)
        or word.startswith(_FOREIGN.get(domain, ()))
        or _has_chinese(domain, word)
    )


_ALL_STEMS = frozenset(chain.from_iterable(_STEMS.values()))
_ALL_FOREIGN = tuple(chain.from_iterable(_FOREIGN.values()))


def _has_chinese(domain: Domain, word: str) -> bool:
    """Whether a Chinese word of the domain is in it."""
    return not word.isascii() and domain in _CHINESE and _CHINESE[domain].search(word) is not None


_short_domains = lru_cache(16_384)(_find_domains)


def split_words(text: str) -> tuple[str, ...]:
    """The words of prose and of identifiers in it, in lower case; of identifiers also each two in a row:
    `send_message`.
    """
    return _short_split(text) if len(text) <= _REMEMBERED else _split(text)


_REMEMBERED = 2_000
"""Characters of the longest text whose words are remembered: a tool's description, an opening."""


def _split(text: str) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text):
        words += _short_forms(word) if len(word) <= _LONGEST_PREFIX else _list_forms(word)
    return tuple(words)


def list_text_words(text: str) -> frozenset[str]:
    """The words of `split_words`, of a text that other scans look at, too."""
    return frozenset(chain.from_iterable(_FORMS.of(read_tokens(text))))


_FORMS = TokenProperty(_split)


def list_text_stems(text: str) -> frozenset[str]:
    """The stems that any of the words of `split_words` may have."""
    return frozenset[str]().union(*_FORM_STEMS.of(read_tokens(text)))


def _read_stems(token: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_list_stems, _split(token))))


_FORM_STEMS = TokenProperty(_read_stems)


def _list_forms(word: str) -> tuple[str, ...]:
    lowered = word.lower()
    if word.isascii() and word.isalpha() and word[1:].islower():
        return (lowered,)  # It has no parts.
    parts = split_name(word)
    return tuple(
        dict.fromkeys((lowered, *lowered.split("_"), *parts, *["_".join(pair) for pair in pairwise(parts)]))
    )


_short_forms = lru_cache(8192)(_list_forms)
_short_split = lru_cache(1024)(_split)


def detect_domain(tools: ToolList, opening: str) -> Domain:
    """What the conversation is about; `GENERAL` where nothing tells, or two domains do alike."""
    scores = _score_tools(tools.key).copy()
    _add_counts(scores, dict(chain.from_iterable(_DOMAINS.of(read_tokens(opening)))), _OPENING_WEIGHT)
    first, second, *_ = sorted(scores.values(), reverse=True)
    if first < _CLEAR or first == second:
        return Domain.GENERAL
    return max(scores, key=lambda domain: scores[domain])


@lru_cache(256)
def _score_tools(keyed: ToolListKey) -> dict[Domain, float]:
    tools = keyed.tools
    share = max(1, len(tools)) ** -0.5
    scores = dict.fromkeys(_STEMS, 0.0)
    for tool in tools:
        _add_score(scores, split_name(tool.name), _NAME_WEIGHT * share)
    for tool in tools:
        _add_score(scores, split_words(tool.description), _DESCRIPTION_WEIGHT * share)
    _add_score(scores, chain.from_iterable(one.words for one in list_parameters(tools)), _PARAMETER_WEIGHT)
    return scores


def _read_domains(token: str) -> list[tuple[str, tuple[Domain, ...]]]:
    """The words of a token that have a stem of a domain, with these."""
    return [(word, found) for word in _split(token) if (found := _list_domains(word))]


_DOMAINS = TokenProperty(_read_domains)


def _add_score(scores: dict[Domain, float], words: Iterable[str], weight: float) -> None:
    _add_counts(scores, {word: _list_domains(word) for word in words}, weight)


def _add_counts(scores: dict[Domain, float], found: Mapping[str, Iterable[Domain]], weight: float) -> None:
    """Add what words say; `found` are the domains of each."""
    for domain, count in Counter(chain.from_iterable(found.values())).items():
        # A root, so that no single text decides by its length.
        scores[domain] += weight * count**0.5
