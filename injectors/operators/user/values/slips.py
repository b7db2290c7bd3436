"""What somebody may say by mistake in the place of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from crosswind.injectors.conversation import ToolList, ToolResult, UserText
from crosswind.injectors.operators.user.values.sure_values import (
    CITY_NAMES,
    NO_SLIPS,
    NUMBERED,
    PLACES,
    is_city,
)
from crosswind.injectors.operators.user.values.vague.place import find_word_before
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.entities import find_whole
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.known_names import COUNTRIES, GIVEN_NAMES, GROUPS, list_near_names
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import ValueType, type_of_name
from crosswind.injectors.values.rivals import draw_known_rival, draw_rival

LONGEST_VALUE = 60
_READ = 20_000
"""Characters of earlier texts in which rivals are looked for."""
_DRAWS = 12
"""Rivals that are drawn until one goes with the article before the value."""
_VOWEL = re.compile(r"[aeiou](?!ne\b)", re.IGNORECASE)
_INITIALS, _SPELT = re.compile(r"[A-Z]{2,}\b"), "AEFHILMNORSX"
"""What is spelt, and the letters whose names begin with a vowel: an SUV, a GPU."""
_PLURAL = re.compile(r"[^ius\W]s\Z")


def draw_slip(
    text: str, one: Mention, rng: SeededRandom, language: Language, known: Sequence[str], taken: set[str]
) -> str | None:
    """A rival of the value, which the text doesn't say: of the `known` ones that the conversation has named
    before, or another. None where nobody would take one for the other."""
    elsewhere = [value for value in known if not is_said(text, value) and _are_alike(one, value)]
    article = find_word_before(text, one.start) if language is Language.EN else ""
    for _ in range(_DRAWS):
        rival = _draw_rival(text, one, rng, language, elsewhere, taken)
        if rival is None or (agrees(article, rival) and are_one_number(one, rival, language)):
            return rival if rival is not None and _may_slip_in(text, one, rival) else None
    return None


def agrees(article: str, rival: str) -> bool:
    """Whether an English value goes with the article before it: an economy seat, a business seat."""
    if article not in ("a", "an"):
        return True
    vowel = rival[0] in _SPELT if _INITIALS.match(rival) else _VOWEL.match(rival) is not None
    return vowel == (article == "an") and not rival[:1].isdigit() and not _PLURAL.search(rival)


def are_one_number(one: Mention, rival: str, language: Language) -> bool:
    """Whether an option and its rival are both plural, or both singular: the doors and the lights."""
    if language is not Language.EN or one.type is not ValueType.OPTION:
        return True
    return (_PLURAL.search(one.text) is None) == (_PLURAL.search(rival) is None)


def _may_slip_in(text: str, one: Mention, rival: str) -> bool:
    """Whether the rival can stand for the value by mistake: the text doesn't say it, and neither holds the
    other."""
    slip, value = rival.lower(), one.text.lower()
    return not (slip in NO_SLIPS or is_said(text, rival) or slip in value or value in slip)


def _are_alike(one: Mention, rival: str) -> bool:
    """Whether both are cities, countries, or first names."""
    city = is_city(one) and is_city(msgspec.structs.replace(one, text=rival)) and rival not in GIVEN_NAMES
    return city or any({one.text, rival} <= known for known in _ALIKE)


_ALIKE = (CITY_NAMES, frozenset(COUNTRIES), frozenset(GIVEN_NAMES))


def _draw_rival(
    text: str, one: Mention, rng: SeededRandom, language: Language, elsewhere: list[str], taken: set[str]
) -> str | None:
    """What somebody may say by mistake. Of an id, that is the id with a digit mistyped."""
    numbered = one.type is ValueType.NUMBER and find_word_before(text, one.start) in NUMBERED
    if one.type is ValueType.ID or numbered or re.fullmatch(r"\d{6,}", one.text):
        return _slip(one.text, rng)
    if one.type is ValueType.NUMBER and _DECIMAL.fullmatch(one.text):
        return _mistype(one.text, rng)
    given, _, family = one.text.partition(" ")
    if one.type is ValueType.NAME and family and given in GIVEN_NAMES:
        others = [name for name in list_near_names(given) if name not in taken]
        return f"{rng.choice(others)} {family}" if others else None
    if one.type is ValueType.NAME and (one.text in PLACES or is_city(one)):
        one = msgspec.structs.replace(one, type=ValueType.PLACE)
    known = one.text in PLACES or any(one.text in group for group in GROUPS)
    rival = draw_rival(one, rng, elsewhere, taken)
    if rival is not None and one.type is ValueType.OPTION:
        return _keep_initials(one, rival)
    if rival is None and one.type is ValueType.PLACE and language is Language.EN and not known:
        return None  # Nobody mistakes a small town for a large city.
    return rival or draw_known_rival(one, rng, language, taken)


def _keep_initials(one: Mention, rival: str) -> str:
    """An option as its tool writes it, where that is by initials, and in small letters beside initials."""
    written = next((other for other in one.options if other.lower() == rival.lower()), rival)
    if _INITIALS.fullmatch(written):
        return written if _INITIALS.fullmatch(one.text) or one.text in one.options else rival
    return written if _INITIALS.fullmatch(one.text) and written.islower() else rival


def _slip(text: str, rng: SeededRandom) -> str | None:
    """The id with one digit mistyped; None where it is so short that nobody mistypes it."""
    return _mistype(text, rng) if len(text) >= _LONG_ID else None


def _mistype(text: str, rng: SeededRandom) -> str | None:
    """The text with one digit replaced by the one beside it on the keyboard."""
    digits = [at for at, letter in enumerate(text) if letter in _BESIDE]
    if not digits:
        return None
    at = rng.choice(digits)
    return f"{text[:at]}{rng.choice(_BESIDE[text[at]])}{text[at + 1 :]}"


_BESIDE = {"1": "2", "9": "8", **{str(digit): f"{digit - 1}{digit + 1}" for digit in range(2, 9)}}
_DECIMAL = re.compile(r"\d+[.,]\d{1,2}")
_LONG_ID = 4
"""Characters of an id in which a digit is mistyped."""


def is_said(text: str, value: str) -> bool:
    return find_whole(text.lower(), value.lower(), 0) >= 0


def list_known(target: UserTarget) -> dict[ValueType, list[str]]:
    """The values that this conversation has named before, by type."""
    known: dict[ValueType, list[str]] = {}
    tools, left = ToolList.of(target.tools), _READ
    for one in reversed(target.branch.earlier):
        left -= len(one.text)
        if left < 0:
            break
        named = _list_in_result(one) if isinstance(one, ToolResult) else _list_in_text(one, tools)
        for kind, value in named:
            values = known.setdefault(kind, [])
            if value not in values:
                values.append(value)
    return known


def _list_in_text(one: UserText, tools: ToolList) -> Iterator[tuple[ValueType, str]]:
    yield from ((found.type, found.text) for found in find_mentions(one.text, tools) if not found.literal)


def _list_in_result(one: ToolResult) -> Iterator[tuple[ValueType, str]]:
    """The texts of a JSON result that stand under the name of a kind of value."""
    try:
        pending: list[tuple[str, Any]] = [("", json.loads(one.text))]
    except (ValueError, RecursionError):
        return
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += [(str(name), member) for name, member in value.items()]
        elif isinstance(value, list):
            pending += [(key, member) for member in value]
        elif isinstance(value, str) and 1 < len(value) <= LONGEST_VALUE and "\n" not in value:
            kind = type_of_name(key)
            if kind in (ValueType.PLACE, ValueType.NAME):
                yield kind, value
