"""Values in English words that no form tells: names of folders, bare nouns, lists, days told in words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.bare_nouns import find_bare
from crosswind.injectors.operators.user.values.spoken_values import SaidBefore, is_held
from crosswind.injectors.operators.user.values.vague.lists import find_lists
from crosswind.injectors.operators.user.values.vague.moments import find_told
from crosswind.injectors.operators.user.values.vague.numbered import find_numbered
from crosswind.injectors.operators.user.values.vague.place import Place
from crosswind.injectors.operators.user.values.vague.things import find_container
from crosswind.injectors.operators.user.values.vague.towns import find_towns
from crosswind.injectors.operators.user.values.vague.units import find_units
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.quotations import find_literals, find_plain_names
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

_MOMENTS = {"date": ValueType.DATE, "day": ValueType.DATE, "time": ValueType.TIME}
"""Words of parameters that take a day or an hour, whatever their type."""


def find_untyped(target: UserTarget, said: SaidBefore) -> Iterator[tuple[Mention, Place]]:
    """Such values that can be left open, each with its place."""
    text, tools = target.text, ToolList.of(target.tools)
    yield from _find_containers(target, said)
    parameters = list_parameters(tools)
    kinds = {one.type for one in parameters}
    kinds |= {_MOMENTS[word] for one in parameters for word in one.words if word in _MOMENTS}
    literals = find_literals(text)
    told = (found for found in find_told(text) if found[0].type in kinds)
    ways = (find_bare, find_towns, find_units, find_numbered)
    found = (each for way in ways for each in way(text, tools))
    for one, place in (*found, *find_lists(text), *told):
        if any(mark.start < one.end and one.start < mark.end for mark in literals):
            continue
        if one.text in target.own and one.text not in said and not is_held(text, one, Language.EN):
            yield one, place


def _find_containers(target: UserTarget, said: SaidBefore) -> Iterator[tuple[Mention, Place]]:
    """Names of folders and files that the user can leave out: `the archive folder`."""
    text, kinds = target.text, {one.type for one in list_parameters(ToolList.of(target.tools))}
    if kinds.isdisjoint((ValueType.FILE, ValueType.NAME, ValueType.WORD)):
        return
    literals = find_literals(text)
    begins, ends = [one.start for one in literals], list(accumulate((one.end for one in literals), max))
    for start, end in find_plain_names(text):
        place = find_container(text, start, end)
        before = bisect_left(begins, end)
        if place is None or (before and ends[before - 1] > start):
            continue
        value, whole = text[start:end], text[start : place.end]
        if text.find(value, text.find(value) + len(value)) >= 0:
            continue  # It is said twice.
        one = Mention(start, place.end, whole, ValueType.FILE, None)
        if value in target.own and value not in said and not is_held(text, one, Language.EN):
            yield one, place
