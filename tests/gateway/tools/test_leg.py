"""The leg of a session: what it knows of a call is of that call, and of no other of the same name."""

from __future__ import annotations

from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.injectors.conversation import ToolHints, ToolList, ToolSchema
from tests.injectors.plans import plan_with

TEXT = '{"item": "lamp", "weight": 17.5, "city": "Lisbon", "lines": [1, 2, 3, 4, 5, 6, 7, 8]}'
FALSE = ("tool.numeric_noise", "tool.incomplete")


def test_one_method_of_a_tool_says_nothing_of_the_others() -> None:
    leg = ToolLeg(plan_with(*FALSE), "s", "leg")
    for number, method in enumerate(("GET", "POST", "GET")):
        begun = leg.begin("orders", "place_order", f'{{"id": {number}}}', 1, method=method)
        assert (leg.finish(begun, (TEXT,), 2).texts == (None,)) is (method == "POST"), method


def test_a_read_under_way_says_nothing_of_a_write_beside_it() -> None:
    leg = ToolLeg(plan_with(*FALSE), "s", "leg")
    write = leg.begin("orders", "place_order", '{"id": 1}', 1, method="POST")
    leg.begin("orders", "place_order", '{"id": 2}', 1, method="GET")
    assert leg.finish(write, (TEXT,), 2).texts == (None,)


def test_a_call_is_no_retry_of_one_to_another_server() -> None:
    leg = ToolLeg(plan_with(*FALSE), "s", "leg")
    leg.tools["notes"] = ToolList([ToolSchema("add", "", {}, ToolHints(read_only=True))])
    leg.tools["shop"] = ToolList([ToolSchema("add", "", {}, ToolHints(destructive=True))])
    leg.end(leg.begin("notes", "add", "{}", 1).call, Outcome.TOOL_ERROR, 2)
    begun = leg.begin("shop", "add", "{}", 3)
    assert (begun.call.link, begun.call.attempt) == ("shop", 0)
    assert leg.finish(begun, (TEXT,), 4).texts == (None,)
    assert leg.begin("notes", "add", "{}", 5).call.attempt == 1
