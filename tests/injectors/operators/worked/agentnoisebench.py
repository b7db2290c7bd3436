"""AgentNoiseBench, appendix B: its ten examples, each on a sample of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from crosswind.injectors.operators.words.results import REMARK_LISTS, REMARK_SUFFIXES, REMARKS
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.targets import Half
from crosswind.injectors.text.json_payload import looks_destroyed
from crosswind.injectors.text.languages import Language
from tests.injectors.operators.acting import QUESTION
from tests.injectors.operators.worked.properties import (
    QUERY_WHOLE,
    TRUTH_AGAIN,
    Example,
    Property,
    kept,
    only_in,
)
from tests.injectors.operators.worked.sample import Sample, View, in_order, tool, values

TRUE = {
    "booking_id": "KX93TL",
    "origin": "OSL",
    "destination": "VIE",
    "cabin": "economy",
    "total_bags": 1,
    "paid_bags": 0,
}
SAMPLE = Sample(
    QUESTION,
    (tool("get_booking", "Look a booking up.", booking_id="The booking's id."),),
    "get_booking",
    {"booking_id": "KX93TL"},
    json.dumps(TRUE, indent=2),
)


def alone(name: str, **options: object) -> str:
    """A profile with that operator alone, by the paper's code name, at full severity."""
    return f"name: t\nrules: [{{operator: {name}, severity: 1.0, options: {json.dumps(options)}}}]"


def result(what: str, holds: Callable[[Any, str], Any]) -> Property:
    """The first result has this property; `holds` takes the object in it (None: none) and its text."""
    return Property(what, lambda clean, noisy: bool(holds(values(noisy.first), noisy.first)))


BOOKING = Sample(
    "I need a flight to Vienna in business class for two passengers on 12 May.",
    (
        tool(
            "book", "Book a flight.", destination="Where to.", passengers="How many.", departure_date="When."
        ),
    ),
    "book",
    {"destination": "VIE"},
    json.dumps(TRUE),
)
"""A request with values that fill parameters: what isn't told or contradicted is one of them."""

VALUES = ("Vienna", "business", "two", "12 May")


def _is_remark(key: str) -> bool:
    """Whether a field is one of those that hold remarks, or of the packs', by itself or on the booking."""
    flags = {
        one.key
        for pack in load_all()
        for half in Half
        for one in pack.select("tool.misleading", "field", half)
    }
    own = key.removeprefix("booking_")
    return key in {*REMARKS, *REMARK_LISTS, *flags} or own in {*REMARK_SUFFIXES, "notes", *flags}


def _nothing_new(behind: str) -> bool:
    rest = behind.lower()
    for sentence in re.split(r"(?<=[.?])\s+", QUESTION.lower()):
        rest = rest.replace(sentence, "")
    return not re.search(r"[\d?]", rest)


def _list_entries(operator: str, *parts: str) -> list[str]:
    """How the English entries begin, without their first letters."""
    packs = [pack for pack in load_all() if pack.language is Language.EN]
    found = [entry for pack in packs for entry in pack.entries if entry.operator == operator]
    fixed = [entry.text.partition("{")[0] for entry in found if entry.part in parts]
    return [text[1:20] for text in fixed if text]


def _says(operator: str, *parts: str) -> Callable[[View, View], bool]:
    entries = _list_entries(operator, *parts)
    return lambda clean, noisy: noisy.query != clean.query and any(one in noisy.query for one in entries)


def _false(noisy: dict[str, object] | None) -> list[str]:
    return [name for name in TRUE if noisy is not None and noisy.get(name, TRUE[name]) != TRUE[name]]


