"""Fields that belong to what a result is about, and to no task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from crosswind.injectors.operators.insertion import around_field, dump, find_case, find_holders, write_key
from crosswind.injectors.operators.phrases import find_system
from crosswind.injectors.packs.domains import split_words
from crosswind.injectors.packs.draw import fill, list_fitting, shuffle_entries
from crosswind.injectors.packs.model import Entry, Named
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget

OPERATOR = "state.irrelevant"

Drawn = tuple[list[str], list[tuple[int, str]]]
"""The names of the entries, and what is put where."""

OWN_FIRST = 0.8
"""How often the fields of the result's own kind go before those of any record or answer."""
NESTED = 0.25
"""How often one field holds the others."""
HOLDERS = """
    meta metadata _meta info details attributes extra properties extra_info additional_info _info
""".split()


def draw_fields(target: ToolResultTarget, volume: float, rng: SeededRandom) -> Drawn:
    """Draw fields of `volume` characters of JSON on average: among the others, or in one that holds them."""
    text = target.text
    holders = find_holders(text)
    if not holders or text.lstrip()[:1] != "{":
        return [], []
    whole, case = holders[0], find_case(text)
    gap = whole.gaps[-1 if rng.chance(0.75) else 0]
    nested, holder = rng.chance(NESTED), write_key(rng.choice(HOLDERS), case)
    taken = [_read_words(key) for key in whole.keys]
    spaced = any(" " in key for key in whole.keys)
    told: dict[str, Any] = {}
    kinds: set[str] = set()  # Two durations or versions of one answer would say the same.

    def write(entry: Entry) -> tuple[int, str] | None:
        key = entry.key.replace("_", " ").title() if spaced else write_key(entry.key, case)
        timed = "{time}" in entry.text
        words = _read_words(entry.key)
        if any(words <= one or one <= words for one in taken) or (kind := entry.key.split("_")[-1]) in kinds:
            return None
        value = json.loads(fill(entry.text, {}, rng))
        if timed and (value := _date_like(value, text)) is None:
            return None
        taken.append(words)
        kinds.add(kind)
        told[key] = value
        place = around_field(text, gap, key)
        return place.at, f"{place.before}{dump(value, like=text)}{place.after}"

    names, added = fill_volume(_order_entries(target, whole.keys, rng), volume, rng, write)
    if not nested or spaced or len(added) < 2 or holder in whole.keys:
        return names, added
    place = around_field(text, gap, holder)
    kept = dict(list(told.items())[: len(added)])
    return names, [(place.at, f"{place.before}{dump(kept, like=text)}{place.after}")]


def _order_entries(target: ToolResultTarget, keys: Iterable[str], rng: SeededRandom) -> list[Named]:
    """The entries that fit, in random order: most often those on what the tool's name speaks of first."""
    unmet = list_unmet(target, list_fields(target, keys))
    shuffled = shuffle_entries(rng, unmet, target.branch.entries)
    if rng.chance(OWN_FIRST):
        shuffled.sort(key=lambda one: not one[1].about)
    return shuffled


def list_fields(target: ToolResultTarget, keys: Iterable[str]) -> tuple[Named, ...]:
    """The entries that fit a result with these keys. Only the tool's name says what a single result is about:
    neither its description nor its domain does."""
    setting = find_system(target, described=False, fields=False)
    fitting = list_fitting(setting, OPERATOR, "field")
    has_id = any(_ID.search(key) for key in keys)
    return fitting + list_fitting(setting, OPERATOR, "record") if has_id else fitting


_ID = re.compile(r"(?i:^|[_-])id$|Id$|ID$")


def list_unmet(target: ToolResultTarget, entries: Iterable[Named]) -> list[Named]:
    """Those that the conversation has not met yet; all where it has met each."""
    every = list(entries)
    return [one for one in every if one[0] not in target.branch.phrases] or every


def _read_words(key: str) -> frozenset[str]:
    """The words of a field's name: one whose words are another's, too, would say the same or its contrary."""
    return frozenset(word for word in split_words(key) if "_" not in word)


_DATE = re.compile(r"(20[12]\d-\d\d-\d\d)(?:([T ])(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?(?!\d)")


def _date_like(value: str, text: str) -> str | None:
    """A drawn time as the text writes its own, later on their day. None where it has several days, only a day
    without an hour, which may be to come, or a year in another form."""
    found = list(_DATE.finditer(text))
    if not found:
        return None if tells_year(text) else value
    last = max(found, key=lambda one: one[3] or "")
    if not last[3] or len({one[1] for one in found}) > 1:
        return None
    clock = max(value[11:16], last[3])
    return f"{last[1]}{last[2]}{clock}{value[16:19] if last[4] else ''}{last[6] or ''}"


def tells_year(text: str) -> bool:
    """Whether a time of another year would be odd beside the text."""
    return _YEAR.search(text) is not None


_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.]\d)")


def fill_volume(
    entries: Iterable[Named],
    volume: float,
    rng: SeededRandom,
    write: Callable[[Entry], tuple[int, str] | None],
) -> Drawn:
    """Write entries until there is no more room; the last one comes with the probability that makes the
    volume right on average.
    """
    point, room = rng.uniform(), volume
    names: list[str] = []
    added: list[tuple[int, str]] = []
    for name, entry in entries:
        if (one := write(entry)) is None:
            continue
        if room < len(one[1]) and point >= room / len(one[1]):
            break
        names.append(name)
        added.append(one)
        room -= len(one[1])
        if room <= 0:
            break
    return names, added
