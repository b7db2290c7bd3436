"""The unit that an English message asks for an answer in, which it is whole without."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.small_words import GO_ON
from crosswind.injectors.operators.user.values.vague.place import Place, ends_clause, find_next_word
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

_IN_UNIT = re.compile(
    r"(?<=[\w%]) in (?P<unit>celsius|fahrenheit|kelvin|kilograms|grams|pounds|ounces|kilometers|kilometres"
    r"|meters|metres|centimeters|miles|feet|inches|liters|litres|gallons|joules|watts|pascals|newtons|minutes|hours)\b",
    re.IGNORECASE,
)
_CONVERTS = re.compile(r"(?i)\b(?:convert|how many|translate|express)|\d[^,.?!]{0,24} in$")
"""What says little without the unit, or has one of its own: `convert it in miles`, `5 feet in inches`."""


def find_units(text: str, tools: ToolList) -> Iterator[tuple[Mention, Place]]:
    """Such units, each with its place, where a tool takes a unit."""
    found = list(_IN_UNIT.finditer(text))
    if not (found and any("unit" in word for one in list_parameters(tools) for word in one.words)):
        return
    for match in found:
        start, end = match.span("unit")
        if _CONVERTS.search(text[: start - 1]) or text.lower().count(match["unit"].lower()) > 1:
            continue
        if ends_clause(text, end) or find_next_word(text, end) in GO_ON:
            one = Mention(start, end, match["unit"], ValueType.OPTION, "unit")
            yield one, Place(match.start(), end, dropped="", called="unit", value=(start, end))