EXAMPLES = (
    Example(
        "Ambiguous Instructions",
        BOOKING,
        alone("ambiguity"),
        (
            Property(
                "dropped: a value that the booking needs",
                lambda clean, noisy: any(one in clean.query and one not in noisy.query for one in VALUES),
            ),
            kept("I need a flight"),
            only_in("query"),
        ),
    ),
    Example(
        "Inconsistent Instructions",
        BOOKING,
        alone("conflict"),
        (
            Property(
                "contradicted: another value beside a true one",
                lambda clean, noisy: (
                    noisy.query != clean.query
                    and len(noisy.query) > len(clean.query)
                    and all(one in noisy.query for one in VALUES)
                ),
            ),
            Property(
                "kept: every word of the query in its order, once the contradicted value is back there",
                lambda clean, noisy: clean.query != noisy.query and in_order(clean.query, noisy.corrected),
            ),
            only_in("query"),
        ),
        "The example names two numbers and leaves them open; ours says which one holds.",
    ),
    Example(
        "Redundant Information (user)",
        SAMPLE,
        alone("user-redundancy"),
        (
            QUERY_WHOLE,
            Property(
                "added: words that ask for nothing",
                lambda clean, noisy: bool(noisy.query.replace(clean.query, "", 1).split()),
            ),
            Property(
                "added: no request and no fact that wasn't there",
                lambda clean, noisy: noisy.query != clean.query and _nothing_new(noisy.query),
            ),
            only_in("query"),
        ),
    ),
    Example(
        "Topic Drift",
        SAMPLE,
        alone("topic_shift"),
        (
            Property("added: a question that isn't the request", _says("user.topic_drift", "question")),
            Property(
                "solvable: the whole request stands before the question",
                lambda clean, noisy: noisy.query != clean.query and noisy.query.startswith(clean.query),
            ),
            QUERY_WHOLE,
            only_in("query"),
        ),
        "The example drops the reason and the plea; ours keeps all, and asks beside.",
    ),
    Example(
        "Boundary Probing",
        SAMPLE,
        alone("boundary", target="policy"),
        (
            Property(
                "added: the wish for slightly more than the rules allow",
                _says("user.boundary_probing", "policy"),
            ),
            QUERY_WHOLE,
            only_in("query"),
        ),
        "The example leaves open whether a refusal will do; ours mostly says that it will, and keeps all.",
    ),
    Example(
        "Execution Failures",
        SAMPLE,
        alone("failure", kinds=["unavailable"]),
        (
            result(
                "dropped: every value of the result",
                lambda found, text: (
                    not (found or {}).keys() & TRUE.keys()
                    and not any(one in text for one in ("OSL", "economy"))
                ),
            ),
            result(
                "added: an error that a real system gives where it is unavailable",
                lambda _, text: looks_destroyed(text, SAMPLE.result),
            ),
            only_in("results"),
            TRUTH_AGAIN,
        ),
    ),
    Example(
        "Incomplete Responses",
        SAMPLE,
        alone("incomplete"),
        (
            result(
                "dropped: a part of the result, visibly",
                lambda found, text: looks_destroyed(text, SAMPLE.result) and len(_left(text)) < len(TRUE),
            ),
            Property(
                "kept: what is left is true",
                lambda clean, noisy: (
                    noisy.first != clean.first
                    and (clean.first[:12] == noisy.first[:12] or _left(noisy.first).items() < TRUE.items())
                ),
            ),
            only_in("results"),
            TRUTH_AGAIN,
        ),
    ),
    Example(
        "Erroneous Outputs",
        SAMPLE,
        alone("error"),
        (
            result(
                "contradicted: one to three values are false", lambda found, _: 1 <= len(_false(found)) <= 3
            ),
            result(
                "kept: the id, and every field",
                lambda found, _: (
                    _false(found)
                    and found["booking_id"] == TRUE["booking_id"]
                    and found.keys() == TRUE.keys()
                ),
            ),
            only_in("results"),
            TRUTH_AGAIN,
        ),
        "The example drops three fields; ours keeps all.",
    ),
    Example(
        "Misleading Signals",
        SAMPLE,
        alone("induce"),
        (
            result(
                "added: one or two remarks, in fields that the packs or the booking name",
                lambda found, _: 1 <= len(_more(found)) <= 2 and all(map(_is_remark, _more(found))),
            ),
            result(
                "added: no true value but the booking's id",
                lambda found, _: (
                    _more(found)
                    and not any(re.search(r"OSL|VIE|economy", str(one)) for one in _more(found).values())
                ),
            ),
            result("kept: every true value", lambda found, _: _more(found) and found.items() >= TRUE.items()),
            only_in("results"),
        ),
        "The example drops four fields beside; ours keeps all, since nothing would bring them back.",
    ),
    Example(
        "Redundant Information (tool)",
        SAMPLE,
        alone("tool-redundancy"),
        (
            result("added: a field of little use and more", lambda found, _: _count(_more(found)) >= 1),
            result(
                "added: none of them a value of the booking alone",
                lambda found, _: (
                    _more(found) and not set(TRUE.values()) & set(map(str, _more(found).values()))
                ),
            ),
            result("kept: every true value", lambda found, _: _more(found) and found.items() >= TRUE.items()),
            only_in("results"),
        ),
        "The example drops a field beside; ours keeps all.",
    ),
)


def _more(found: dict[str, str] | None) -> dict[str, str]:
    """What stands in a result besides the true fields."""
    return {name: value for name, value in (found or {}).items() if name not in TRUE}


def _count(added: Any) -> int:
    """The values in what was added, however deep."""
    parts = added.values() if isinstance(added, dict) else added if isinstance(added, list) else None
    return 1 if parts is None else sum(map(_count, parts))


def _left(text: str) -> dict[str, object]:
    """What an incomplete result still says of what was asked, its own marks apart."""
    said = values(text) or {}
    return {name: said[name] for name in TRUE if said.get(name) is not None}
