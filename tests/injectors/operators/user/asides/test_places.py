"""Where something can stand beside a message, and which of its sentences asks."""

from __future__ import annotations

import pytest

from crosswind.injectors.operators.user.asides.asked import ends_in_request, find_asked
from crosswind.injectors.operators.user.asides.places import find_places
from crosswind.injectors.packs.parts import Asked


@pytest.mark.parametrize(
    ("text", "before", "behind"),
    [
        ("Book a table for four.", True, True),
        ("You are a helpful travel agent. Find a hotel in Rome.", False, True),
        ("Weather for <<CITY>> please", False, True),
        ("I need a hotel in Rome, can you", True, False),
        ("Compare the price of the red one and", True, False),
        ("Ship it to Portland, OR", True, True),
    ],
)
def test_nobody_greets_a_prompt_or_goes_on_where_a_message_breaks_off(
    text: str, before: bool, behind: bool
) -> None:
    places = find_places(text, text)
    assert (places.before, places.behind) == (before, behind)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What's the weather in Paris?", True),
        ("What's the weather in Paris? I fly there on Friday.", False),
        ("I fly to Paris on Friday. Show me the weather.", True),
    ],
)
def test_the_last_sentence_asks(text: str, asks: bool) -> None:
    assert ends_in_request(text) is asks


@pytest.mark.parametrize(
    "text", ["What is 12 times 7?", "Find the least common multiple of 4 and 6.", "What's 8 divided by 3?"]
)
def test_arithmetic_in_words_is_a_calculation(text: str) -> None:
    assert Asked.CALCULATE in find_asked(text)
