"""Where an operator ought to have a place, by rules that know nothing of the operators' code.

The rules read the clean text, the gold values and the declared tools, nothing else. They are written down
before the operators run, and the noise's authors don't fit them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crosswind.studies.detectors import WORD

if TYPE_CHECKING:
    from crosswind.simulators.bfcl.inside.values import Value

READS = re.compile(
    "get|find|search|list|show|display|view|read|check|fetch|look|query|describe|estimate|compute|calculate|count"
    "|cat|ls|pwd|grep|tail|head|diff|du|wc|sort|mean|verify|status"
)
QUOTED = re.compile(r"'[^'\n]+'|\"[^\"\n]+\"|`[^`\n]+`|„[^“\n]+“|«[^»\n]+»|「[^」\n]+」|“[^”\n]+”")
LITERAL = re.compile(r"[/\\@_]|\.\w{1,5}$|://|^[\w-]*\d[\w-]*[A-Za-z][\w-]*$|^[A-Z]{1,5}-?\d+")
"""A value that a call needs as it stands: a path, an address, a name with an underscore, a code."""
NUMBER = re.compile(r"\d")
_LATIN = "[0-9A-Za-z\u00c0-\u024f]"
COMMAND = re.compile(r"\A\s*(?:[$>#]|[{\[<]|(?:SELECT|INSERT|UPDATE|def|import|git|docker|sudo)\b)")


@dataclass(frozen=True, slots=True)
class Place:
    """A text on which an operator may act, as the rules see it."""

    text: str
    gold: tuple[Value, ...] = ()
    tool: str = ""
    """Of a result: the tool that was called. Of a schema: its name."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """Of a schema: `description` and `parameters`."""
    tools: int = 0
    """How many are declared."""


def is_eligible(operator: str, place: Place) -> bool:
    """Whether the operator ought to act here. An operator without a rule is judged by its family's."""
    family = operator.partition(".")[0]
    rule = RULES.get(operator) or FAMILIES.get(family)
    return rule is not None and rule(place)


def occurs(value: str, text: str) -> bool:
    """Whether a value stands in a text as a whole, whatever its case. Scripts without spaces end it."""
    return re.search(rf"(?<!{_LATIN}){re.escape(value)}(?!{_LATIN})", text, re.IGNORECASE) is not None


def find_spoken(place: Place) -> list[str]:
    """The gold values that stand in the user's own words: neither quoted nor needed letter by letter."""
    words = QUOTED.sub(" ", place.text)
    found = [next((one for one in value if occurs(one, words)), None) for value in place.gold]
    return [one for one in found if one is not None and not LITERAL.search(one) and len(one) > 1]


def _has_words(count: int) -> Callable[[Place], bool]:
    def rule(place: Place) -> bool:
        words = [one for one in WORD.findall(QUOTED.sub(" ", place.text)) if not NUMBER.search(one)]
        return len(words) >= count and COMMAND.search(place.text) is None

    return rule


def _has_spoken_value(place: Place) -> bool:
    return bool(find_spoken(place)) and _has_words(4)(place)


def _speaks_to_tools(place: Place) -> bool:
    return place.tools > 0 and _has_words(3)(place)


def _leaves(text: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON text with their keys; nothing of any other."""
    try:
        pending = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    while pending:
        key, part = pending.pop()
        if isinstance(part, dict):
            pending += [(str(name), value) for name, value in part.items()]
        elif isinstance(part, list):
            pending += [(key, value) for value in part]
        else:
            yield key, part


def _has_result(place: Place) -> bool:
    return place.text.strip() not in ("", "None", "null", "{}", "[]", "Done.")


def _has_fact(place: Place) -> bool:
    """A number, a date, or a text that says more than that it went well."""
    facts = [value for _, value in _leaves(place.text) if not isinstance(value, bool) and value is not None]
    if facts:
        return any(NUMBER.search(str(one)) or len(str(one)) > 12 for one in facts)
    return NUMBER.search(place.text) is not None


def _is_read(place: Place) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", place.tool.rpartition(".")[2])
    return bool(words) and READS.fullmatch(words[0].lower()) is not None


def _reads_fact(place: Place) -> bool:
    return _is_read(place) and _has_fact(place)


def _is_measured(place: Place) -> bool:
    """A number that isn't a name: no id, code, count, year or card."""
    named = re.compile(r"(?i)id$|_id|number|code|card|zip|phone|count|year|port|version|index")
    return any(
        isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and value > 9)
        for key, value in _leaves(place.text)
        if not named.search(key)
    )


