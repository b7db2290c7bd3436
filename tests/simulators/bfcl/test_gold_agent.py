"""The gold agent makes a call only when it can see the call's values, and recovers as operators declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from crosswind.simulators.bfcl.inside.gold_agent import ASK, ATTEMPTS, DONE, GAVE_UP, GoldAgent
from crosswind.simulators.bfcl.inside.values import Call

FIND = {
    "name": "find_patient",
    "description": "Find a patient",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}
BOOK = {
    "name": "book_bed",
    "description": "Book a bed",
    "parameters": {
        "type": "object",
        "properties": {"patient": {"type": "string"}, "nights": {"type": "integer"}},
    },
}
SAID = "Book a bed for Ada Lund for 12 nights."
FOUND = '{"patient": "P-77", "ward": "3"}'


class Booking:
    """An entry with two gold calls: the second takes what the first finds."""

    said = (SAID,)
    calls = (
        (
            Call("find_patient", {"name": "Ada Lund"}, FOUND),
            Call("book_bed", {"patient": "P-77", "nights": 12}, "booked"),
        ),
    )
    tools = (FIND, BOOK)


def shown(*tools: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools or (FIND, BOOK)]


def talk(
    replies: Sequence[str], said: str = SAID, tools: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The agent's messages; what comes back for each is a result, or the user's answer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    waiting = iter(replies)
    while True:
        message = GoldAgent(Booking()).decide(messages, list(tools) or shown())
        messages.append(message)
        reply = next(waiting, None)
        if reply is None:
            return [one for one in messages if one["role"] == "assistant"]
        if calls := message.get("tool_calls"):
            messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": reply})
        else:
            messages.append({"role": "user", "content": reply})


def called(message: dict[str, Any]) -> str:
    """The tool that the message calls, or its text."""
    return (
        str(message["tool_calls"][0]["function"]["name"]) if message.get("tool_calls") else message["content"]
    )


def test_without_noise_it_makes_the_gold_calls() -> None:
    assert [called(one) for one in talk([FOUND, "booked"])] == ["find_patient", "book_bed", DONE]


def test_a_result_that_lost_a_value_is_asked_for_again() -> None:
    made = talk(["503 upstream unavailable", FOUND, "booked"])
    assert [called(one) for one in made] == ["find_patient", "find_patient", "book_bed", DONE]


def test_a_value_that_the_user_kept_back_is_asked_for() -> None:
    made = talk([FOUND, SAID, "booked"], said="Book a bed for Ada Lund for a while, P-112.")
    assert [called(one) for one in made] == ["find_patient", ASK, "book_bed", DONE]


def test_it_gives_up_where_nothing_brings_the_value_back() -> None:
    made = talk(["{}"] * ATTEMPTS)
    assert [called(one) for one in made] == [*["find_patient"] * ATTEMPTS, GAVE_UP]


@pytest.mark.parametrize("answer", ["no such tool", "nights must be of type integer"])
def test_a_refusal_leads_to_another_way(answer: str) -> None:
    mistyped = {**BOOK["parameters"]["properties"], "nights": {"type": "string"}}  # type: ignore[index]
    other = {**BOOK, "name": "reserve_bed", "parameters": {"type": "object", "properties": mistyped}}
    made = talk([FOUND, answer, "booked"], tools=shown(FIND, other))
    assert [called(one) for one in made] == ["find_patient", "reserve_bed", "reserve_bed", DONE]
    assert made[1] != made[2], "the types that are meant, where those declared are refused"
