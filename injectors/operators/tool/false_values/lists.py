"""A result that is, or has, one plain list: the same with fewer elements."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.operators.tool.false_values.values import SpanEdit
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import MOST
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Leaf, find_leaves


def shorten_list(target: ToolResultTarget, rng: SeededRandom, *, last: bool) -> list[SpanEdit]:
    """The edit that takes one or two elements, no more than half, from the one list of scalars that a result
    is or has: the last ones, or any that stand together. None where something says how long the list is."""
    count, point = rng.integer(1, 2), rng.uniform()
    value = parse_json(target.text)
    if not is_container(value) or _COUNTED.search(target.text):
        return []
    leaves = list(find_leaves(target.text, MOST))
    elements = [leaf for leaf in leaves if isinstance(leaf.place[-1], int)]
    if len(leaves) >= MOST or len({leaf.place[:-1] for leaf in elements}) != 1:
        return []
    count = min(count, len(elements) // 2)
    if not count or not _is_whole(value, elements):
        return []
    at = len(elements) - count if last else 1 + int(point * (len(elements) - count))
    return [(elements[at - 1].end, elements[at + count - 1].end, "")]


def _is_whole(value: Any, elements: list[Leaf]) -> bool:
    """Whether the elements are all that their list has: no records stand among them."""
    for key in elements[0].place[:-1]:
        value = value[key]
    return len(value) == len(elements)


_COUNTED = re.compile(r"(?i)total|count|number|\b(?:size|length)\b")
"""What says how long a list is."""
