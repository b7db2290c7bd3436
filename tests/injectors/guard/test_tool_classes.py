"""What a tool's name is trusted to say."""

from __future__ import annotations

import pytest

from crosswind.injectors.guard.tool_classes import classify, may_fault
from crosswind.injectors.targets import ToolClass


@pytest.mark.parametrize(
    "tool",
    [
        *("get_order", "getOrder", "GetOrder", "list_items", "search_flights", "find_user_id_by_email"),
        *("lookupUser", "read_file", "check_stock", "calculate", "calculate_total", "orders.get"),
        *("shop__list_items", "mutation.find"),
    ],
)
def test_reading_verbs_are_read_only(tool: str) -> None:
    assert classify(tool) is ToolClass.READ_ONLY


@pytest.mark.parametrize(
    "tool",
    [
        *("cancel_order", "update_address", "getaway", "checkout", "check_out_cart", "check_in_passenger"),
        *("listen", "get_or_create_cart", "findAndReplace", "orders.get.delete", "reset", "", "取消", "__"),
        "GETTER",
    ],
)
def test_everything_else_is_unknown(tool: str) -> None:
    assert classify(tool) is ToolClass.UNKNOWN


def test_the_operators_table_is_trusted_before_the_name() -> None:
    table = {"get_*": "destructive", "get_order": "read_only", "pay": "idempotent"}
    assert classify("get_order", table) is ToolClass.READ_ONLY
    assert classify("get_token", table) is ToolClass.DESTRUCTIVE
    assert classify("pay", table) is ToolClass.IDEMPOTENT


@pytest.mark.parametrize("tool_class", ToolClass)
def test_only_what_may_be_repeated_may_fail(tool_class: ToolClass) -> None:
    assert may_fault(tool_class, "declared") is (tool_class in (ToolClass.READ_ONLY, ToolClass.IDEMPOTENT))
    assert may_fault(tool_class, "replayable")
