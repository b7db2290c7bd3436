"""What must survive user noise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.text import entities
from crosswind.injectors.text.entities import (
    find_added_numbers,
    find_lost,
    find_numbers,
    find_protected_spans,
)
from tests.injectors.dialogues import texts


@pytest.mark.parametrize(
    "text,expected",
    [
        ("cancel #W1234, please", ["#W1234"]),
        (
            "it is ORD-1 or 550e8400-e29b-41d4-a716-446655440000.",
            ["ORD-1", "550e8400-e29b-41d4-a716-446655440000"],
        ),
        ("I paid $12.50 and 3 000 € on 2026-11-02", ["$12.50", "3", "000", "€", "2026-11-02"]),
        (
            "mail mia.garcia@example.com or see https://shop.example/a?b=c",
            ["mia.garcia@example.com", "https://shop.example/a?b=c"],
        ),
        ('the item called "red kettle" please', ['"red kettle"']),
        ("the item called ‘red kettle’ or «grüner Tee»", ["‘red kettle’", "«grüner Tee»"]),
        ("it's what I don't like", ["don't"]),
        ("Hello, I am Yusuf Rossi from Cape Town", ["Yusuf", "Rossi", "Cape", "Town"]),
        ("Garcia wants a refund. Please help", ["Garcia"]),
        ("I want these\nPlease send them to Oslo", ["Oslo"]),
        (
            "use snake_case, camelCase, the USB port and src/main.py",
            ["snake_case", "camelCase", "USB", "src/main.py"],
        ),
        ("run `rm -r x` now", ["`rm -r x`"]),
        ("not two but three, on monday", ["not", "two", "but", "three", "monday"]),
        ("رقم ١٢٣٤٥ من فضلك", ["١٢٣٤٥"]),
        ("आदेश १२३४५ रद्द", ["१२३४५"]),
        ("取消订单12345吧", ["12345"]),
        ("number ½ or Ⅷ", ["½", "Ⅷ"]),
        ("where is my parcel", []),
        ("", []),
    ],
)
def test_entities_are_found(text: str, expected: list[str]) -> None:
    found = [text[start:end] for start, end in find_protected_spans(text) if text[start:end] not in ("€",)]
    assert found == [part for part in expected if part not in ("€",)]


def test_the_names_that_tools_declare_are_entities() -> None:
    parameters = {
        "properties": {"status": {"enum": ["delivered", "on hold"]}, "size": {"items": {"enum": ["large"]}}}
    }
    tool = ToolSchema("find", "", parameters)
    text = "find the delivered parcel, on hold, large size please"
    assert tuple(text[start:end] for start, end in find_protected_spans(text, [tool])) == (
        "find",
        "delivered",
        "on",
        "hold",
        "large",
        "size",
    )


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_spans_are_in_order_apart_and_inside(text: str) -> None:
    spans = find_protected_spans(text)
    flat = [edge for span in spans for edge in span]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    longer = f"It is a nice day here. {text} Again: thanks."
    assert find_lost(text, text) is None
    assert find_lost(text, longer) is None
    # A text that is kept whole is looked at no further: entity by entity, none is lost either.
    assert entities._find_all_lost(text, text, frozenset()) == ()
    assert entities._find_all_lost(text, longer, frozenset()) == ()


@settings(max_examples=200, deadline=None)
@given(before=texts, more=texts, at=st.integers(0, 60))
def test_added_numbers_are_those_that_the_text_had_not(before: str, more: str, at: int) -> None:
    after = f"{before[:at]}{more}{before[at:]}"
    assert find_added_numbers(before, after) == find_numbers(after) - find_numbers(before)


@pytest.mark.parametrize(
    "after,lost",
    [
        ("cancel #W12 and #W34", None),
        ("so cancel #W12, and also #W34!", None),
        ("cancel #W13 and #W34", "#W12"),
        ("cancel #W123 and #W34", "#W12"),
        ("cancel #W34 and #W12", "#W34"),
        ("", "#W12"),
    ],
)
def test_a_lost_or_changed_entity_is_named(after: str, lost: str | None) -> None:
    assert find_lost("cancel #W12 and #W34", after) == lost


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_numbers_are_the_same_where_another_script_stands_beside_them(text: str) -> None:
    assert find_numbers(text) == find_numbers(f"{text} é")