def _holds_words_of_others(place: Place) -> bool:
    """A read that gives running text which a person wrote: five words that don't say how the call went."""
    if not _is_read(place) or _KEPT_BY_A_SYSTEM.search(place.tool):
        return False
    texts = [value for key, value in _leaves(place.text) if isinstance(value, str) and not _SAYS.search(key)]
    found = texts if place.text.lstrip()[:1] in ("{", "[") else [place.text]
    return any(len(re.findall(r"[^\W\d_]{2,}", one)) >= 5 and not _WENT.search(one) for one in found)


_KEPT_BY_A_SYSTEM = re.compile(r"(?i)status|log\b|(?:^|_)(?:ls|pwd|du|wc|test|build)")
_SAYS = re.compile(r"(?i)status|message$|result|error|warning|path|url|query")
_WENT = re.compile(r"(?i)success|has been|completed|\b(?:moved|copied|added|deleted|sent) (?:to|from)\b")


def _is_discrete(place: Place) -> bool:
    """A read that gives a state in one or two words, or yes or no."""
    return _is_read(place) and any(
        isinstance(value, bool) or (isinstance(value, str) and value.isalpha() and len(value) < 16)
        for _, value in _leaves(place.text)
    )


def _is_long(place: Place) -> bool:
    return _has_result(place) and len(place.text) >= 20


def _parameters(place: Place) -> Mapping[str, Any]:
    found = place.schema.get("parameters") or {}
    properties = found.get("properties") if isinstance(found, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _describes_parameter(place: Place) -> bool:
    described = [one.get("description") for one in _parameters(place).values() if isinstance(one, Mapping)]
    return any(len(str(one or "").split()) >= 3 for one in described)


def _has_peer(place: Place) -> bool:
    return place.tools > 1


def _has_long_name(place: Place) -> bool:
    return re.search("[A-Za-z]{5}", place.tool) is not None


FAMILIES: Mapping[str, Callable[[Place], bool]] = {
    "user": _has_words(3),
    "tool": _has_result,
    "state": _has_result,
    "schema": lambda place: True,
}
RULES: Mapping[str, Callable[[Place], bool]] = {
    "user.ambiguous": _has_spoken_value,
    "user.inconsistent": _has_spoken_value,
    "user.paraphrase": _has_words(6),
    "user.typos": _has_words(4),
    "user.out_of_scope": _speaks_to_tools,
    "user.boundary_probing": _speaks_to_tools,
    "user.topic_drift": _speaks_to_tools,
    "user.interaction_pattern": _has_words(6),
    "tool.erroneous": _has_fact,
    "tool.fabricated_observation": _reads_fact,
    "tool.stale_resource": _reads_fact,
    "tool.numeric_noise": _is_measured,
    "tool.misread": _is_discrete,
    # All of the corpora's calls were carried out: a success is the truth.
    "tool.silent_noop": lambda place: False,
    "tool.incomplete": _is_long,
    "tool.prompt_injection": _holds_words_of_others,
    "schema.paraphrase_tool": lambda place: len(str(place.schema.get("description", "")).split()) >= 5,
    "schema.paraphrase_parameter": _describes_parameter,
    "schema.type_mismatch": lambda place: bool(_parameters(place)),
    "schema.duplicate_swapped": _has_peer,
    "schema.reorder": _has_peer,
    "schema.misleading_description_abbreviated": lambda place: (
        re.search("[A-Za-z]{5}", place.tool) is not None
    ),
    "schema.misleading_time_abbreviated": _has_long_name,
}
