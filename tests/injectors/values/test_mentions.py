from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.values.forms import LONGEST, find_forms
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import Parameter, ValueType, list_parameters

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def tool(name: str, **parameters: Any) -> ToolSchema:
    return ToolSchema(name, "", {"type": "object", "properties": parameters})


TRAVEL = ToolList(
    [
        tool(
            "book_flight",
            departure_date={"type": "string", "format": "date"},
            origin=STRING,
            destination=STRING,
            passengers=INTEGER,
            cabin={"type": "string", "enum": ["economy", "premium_economy", "business"]},
            max_price={"type": "number"},
        ),
        tool("get_booking", booking_id=STRING),
        tool("set_alarm", time=STRING, label=STRING),
        tool("send_mail", recipient_email=STRING),
        tool("book_hotel", nights=INTEGER, hotel_name=STRING),
    ]
)
FILES = ToolList([tool("mv", source_file=STRING, destination_path=STRING), tool("touch", file_name=STRING)])


def found(text: str, tools: ToolList = TRAVEL) -> list[tuple[str, str, str | None]]:
    return [(one.text, str(one.type), one.thing) for one in find_mentions(text, tools)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Fly me from Berlin to San Francisco on 2026-11-15, two passengers, premium economy, up to $800.",
            [
                ("Berlin", "place", "origin"),
                ("San Francisco", "place", "destination"),
                ("2026-11-15", "date", "departure date"),
                ("two", "number", "number of passengers"),
                ("premium economy", "option", "cabin"),
                ("$800", "money", "maximum price"),
            ],
        ),
        (
            "Cancel booking ABC123 and mail anna.smith@example.org at 3:30 pm.",
            [
                ("ABC123", "id", "booking"),
                ("anna.smith@example.org", "email", "recipient email"),
                ("3:30 pm", "time", "time"),
            ],
        ),
        (
            "I leave next Friday, or on November 3rd, for three nights.",
            [
                ("next Friday", "date", "departure date"),
                ("November 3rd", "date", "departure date"),
                ("three nights", "duration", None),
            ],
        ),
        (
            "Buche bitte einen Flug nach München am 12. März für 3 Tage, höchstens 200 €.",
            [
                ("München", "place", None),
                ("12. März", "date", "departure date"),
                ("3 Tage", "duration", None),
                ("200 €", "money", "maximum price"),
            ],
        ),
        (
            "Quiero un vuelo a Madrid el 15 de noviembre por menos de 300 euros",
            [
                ("Madrid", "place", None),
                ("15 de noviembre", "date", "departure date"),
                ("300 euros", "money", "maximum price"),
            ],
        ),
        (
            "请帮我查一下明天的高铁票，预算500元，11月15日回来",
            [
                ("明天", "date", "departure date"),
                ("500元", "money", "maximum price"),
                ("11月15日", "date", "departure date"),
            ],
        ),
        (
            "订单A20931改到下午3:30，要2张票，发到li@a.com",
            [
                ("A20931", "id", "booking"),
                ("下午3:30", "time", "time"),
                ("2", "number", "number of passengers"),
                ("li@a.com", "email", "recipient email"),
            ],
        ),
        (
            "fly me to new york next week with 20kg of luggage, 15% off",
            [
                ("new york", "place", "destination"),
                ("next week", "date", "departure date"),
                ("20kg", "number", "number of passengers"),
                ("15%", "number", "number of passengers"),
            ],
        ),
        (
            "Vier Plätze nach Wien, bitte.",
            [("Vier", "number", "number of passengers"), ("Wien", "place", None)],
        ),
        ("Find a week for me, at 150 euros a night?", [("150 euros", "money", "maximum price")]),
        ("The weather has been nice, thanks for asking.", []),
    ],
)
def test_values_are_found_with_what_they_are(text: str, expected: list[tuple[str, str, str | None]]) -> None:
    assert found(text) == expected


