"""A remark beside a result is one that the system behind it could make, or there is none."""

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
    "price": "fare",
    "quote": "ticker",
    "watchlist": "watchlist",
    "trade": "stock_order",
    "rate": "exchange_rate",
    "weather": "forecast",
    "route": "directions",
    "distance": "distance",
    "balance": "balance",
    "order": "order_status",
    "delivery": "parcel",
    "product": "in_stock",
    "booking": "itinerary",
    "schedule": "timetable",
    "hours": "opens",
    "event": "concert",
    "food": "calories",
    "estimate": "prediction",
    "drug": "side_effects",
    "translation": "translation",
    "counts": "likes",
    "rating": "ratings",
    "choice": "song",
    "shell": "bash",
    "film": "imdb",
    "upload": "upload_file",
    "mail": "email",
    "engine": "start_engine",
    "thermostat": "thermostat",
    "ticket": "create_ticket",
}
"""A word that only remarks of that kind are about."""
FLIGHT = {"booking_id": "KX93TL", "origin": "OSL", "cabin": "economy", "total_bags": 1, "paid_bags": 0}
STAY = {"booking_id": "H7", "hotel": "Aurora", "room_type": "double", "nights": 3}
SONGS = {"songs": [{"title": "Blue Moon"}, {"title": "Night Train"}]}

OWN: list[tuple[str, dict[str, Any], str]] = [
    # A tool, its result, and the kinds of remarks that may stand beside it.
    ("get_booking", FLIGHT, "booking"),
    ("get_reservation", BAGGAGE, "booking"),
    ("reserve_room", STAY, "booking"),
    ("get_forecast", {"wind_speed": 14, "temperature": 21}, "weather"),
    ("get_order", {"id": "W1", "status": "pending"}, "order"),
    ("get_account", {"balance": 90.5, "iban": "NO93"}, "balance"),
    ("get_watchlist", {"symbols": ["KX"]}, "watchlist"),
    ("get_directions", {"minutes": 14}, "route"),
    ("convert_currency", {"amount": 14}, "rate"),
    ("buy_concert_ticket", {"ticket": "C5", "event": "Fado night"}, "event"),
    ("find_songs", SONGS, "choice"),
    ("check_stock", {"stock": 14, "warehouse": "North"}, ""),
    ("list_members", {"page": 1, "query": "smith", "summary": "2 found"}, ""),
    ("create_lab_test", {"test": "ferritin", "patient": "P7"}, ""),
    ("find_branch", {"branch": "Old Town", "staff": 9}, ""),
    ("list_buildings", {"building": "B2", "floors": 4}, ""),
    ("update_customer", {"username": "ann", "email": "ann@example.com", "city": "Oslo"}, ""),
    ("transfer_to_agent", {"message": "Transferred.", "account": "A1"}, ""),
    ("rate_film", {"average": 4.2, "percentage": 84}, "film"),
    ("upload_file", {"file": "lease.pdf", "size": 9000}, "upload"),
    ("grep", {"matches": 3}, ""),
    ("git_push", {"branch": "fix", "commit": "1f3c"}, ""),
    ("run_tests", {"passed": 40}, ""),
    ("run_query", {"rows": 4}, ""),
    ("calculate_cost", {"cost": 4.5}, ""),
    ("send_email", {"id": 5, "status": "sent"}, "mail"),
    ("start_engine", {"fuel_level": 40}, "engine"),
    ("set_thermostat", {"target_temperature": 20}, "thermostat"),
    ("get_zipcode", {"zipcode": "94016"}, ""),
    ("search_flights", {"price": 120.5}, "price"),
    ("list_airports", {"airports": ["OSL", "BGO"]}, ""),
    ("list_tickets", {"tickets": [{"id": 7}]}, "other"),
    ("create_ticket", {"id": 7, "status": "open"}, "ticket"),
    ("list_events", {"events": [{"title": "Sync"}]}, ""),
]


def _read_entries() -> dict[str, Entry]:
    packs = [pack for pack in load_all() if pack.language is Language.EN]
    return {f"{pack.name}#{entry.id}": entry for pack in packs for entry in pack.entries}


ENTRIES = _read_entries()


def _find_kinds(tool: str, result: dict[str, Any]) -> Counter[frozenset[str]]:
    """The kinds of each remark that is drawn beside a result over many seeds. A field may be on several."""
    schema = ToolSchema(tool, "", {"type": "object", "properties": {}})
    target = replace(result_target(json.dumps(result)), tool=tool, tools=(schema,))
    about = [
        ENTRIES[name.partition("@")[0] + "#" + name.partition("#")[2]].about
        for one in acts("tool.misleading", target, seeds=60)
        if one is not None
        for name in one[0]["phrases"]
    ]
    return Counter(frozenset(_name_kinds(words)) for words in about)


def _name_kinds(words: tuple[str, ...]) -> list[str]:
    named = [kind for kind, word in KINDS.items() if word in words]
    return named or ["other"]


@pytest.mark.parametrize(("tool", "result", "kinds"), OWN, ids=lambda one: one if type(one) is str else "-")
def test_a_remark_is_of_the_results_kind(tool: str, result: dict[str, Any], kinds: str) -> None:
    found, wanted = _find_kinds(tool, result), set(kinds.split())
    assert all(one & wanted for one in found), found
    assert wanted <= {kind for one in found for kind in one}, found


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_remarks_in_both_halves(kind: str) -> None:
    halves = Counter(
        entry.half
        for entry in ENTRIES.values()
        if entry.operator == "tool.misleading" and kind in _name_kinds(entry.about)
    )
    assert len(halves) == 2 and min(halves.values()) >= 2, halves
