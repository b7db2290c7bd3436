"""Whether a value is one end of a range: `3 to 5 days`."""

from __future__ import annotations

import re

from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_RANGE_WORDS = r"(?:to|or|till?|until|through|thru|bis|oder|hasta|à|ou|al?|至|到|から|[-–~～/x×])"
_RANGE_BEFORE = re.compile(
    rf"\d\w{{0,3}} ?{_RANGE_WORDS} ?\Z"
    r"|\b(?:[Bb]etween|[Zz]wischen|[Ee]ntre) (?:[\w.,$€£]{1,12}(?: \w{1,9})? (?:and|und|et|y) )?[$€£]?\Z"
)
_RANGE_BEHIND = re.compile(rf" ?{_RANGE_WORDS} ?[$€£]?\d")


def is_of_range(text: str, one: Mention) -> bool:
    """Whether a value is one end of a range, or a name only a part of a longer one: `Yahoo! Finance`."""
    if one.type in (ValueType.PLACE, ValueType.NAME):
        return text.startswith("!", one.end)
    before = _RANGE_BEFORE.search(text, max(0, one.start - 32), one.start)
    return before is not None or _RANGE_BEHIND.match(text, one.end) is not None
