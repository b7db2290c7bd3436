"""False figures, as round as the true ones, and within the bounds of their fields."""

from __future__ import annotations

import re

from crosswind.injectors.operators.tool.facts import Fact
from crosswind.injectors.operators.tool.false_values.figures import LEAST_WHOLE, read_figure, write_figure
from crosswind.injectors.operators.words import fields
from crosswind.injectors.seeded_random import SeededRandom

MOST_COUNTED = 20
"""Whole numbers up to this are counted: a false one is near."""


def draw_figure(fact: Fact, rng: SeededRandom) -> str | None:
    value = read_figure(fact.text)
    if not value:  # What there is none of stands beside what says so, except for an instrument's reading.
        alone = "." in fact.text and not fields.MEASURED.isdisjoint(fact.words)
        low = rng.integer(3, 40) + rng.uniform()
        if fact.text == "0" and not fields.COUNTERS.isdisjoint(fact.words):
            return str(1 + int(low) % 3)
        return write_figure(low, fact.text) if alone else None
    up, step, share = rng.chance(0.5), rng.integer(1, 3), rng.uniform(0.08, 0.45)
    if is_dose(fact):
        return write_figure(value * 2 if up or value % 2 else value / 2, fact.text)
    if not _NEAR.isdisjoint(fact.about):
        share = SMALL * share / 0.45
    counts = fact.text.isdigit() and value <= MOST_COUNTED
    if counts and not (_is_stepped(fact) and _find_grain(fact, value) > 1):
        moved = value + step if up or value <= step else value - step
        return write_figure(limit(fact, value, moved), fact.text)
    factor = 1 + share if up else 1 - 0.7 * share
    return move_figure(fact, value * factor)


def move_figure(fact: Fact, moved: float) -> str | None:
    """The figure with about this value, in steps as large as its own: 30 becomes 25 or 40, 1800 becomes 1700,
    and 19.99 becomes 22.99. Where no whole step fits, its last digit is another one."""
    value = read_figure(fact.text)
    assert value is not None
    grain = _find_grain(fact, value)
    if grain < 1:
        least = change_figure(fact, moved) or change_figure(fact, 2 * value - moved)
        return least or step_figure(fact, up=moved > value)
    steps = round((moved - value) / grain) or (1 if moved > value else -1)
    near = (value + one * grain for one in (steps, -steps, 1, -1) if value + one * grain > 0 or value <= 0)
    return next((one for at in near if (one := change_figure(fact, at, round_=False)) is not None), None)


def _find_grain(fact: Fact, value: float) -> float:
    """The step in which a figure of this roundness goes; 0 where it has decimals of its own."""
    if _PRICED.search(fact.text):
        return 1
    whole = abs(round(value))
    if whole != abs(value):
        return 0
    unit = 1
    while whole >= unit * 10 and whole % (unit * 10) == 0:
        unit *= 10
    lead = whole // unit
    if lead > 5 and lead % 10 == 5:
        unit *= 5
    elif lead < 10 and unit > 1:
        unit = unit // 10 if unit > 10 else 5
    if _is_stepped(fact):
        return unit
    if fields.MEASURED.isdisjoint(fact.about):
        # What is counted is less round than what is set: 850 in tens, 1800 in fifties.
        return unit if unit < 5 else unit // (5 if str(unit).startswith("5") else 2)
    return 1 if unit > SMALL * whole else unit


_PRICED = re.compile(r"\d[.,](?:99|95|90|50|49|25|75)\Z")
"""Prices whose decimals are alike."""


def _is_stepped(fact: Fact) -> bool:
    """Whether figures such as this one are set, most often in steps of five: shares and sums of money."""
    words = {*fact.about}
    return not words.isdisjoint(_SET) or _has_percent(fact)


_SET = (
    fields.BOUNDED - frozenset("rank stars rating score priority severity grade spo spo2 sao2".split())
    | fields.MONEY
)


def _has_percent(fact: Fact) -> bool:
    return "%" in fact.frame.text[fact.end : fact.end + 2]


def is_dose(fact: Fact) -> bool:
    """Whether a figure is doubled or halved: there is no pill of 11 mg."""
    told = not _DOSES.isdisjoint(fact.words)
    return told or _DRUG.match(fact.frame.text, fact.end) is not None


_DOSES = frozenset({"dose", "dosage", "mg", "mcg"})
_DRUG = re.compile(r" ?(?:mg|mcg|µg|IU)\b(?! ?/)")
SMALL = 0.07
"""The most that a measured figure is off: a body of 46 degrees is no plausible one."""
_NEAR = fields.MEASURED | fields.BOUNDED | fields.COUNTERS | frozenset("price rate ma high low open".split())
"""Words of fields whose figures stand beside others of their size."""


def change_figure(fact: Fact, moved: float, *, round_: bool = True) -> str | None:
    """The figure with this value, as round as it was; None where it is written as before."""
    value = read_figure(fact.text)
    assert value is not None
    shown = write_figure(limit(fact, value, moved), fact.text, round_=round_)
    return None if shown is None or shown == fact.text else shown


def step_figure(fact: Fact, *, up: bool) -> str | None:
    """The figure one off in its last digit, or of a round one such as 32.0 in the one before the point: what
    a smaller change comes to."""
    value = read_figure(fact.text)
    assert value is not None
    decimals = re.search(r"\d[.,](\d+)$", fact.text)
    whole = decimals is None or (abs(value) >= LEAST_WHOLE and not decimals[1].strip("0"))
    step = 1.0 if whole or decimals is None else 10.0 ** -len(decimals[1])
    step = step if up or abs(value) <= step else -step
    near = (value + times * step for times in (1, -1, 2))
    return next((one for at in near if (one := change_figure(fact, at, round_=False)) is not None), None)


def limit(fact: Fact, value: float, moved: float) -> float:
    """The value within the bounds that its field has: shares, percentages and ratings have an upper end, and
    what isn't below zero doesn't fall there."""
    if value >= 0:
        moved = max(moved, 0.0)
    if not fields.BOUNDED.isdisjoint(fact.about) or _has_percent(fact):
        top = next(one for one in (1.0, 5.0, 10.0, 100.0, max(value, 100.0)) if value <= one)
        top = 100.0 if top < 100.0 and value == int(value) and value > 10 else top
        return min(moved, top)
    if is_coordinate(fact):
        return value + max(-0.5, min(0.5, moved - value))
    return moved


def is_coordinate(fact: Fact) -> bool:
    """Whether a figure says where a place is."""
    return not _COORDINATES.isdisjoint(fact.words[:1])


_COORDINATES = frozenset({"lat", "latitude", "lon", "lng", "longitude"})
