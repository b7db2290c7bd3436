"""Which figures of a result an instrument may have read. What was set, counted or numbered is none."""

from __future__ import annotations

import re

from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.false_figures import is_dose
from crosswind.injectors.operators.tool.false_values.figures import read_figure
from crosswind.injectors.operators.tool.false_values.parts import find_parts
from crosswind.injectors.operators.tool.false_values.ties import find_related, is_end
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.operators.words import fields
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json


def find_readings(target: ToolResultTarget) -> list[Fact]:
    """The readings of a result, or its other quantities where it has none."""
    figures = [
        one for one in find_facts(target) if one.kind is FactKind.FIGURE and read_figure(one.text) is not None
    ]
    value = parse_json(target.text)
    free = [one for one in figures if not is_dose(one) and not is_end(one, value) and not is_set(one)]
    readings = [one for one in free if is_reading(one)]
    if readings:
        return readings
    tied = [*find_related(figures), *find_parts(figures)]
    return [one for one in free if one not in tied and not _is_count(one) and not _names_a_place(one)]


def is_set(fact: Fact) -> bool:
    """Whether somebody set a figure, so that no instrument reads it: money, a discount, a running time."""
    return _is_money(fact) or not _PLANNED.isdisjoint((*fact.words, fact.field.lower()))


_PLANNED = frozenset(
    """runtime running dauer spieldauer laufzeit duración duracion durée duree scheduled planned estimated
    discount rabatt ermäßigung ermaessigung descuento remise réduction reduction""".split()
)


def _names_a_place(fact: Fact) -> bool:
    """Whether a whole number says which one something is, as of seats and gates, or is one of a list."""
    listed = bool(fact.place) and isinstance(fact.place[-1], int)
    return fact.text.isdigit() and (listed or not _NUMBERED.isdisjoint((*fact.words, fact.field.lower())))


_NUMBERED = frozenset(
    """seat seats row rows room rooms gate gates stand stands platform track bay bays locker desk table tables
    hall screen berth cabin lane zone aisle shelf platz plätze plaetze sitz sitze sitzplatz sitzplätze reihe
    reihen zimmer saal tisch gleis tor halle loge asiento asientos fila sala mesa puerta andén anden
    habitación habitacion siège sièges siege sieges rang rangée salle table chambre porte quai voie""".split()
)


def _is_count(fact: Fact) -> bool:
    counted = not (fields.COUNTERS | _COUNTED).isdisjoint(fact.words)
    return fact.text.isdigit() and (counted or len(fact.text) == 1)


_COUNTED = frozenset(
    """places seats tickets guests visitors people persons passengers rooms beds items copies bags baggages
    plätze personen""".split()
)
"""Words of fields whose whole numbers somebody counted, besides `fields.COUNTERS`."""


def _is_money(fact: Fact) -> bool:
    """Whether a figure is a sum of money, which no instrument reads."""
    words = {*fact.words, fact.field}  # Names in other scripts have no words.
    if not fields.MONEY.isdisjoint(words):
        return True
    if not _SUMS.isdisjoint(words) and not is_reading(fact):
        return True
    text = fact.frame.text
    return bool(
        _MONEY_BEHIND.match(text, fact.end) or _MONEY_BEFORE.search(text[max(0, fact.start - 5) : fact.start])
    )


_SUMS = frozenset("amount amounts total subtotal sum balance due summe gesamt betrag 合計 金額".split())
"""Words of fields of sums of money, unless a unit says something else: `total_km`."""
_CODES = "EUR|USD|GBP|CHF|JPY|CNY|CAD|AUD|SEK|NOK|DKK|PLN|INR"
_MONEY_BEFORE = re.compile(rf"(?:[$€£¥₹]|\b(?:{_CODES})) ?$")
_MONEY_BEHIND = re.compile(rf"[ \u00a0]?(?:[$€£¥₹円]|(?:{_CODES}|[Ee]uros?|dollars?|pounds|yen)\b)")


def is_reading(fact: Fact) -> bool:
    if not fields.MEASURED.isdisjoint(fact.about) or not fields.UNITS.isdisjoint(fact.words[-1:]):
        return True
    return _UNIT.match(fact.frame.text, fact.end) is not None


_UNIT = re.compile(
    r" ?(?:%|°|[kcm]?m\b|km/h|mph|[km]?g\b|hPa|k?Pa|bar\b|psi|[km]?[VWA]\b|kWh|k?Hz|dB|ppm|lux\b|rpm|"
    r"m?l\b|ms\b|met(?:er|re)s?\b|Meter\b|degrees?\b|bpm\b|mmHg|mg/dL)"
)
