"""Noise on results of many kinds of tools: their form and ids stay, and no word gives the noise away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.targets import Branch, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from tests.injectors.operators.acting import acts, result_target

KINDS = {
    "rows": json.dumps(
        [
            {"id": 4711, "customer": "Ana Ruiz", "city": "Lisbon", "status": "paid", "total": 129.5},
            {"id": 4712, "customer": "Tom Berg", "city": "Oslo", "status": "open", "total": 48.0},
            {"id": 4713, "customer": "Mei Lin", "city": "Osaka", "status": "refunded", "total": 310.25},
        ]
    ),
    "log of commits": (
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8\nAuthor: Ana Ruiz <ana@example.com>\n"
        "Date:   Tue Mar 4 10:22:01 2026 +0100\n\n    Fix rounding of totals in 3 reports\n\n"
        "commit 1b2e4c6d0ae598e95dc970b74767f19372d61af8\nAuthor: Tom Berg <tom@example.com>\n"
        "Date:   Mon Mar 3 17:05:44 2026 +0100\n\n    Add retry to the uploader (closes #412)\n"
    ),
    "hotels": json.dumps(
        {
            "city": "Porto",
            "hotels": [
                {"hotelId": "H-201", "name": "Casa do Rio", "pricePerNight": 118.0, "checkInFrom": "15:00"},
                {"hotelId": "H-377", "name": "Hotel Ribeira", "pricePerNight": 92.5, "checkInFrom": "14:00"},
            ],
            "count": 2,
        },
        indent=2,
    ),
    "weather": (
        '{"city":"Bergen","temperature_c":7.4,"humidity":83,"condition":"rainy",'
        '"seen":"2026-11-14T08:30:00Z"}'
    ),
    "shell": (
        "Filesystem      Size  Used  Avail\n/dev/sda1        50G   31G    17G\n\n"
        "-rw-r--r-- 1 ana ana 2048 Mar 4 10:22 a.txt"
    ),
    "bank": json.dumps(
        {
            "account_id": "ACC-99120",
            "binding_card": 1974202140965533,
            "balance": 2450.75,
            "frozen": False,
            "transactions": [{"transaction_id": "T-1", "amount": -45.2, "date": "2026-10-03"}],
        }
    ),
    "calendar": json.dumps(
        {
            "events": [
                {"eventId": "e17", "start": "2026-05-06T09:30:00+02:00", "room": "Blue", "attendees": ["ana"]}
            ]
        }
    ),
    "sensors": '{"room":"kitchen","temperature":21.5,"co2_ppm":612,"window_open":false,"mode":"eco"}',
    "search page": (
        "1. Canberra - Wikipedia\nIt has a population of 456,692 and lies 280 km south of Sydney.\n"
        "2. Canberra facts\nPopulation: 456,692. Tickets cost $12.50. The museum opens at 9:30."
    ),
    "envelope": json.dumps(
        {"content": [{"type": "text", "text": "Issue ABC-88\nStatus: open\nIt fails after 30 seconds."}]}
    ),
}
FALSE = (
    *("tool.erroneous", "tool.fabricated_observation", "tool.stale_resource"),
    *("tool.misread", "tool.numeric_noise"),
)
ADDED = ("tool.misleading", "tool.redundant", "state.irrelevant", "tool.prompt_injection")
CONFESSING = re.compile(
    r"on_file|_confirmed|_per_record|uncertain|\bstale\b|not reached|generated|fabricat|consistency check"
    r"|false value|out of date",
    re.IGNORECASE,
)
ID = re.compile(r"\b(?:[A-Z]{1,3}-\d+|e17|[0-9a-f]{40}|1974202140965533|471\d|#412|\S+@\S+)")
TOOLS = (
    ToolSchema("get_record", "Read a record.", {"type": "object", "properties": {}}),
    ToolSchema(
        "set_mode",
        "Set the mode.",
        {"type": "object", "properties": {"mode": {"type": "string", "enum": ["off", "eco", "comfort"]}}},
    ),
)


def noisy(name: str, severity: float = 0.7, seeds: int = 40) -> Iterator[tuple[str, str]]:
    for text in KINDS.values():
        target = replace(result_target(text, {}), tools=TOOLS, branch=Branch(opening="What does it say?"))
        assert isinstance(target, ToolResultTarget)
        yield from ((text, one[1]) for one in acts(name, target, severity, seeds) if one and one[1] != text)


@pytest.mark.parametrize("name", [*FALSE, *ADDED])
def test_form_and_ids_stay_and_nothing_confesses(name: str) -> None:
    kinds = set()
    for text, after in noisy(name):
        kinds.add(text)
        value = parse_json(text)
        assert is_container(parse_json(after)) is is_container(value)
        assert set(ID.findall(text)) <= set(ID.findall(after))
        assert not CONFESSING.search(after), after
        if name in FALSE and isinstance(value, dict):
            keys = [key for key in parse_json(after) if key in value]
            assert keys == list(value)
    # Few systems pass on what others wrote; irrelevant lines stand beside texts of their kind alone.
    fewest = {
        "tool.redundant": 7,
        "tool.misread": 5,
        "tool.numeric_noise": 5,  # Prices are no readings.
        "tool.stale_resource": 6,
        "tool.prompt_injection": 0,
        "state.irrelevant": 6,
    }
    assert len(kinds) >= fewest.get(name, 8)


@pytest.mark.parametrize("name", FALSE)
def test_false_results_are_as_long_as_true_ones(name: str) -> None:
    for text, after in noisy(name):
        assert abs(len(after) - len(text)) <= 0.1 * len(text) + 30
