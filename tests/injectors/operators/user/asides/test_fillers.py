"""What of a user's own words is said again: only what is sure, and in few words."""

from __future__ import annotations

import pytest

from crosswind.injectors.operators.user.asides.fillers import find_thing, list_values, shorten_request
from crosswind.injectors.text.languages import Language


@pytest.mark.parametrize(
    "text,values",
    [
        ("Transfer 80 euros to my landlord on November 15.", ["80 euros", "November 15"]),
        ("Fill the tank with 10 gallons.", ["10 gallons"]),
        ("Change it from May 3 to May 5.", []),
        ("A 250,000 dollar mortgage over 30 years", ["30 years"]),
        ("Write 'until 15 May' on the board.", []),
        ("Is 450 a prime? Show the top 10 customers.", []),
        ("How many bags go with KX93TL?", ["KX93TL"]),
    ],
)
def test_only_a_value_that_stands_alone_is_said_again(text: str, values: list[str]) -> None:
    assert list_values(text, Language.EN) == values


@pytest.mark.parametrize(
    "text,language,values",
    [
        (
            "Cancel C-5905-4821, please. Book me on 2026-12-09 for 30 minutes, but never after 15:30.",
            "en",
            ["2026-12-09", "30 minutes"],
        ),
        ("Cancel C-5905-4821 and then book me on 2026-12-09 at 15:30.", "en", ["2026-12-09", "15:30"]),
        ("I was born on 02.04.1941, and I can only come before 11:00, P-4821.", "en", ["02.04.1941"]),
        ("Bitte nicht vor 9 Uhr. Ich komme am 2026-12-12, Nummer P-1411.", "de", ["2026-12-12", "P-1411"]),
        ("Jamais avant 10h30. Je viens le 2026-12-12 avec P-1411.", "fr", ["2026-12-12", "P-1411"]),
        ("Nunca antes de las 10:00. Voy el 2026-12-12 con P-1411.", "es", ["2026-12-12", "P-1411"]),
    ],
)
def test_values_of_one_clause_are_said_again_and_no_bounds(
    text: str, language: str, values: list[str]
) -> None:
    assert list_values(text, Language(language)) == values


def test_the_end_of_a_range_is_no_value() -> None:
    assert list_values("Ein Hotel vom 15. bis 17. November", Language.DE) == []
    assert list_values("Ask for 10-15 people, and for 7 to 20 dollars.", Language.EN) == []
    assert list_values("Bring size 7a shoes and 20 dollars.", Language.EN) == ["20 dollars"]
    # Quadratic work on the digits takes half a second.
    assert list_values(f"Account {'1' * 3_900} : 20 dollars", Language.EN) == ["20 dollars"]


@pytest.mark.parametrize(
    "text,short",
    [
        ("Book a business class flight from LAX to JFK on May 3, please.", "book a business class flight"),
        ("Fill up the tank with 10 gallons, then lock the doors.", None),
        ("Put a meeting with Dana on my calendar for Thursday.", None),
        ("Calculate the mean of 3, 7 and 12.", None),
        ("Find out why the test fails.", None),
    ],
)
def test_a_request_is_said_again_without_its_circumstances(text: str, short: str | None) -> None:
    assert shorten_request(text) == short


@pytest.mark.parametrize(
    "text,thing",
    [
        ("What is the area of a triangle with base 10 and height 5?", "the area"),
        ("What's the weather like in Rome?", None),
        ("What's the weather in Rome and what should I wear?", None),
        ("Find me a cheap hotel in Lisbon for two people.", "a cheap hotel"),
        ("Get the exchange rate.", None),
        ("Send a message to Dana.", None),
        ("Book a table for four. Then tell Ana about it.", None),
        ("What is the best way to get to Rome?", None),
    ],
)
def test_what_is_asked_for_is_said_again_only_where_it_is_sure(text: str, thing: str | None) -> None:
    assert find_thing(text) == thing
