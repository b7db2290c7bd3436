"""A remark beside a result is one that the system behind it could make: of its own kind, or of none."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language
from tests.injectors.operators.acting import BAGGAGE, acts, result_target

KINDS = {
    "air": "airline",
    "journey": "itinerary",
    "hotel": "hotel",
    "car": "vehicle",
    "home": "thermostat",
    "shell": "grep",
    "git": "git",
    "build": "pytest",
    "sql": "sql",
    "bank": "bank",
    "trade": "trading",
    "shop": "cart",
    "mail": "inbox",
    "social": "hashtag",
    "ticket": "ticket",
    "clinic": "clinic",
    "web": "web",
    "weather": "weather",
    "map": "geocode",
    "rate": "exchange_rate",
    "math": "median",
    "login": "login",
}
"""A word that only remarks of that kind are about."""

FLIGHT = {"booking_id": "KX93TL", "origin": "OSL", "cabin": "economy", "total_bags": 1, "paid_bags": 0}
STAY = {"booking_id": "H7", "hotel": "Aurora", "room_type": "double", "nights": 3}

OWN: list[tuple[str, dict[str, Any], str]] = [
    # A tool, its result, and the kinds of remarks that may stand beside it.
    ("get_booking", FLIGHT, "air journey"),
    ("get_reservation", BAGGAGE, "air journey"),
    ("get_booking", STAY, "hotel"),
    ("reserve_room", STAY, "hotel"),
    ("book_table", {"booking_id": "T1", "restaurant": "Da Mario", "guests": 4}, ""),
    ("order_taxi", {"trip_id": 5, "distance": 3.2, "car": "saloon"}, "map"),
    ("get_forecast", {"wind_speed": 14, "temperature": 21}, "weather"),
    ("rent_car", {"car_class": "compact", "days": 3}, ""),
    ("search_engine", {"page": 1, "query": "lisbon", "total": 40}, ""),
    ("list_members", {"page": 1, "query": "smith", "summary": "2 found"}, ""),
    ("create_lab_test", {"test": "ferritin", "patient": "P7"}, "clinic"),
    ("find_branch", {"branch": "Old Town", "opens": "09:00"}, ""),
    ("list_buildings", {"building": "B2", "floors": 4}, ""),
    ("check_stock", {"stock": 14, "warehouse": "North"}, ""),
    ("exchange_items", {"order_id": "W1", "payment_method": "card", "address": "Oslo"}, ""),
    ("update_customer", {"username": "ann", "email": "ann@example.com", "city": "Oslo"}, ""),
    ("transfer_to_agent", {"message": "Transferred.", "account": "A1"}, ""),
    ("rate_film", {"average": 4.2, "percentage": 84}, ""),
    ("buy_concert_ticket", {"ticket": "C5", "event": "Fado night"}, ""),
    ("upload_file", {"file": "lease.pdf", "size": 9000}, ""),
    ("grep", {"matches": 3}, "shell"),
    ("git_push", {"branch": "fix", "commit": "1f3c"}, "git"),
    ("run_tests", {"passed": 40}, "build"),
    ("run_query", {"rows": 4, "database": "sales"}, "sql"),
    ("get_account", {"balance": 90.5, "iban": "NO93"}, "bank"),
    ("get_watchlist", {"symbols": ["KX"]}, "trade"),
    ("send_email", {"id": 5, "status": "sent"}, "mail"),
    ("start_engine", {"fuel_level": 40}, "car"),
    ("set_thermostat", {"humidity": 40}, "home"),
    ("get_directions", {"minutes": 14}, "map"),
    ("convert_currency", {"amount": 14}, "rate"),
]


def _read_entries() -> dict[str, Entry]:
    packs = [pack for pack in load_all() if pack.language is Language.EN]
    return {f"{pack.name}#{entry.id}": entry for pack in packs for entry in pack.entries}


ENTRIES = _read_entries()


def _find_kinds(tool: str, result: dict[str, Any]) -> Counter[str]:
    """The kinds of the remarks that are drawn beside a result over many seeds."""
    schema = ToolSchema(tool, "", {"type": "object", "properties": {}})
    target = replace(result_target(json.dumps(result)), tool=tool, tools=(schema,))
    about = [
        ENTRIES[name.partition("@")[0] + "#" + name.partition("#")[2]].about
        for one in acts("tool.misleading", target, seeds=60)
        if one is not None
        for name in one[0]["phrases"]
    ]
    return Counter(kind for words in about for kind in _name_kinds(words))


def _name_kinds(words: tuple[str, ...]) -> list[str]:
    named = [kind for kind, word in KINDS.items() if word in words]
    return named or (["other"] if words else ["any"])


@pytest.mark.parametrize(("tool", "result", "kinds"), OWN, ids=lambda one: one if type(one) is str else "-")
def test_a_remark_is_of_the_results_kind(tool: str, result: dict[str, Any], kinds: str) -> None:
    found = _find_kinds(tool, result)
    assert found and set(found) <= set(kinds.split() or ["any"]), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_remarks_in_both_halves(kind: str) -> None:
    halves = Counter(
        entry.half
        for entry in ENTRIES.values()
        if entry.operator == "tool.misleading" and kind in _name_kinds(entry.about)
    )
    assert len(halves) == 2 and min(halves.values()) >= 3, halves
