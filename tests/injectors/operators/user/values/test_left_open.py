"""user.ambiguous: what else can be left open, and in which words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.targets import Branch, Half
from tests.injectors.operators.acting import user_target
from tests.injectors.operators.user.values.spoken import TEXT, tool
from tests.injectors.operators.user.values.test_ambiguous import drawn

NUMBER = {"type": "number"}
MATHS = (tool("solve", start=NUMBER, end=NUMBER, radius=NUMBER, bpm=NUMBER, year=NUMBER),)
PLACES = (tool("look_up", city=TEXT, country=TEXT, date=TEXT),)
SHOP = (tool("buy", amount=NUMBER, receiver=TEXT, minutes=NUMBER, province=NUMBER, tweet_id=NUMBER),)
WORKS = (tool("find", artist=TEXT, team=TEXT, symbol=TEXT),)
TEAM = (tool("look_up", team=TEXT),)
STOCK = (tool("look_up", symbol=TEXT),)
LAB = (tool("weigh", compound=TEXT),)
CALLS = (tool("call", duration_minutes=NUMBER),)
CLOCK = (tool("ring", time=TEXT),)
ITEMS = (tool("search", item=TEXT),)
SHAPES = (tool("calculate", base=NUMBER, height=NUMBER, tosses=NUMBER),)
RESULTS = (tool("measure", unit=TEXT, compound=TEXT),)
DEVICES = (tool("set", volume=NUMBER, temperature=NUMBER, order_id=TEXT, person_age=NUMBER),)


def withheld(text: str, tools: tuple[ToolSchema, ...]) -> dict[str, set[str]]:
    """What became of the message, by the value that gave way."""
    found: dict[str, set[str]] = {}
    for half in Half:
        target = replace(user_target(text, tools=tools), branch=Branch(half, opening=text))
        for draw, after in drawn(target, 60):
            assert all(value in text and value in draw["reveal"] for value in _list_vague(draw))
            for value in _list_vague(draw):
                found.setdefault(value, set()).add(after)
    return found


def _list_vague(draw: dict[str, Any]) -> list[str]:
    return [*draw["withheld"], *draw["coarse"]]


@pytest.mark.parametrize(
    ("tools", "text", "value", "part"),
    [
        (MATHS, "List the prime numbers from 50 to 120.", "50 to 120", "List the prime numbers"),
        (MATHS, "Which wars took place between 1800 and 1815?", "between 1800 and 1815", "took place"),
        (
            MATHS,
            "What is the area of a circle whose radius is 4 cm?",
            "radius is 4 cm",
            "the area of a circle?",
        ),
        (MATHS, "Compute the mean of the numbers 4, 8 and 15.", "the numbers 4, 8 and 15", "of some numbers"),
        (MATHS, "Solve the equation where a=3, b=-11 and c=4.", "where a=3, b=-11 and c=4", "the equation"),
        (MATHS, "Write a melody of 16 bars for me.", "16 bars", "Write a melody for me"),
        (PLACES, "How far is it between Boston and Chicago?", "Chicago", "between Boston and another city"),
        (PLACES, "i need a doctor in antioch", "antioch", "i need a doctor"),
        (PLACES, "What is the weather at 52.52, 13.40?", "52.52, 13.40", "at this place"),
        (PLACES, "Find me an event on the 14th, please.", "14th", "Find me an event, please"),
        (SHOP, "Send 85 dollars to Margaret.", "85 dollars", "Send some money to Margaret"),
        (SHOP, "Tell Catherine that it is late now.", "Catherine", "Tell a friend that it is late now"),
        (SHOP, "Find a cleaner in province 3, please.", "province 3", "in this province"),
        (SHOP, "Comment on the tweet with id 10, please.", "id 10", "Comment on the tweet, please"),
        (WORKS, "Look for the paintings by Rodin, please.", "Rodin", "paintings by my favorite artist"),
        (TEAM, "When does Arsenal play next?", "Arsenal", "does my favorite team play next"),
        (STOCK, "Show me Nordwind's stock price now.", "Nordwind", "this company's stock price"),
        (
            WORKS,
            "Find out who signed the Treaty of Vienna then.",
            "Treaty of Vienna",
            "signed this treaty",
        ),
        (WORKS, "Translate this text into Korean, please.", "Korean", "into another language"),
        (
            LAB,
            "Give me the molar mass of glucose in grams.",
            "glucose",
            "mass of this compound in grams",
        ),
        (RESULTS, "Tell me the weight of gold in grams.", "grams", "Tell me the weight of gold"),
        (DEVICES, "Set the volume of the speaker to 40.", "40", "Set the volume of the speaker"),
        (DEVICES, "Keep the room at 19 degrees, please.", "19", "Keep the room at just under 20 degrees"),
        (DEVICES, "Find out where order 44713 is, please.", "44713", "Find out where my order is"),
        (SHOP, "Send 1,250 dollars to Margaret.", "1,250 dollars", "Send between 1,000 and 1,500 dollars"),
        (PLACES, "Find the closest airport to Boston, please.", "Boston", "Find the closest airport, please"),
        (MATHS, "Find the slope at x = 3.", "x = 3", "Find the slope"),
    ],
)
def test_such_values_are_left_open(tools: tuple[ToolSchema, ...], text: str, value: str, part: str) -> None:
    found = withheld(text, tools)
    assert value in found, found.keys()
    assert any(part in after for after in found[value]), found[value]


@pytest.mark.parametrize(
    ("tools", "text", "odd"),
    [
        (MATHS, "Which stocks cost between 100 and 200?", "between 100 and 200"),
        (MATHS, "What is the difference between 5 and 3?", "between 5 and 3"),
        (PLACES, "tell me the temperature in celsius", "celsius"),
        (PLACES, "Show me the team of Real Madrid in general.", "general"),
        (WORKS, "How many stars does it have, 4 stars or more?", "4"),
        (LAB, "Tell me the compound in detail, please.", "detail"),
        (SHOP, "The team moved from 5 to 7 members.", "5 to 7"),
        (RESULTS, "How long are 5 feet in inches?", "inches"),
        (SHOP, "How many shares can I buy with 15 thousand dollars?", "15 thousand dollars"),
        (CALLS, "Set up a call of 1 hour and 30 minutes with us.", "1 hour"),
        (PLACES, "Come back on May 14, please, a week later than planned.", "May 14"),
        (CLOCK, "Ring at 8 in the morning and at 9 in the evening.", "8 in the morning"),
        (PLACES, "I'm currently residing in Boston, find me a doctor.", "Boston"),
        (PLACES, "I'm at Union Square, find me a doctor nearby.", "Union Square"),
        (SHOP, "Buy 50 shares at $180 today.", "50"),
        (SHAPES, "What is the probability of exactly 3 heads in 8 tosses?", "8"),
        (ITEMS, "Look for laptops from Lenovo between $500 and $900.", "laptops"),
    ],
)
def test_what_a_sentence_needs_stays(tools: tuple[ToolSchema, ...], text: str, odd: str) -> None:
    assert odd not in withheld(text, tools)


def test_an_article_goes_with_what_is_left_open() -> None:
    found = withheld("Play some songs by Dale Whitman, please.", WORKS)
    assert found and not any(" a artist" in after for after in found["Dale Whitman"])


def test_a_parameter_whose_name_has_no_word_takes_no_town() -> None:
    assert not withheld(
        "i need a doctor in antioch", (tool("look_up", **{"": TEXT, "日付": TEXT, "_": TEXT}),)
    )


def shown_in(text: str, tools: tuple[ToolSchema, ...], seeds: int = 120) -> list[str]:
    """What is shown in both halves."""
    targets = [replace(user_target(text, tools=tools), branch=Branch(half, opening=text)) for half in Half]
    return [after for target in targets for _, after in drawn(target, seeds)]


@pytest.mark.parametrize(
    "text",
    [
        "Calculate the area of a circle with a radius of 5 units.",
        "How much will 20,000 dollars grow to over 8 years?",
        "Write a melody of 16 bars for me.",
        "Look for the paintings by Rodin, please.",
    ],
)
def test_no_placeholder_stands_for_a_value(text: str) -> None:
    found = shown_in(text, (*MATHS, *WORKS, tool("grow", principal=NUMBER, years=NUMBER)))
    assert found and not any("a certain" in after or "a particular" in after for after in found)


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        (
            "Find restaurants in Boston within 10 miles near me.",
            r"near me near|around here|in (?:my|this) area",
        ),
        ("Find concerts near me, in Boston.", r"near me,? near|around here"),
    ],
)
def test_what_is_near_is_said_once(text: str, odd: str) -> None:
    assert not any(re.search(odd, after) for after in shown_in(text, PLACES))


def test_words_of_schemas_are_no_words_of_a_user() -> None:
    tools = (
        tool("trace", end_available_date=TEXT, search_type={"type": "string", "enum": ["exact", "fuzzy"]}),
    )
    found = shown_in("Run an exact trace until March 3, please.", tools)
    assert found and not any(re.search("available date|search type", after) for after in found)


def test_a_type_of_something_is_a_kind_of_it() -> None:
    tools = (tool("find", event_type={"type": "string", "enum": ["Music", "Sports"]}),)
    found = shown_in("Find me some sports events, please, for one event a day.", tools)
    assert any("kind of event" in after for after in found)
    assert not any("event type" in after for after in found)


def test_a_country_that_goes_is_called_one() -> None:
    found = shown_in("Find me a doctor in Boston, or any doctor in France.", PLACES)
    gone = [after for after in found if "France" not in after]
    assert gone and not any(re.search(r"\b(?:city|town|location)\b", after) for after in gone)


def test_a_month_that_is_told_twice_stays() -> None:
    text = "I'd like to visit Oslo in March, what is the weather on March 12 there?"
    assert all("in March" in after and "on March 12" in after for after in shown_in(text, PLACES))


@pytest.mark.parametrize(
    "text",
    [
        "You are a helpful assistant. Find events in Boston on March 3.",
        "Act as a travel agent for people in Boston on March 3.",
        "Find events. The user wants those in Boston on March 3.",
    ],
)
def test_what_tells_an_agent_its_part_stays(text: str) -> None:
    assert not shown_in(text, PLACES)


def test_most_messages_say_that_a_value_is_open() -> None:
    texts = (
        "Find me a hotel in Boston.",
        "Check the price of milk in Boston.",
        "Send 85 dollars to Margaret.",
    )
    for text in texts:
        found = [draw for draw, _ in drawn(user_target(text, tools=(*PLACES, *SHOP)), 200)]
        silent = [draw for draw in found if not _speaks(draw)]
        assert len(found) > 100 and len(silent) < len(found) / 4


def _speaks(draw: dict[str, Any]) -> bool:
    """Whether a remark of a pack stands in it."""
    return any(re.search("#(?:offer|note|lack|within)-", entry) for entry in draw["phrases"])


def test_initials_are_no_file() -> None:
    files = (tool("find", file_name=TEXT, city=TEXT),)
    assert not any("file" in after for after in shown_in("Find a hotel in Washington D.C. please.", files))


def test_a_calculation_is_told_which_number_is_missing() -> None:
    found = shown_in("Calculate the area of a triangle with base 10 and height 5.", SHAPES)
    assert found and all("base and height" in after.lower() for after in found)