def test_only_what_some_tool_asks_for_is_a_mention() -> None:
    text = "Move report.txt to /var/log on 2026-11-15 for $20."
    assert [one for one, _, _ in found(text, FILES)] == ["report.txt", "/var/log"]
    assert find_mentions(text, ToolList()) == ()


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("Get the booking 'ABC123'.", "ABC123"),
        ("Please open the folder called ABC123 for me", "ABC123"),
        ("Move summary.md away", "summary.md"),
    ],
)
def test_what_a_call_needs_as_it_is_is_literal(text: str, literal: str) -> None:
    (mention,) = find_mentions(text, ToolList([*TRAVEL, *FILES]))
    assert mention.text == literal and mention.literal


def test_a_single_capitalised_noun_of_german_is_no_name() -> None:
    assert found("Ich brauche bitte einen neuen Termin und ein Zimmer.") == []


def test_the_order_of_a_schemas_properties_does_not_matter() -> None:
    turned = ToolList(
        ToolSchema(
            one.name, one.description, {"properties": dict(reversed(one.parameters["properties"].items()))}
        )
        for one in TRAVEL
    )
    text = "From Rome to Oslo on 2026-11-15 for 3 nights, 4 passengers, $300 in business."
    assert find_mentions(text, turned) == find_mentions(text, TRAVEL)


def test_parameters_are_typed_by_format_enum_and_name() -> None:
    odd = ToolList(
        [
            tool(
                "t",
                flag={"type": "boolean"},
                nested={"type": "object", "properties": {"checkInDate": STRING}},
                many={"type": "array", "items": {"type": "string", "format": "email"}},
                kind={"enum": ["a", "b"]},
                broken="no schema",
            )
        ]
    )
    assert {(one.name, one.type) for one in list_parameters(odd)} == {
        ("checkInDate", ValueType.DATE),
        ("many", ValueType.EMAIL),
        ("kind", ValueType.OPTION),
    }


WORDS = st.sampled_from(
    """
    Rome ABC123 $20 2026-11-15 noon 3 nights 'quoted' business report.txt a@b.org 12. März 明天 I to from
    """.split()
)


@given(st.lists(WORDS | st.text(max_size=6), max_size=14).map(" ".join))
def test_mentions_are_apart_in_order_and_of_the_text(text: str) -> None:
    mentions: tuple[Mention, ...] = find_mentions(text, TRAVEL)
    at = 0
    for one in mentions:
        assert at <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == one.text
        at = one.end


@pytest.mark.parametrize("part", ["a", "A-", "_-", "a@", "/a", "1.1,", "A ", "9", "#a", "x1-", "("])
def test_long_texts_of_odd_parts_are_read(part: str) -> None:
    """As long as they may be. A quadratic scan would take minutes for some, which nothing here asserts."""
    text = part * (LONGEST // len(part))
    assert all(one.text in text for one in find_mentions(text, TRAVEL))


def test_a_weekday_is_nobodys_name_where_no_tool_takes_a_date() -> None:
    tools = ToolList([tool("reserve", quantity=INTEGER, customer=STRING)])
    found = find_mentions("For a dinner on Saturday, put three aside for Tom Becker.", tools)
    assert [one.text for one in found] == ["three", "Tom Becker"]


def test_the_thing_of_a_parameter_is_told_without_all_of_its_options() -> None:
    hashed: list[str] = []

    class Option(str):
        def __hash__(self) -> int:
            hashed.append(self)
            return super().__hash__()

    options = tuple(Option(f"kind {number}") for number in range(50))
    assert Parameter("find", "colour", ValueType.OPTION, options).thing == "colour"
    assert len(hashed) <= 1


def test_hours_that_last_are_no_time_of_day() -> None:
    text = "今後24時間の天気"
    assert [(text[start:end], kind) for start, end, kind in find_forms(text)] == [
        ("24時間", ValueType.DURATION)
    ]


def test_more_digits_than_a_number_has_are_no_value() -> None:
    assert list(find_forms(f"Order {'7' * 5_000} bags for ${'1' * 5_000}.")) == []
