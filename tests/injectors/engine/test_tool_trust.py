"""What the calls of a conversation show of their tools can only lower the trust in them."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.targets import Withheld
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_with

UNBOUND = "bounds: {faults_per_session: 50, faults_per_call: 50, events_per_session: 50}"


def classes(messages: list[dict[str, Any]], plan: Plan | None = None, tools: Any = ()) -> list[str | None]:
    """The class that each result's tool had when its turn came."""
    made = plan or plan_with("tool.timeout", more=UNBOUND)
    new = perturb_messages(made, conversation(messages, tools), {}).new
    return [one.injections[0].tool_class for one in new]


def test_an_equal_call_that_gives_another_result_is_no_read_any_more() -> None:
    same = [one for at in range(3) for one in call("get_order", {"id": 1}, "sent", at)]
    assert classes(same) == ["read_only"] * 3
    other = [*same, *call("get_order", {"id": 1}, "returned", 3), *call("get_order", {"id": 2}, "x", 4)]
    assert classes(other) == [*["read_only"] * 4, "unknown"]


def test_a_write_in_between_explains_another_result() -> None:
    first, last = call("get_order", {"id": 1}, "sent", 0), call("get_order", {"id": 1}, "cancelled", 2)
    wrote = call("cancel_order", {"id": 1}, "ok", 1)
    again = call("get_order", {"id": 1}, "cancelled", 3)
    assert classes([*first, *wrote, *last, *again]) == ["read_only", "destructive", "read_only", "read_only"]


def test_a_read_after_which_another_read_changes_is_doubted_too() -> None:
    messages = [
        *call("get_order", {"id": 1}, "sent", 0),
        *call("check_parcel", {"id": 1}, "on its way", 1),
        *call("get_order", {"id": 1}, "lost", 2),
        *call("check_parcel", {"id": 2}, "on its way", 3),
        *call("list_orders", {}, "1", 4),
    ]
    assert classes(messages) == ["read_only", "read_only", "read_only", "unknown", "read_only"]


def test_what_the_operator_declares_stands() -> None:
    declared = plan_with("tool.timeout", more=f"{UNBOUND}\ntool_classes: {{get_order: read_only}}")
    messages = [one for at in range(3) for one in call("get_order", {"id": 1}, f"state {at}", at)]
    assert classes(messages, declared) == ["read_only"] * 3


def test_the_schema_of_the_called_tool_counts() -> None:
    function = {"name": "capital_of", "description": "Returns the capital of a country.", "parameters": {}}
    hints = {**function, "description": "", "annotations": {"readOnlyHint": True}}
    messages = call("capital_of", {"country": "France"}, "Paris", 0)
    assert classes(messages) == ["unknown"]
    for one in (function, hints):
        assert classes(messages, tools=[{"type": "function", "function": one}]) == ["read_only"]
    deletes = {**function, "description": "Returns the capital, and deletes the country."}
    assert classes(messages, tools=[{"type": "function", "function": deletes}]) == ["destructive"]


def test_a_longer_conversation_goes_on_from_what_was_observed() -> None:
    plan = plan_with("tool.timeout", more=UNBOUND)
    messages = [one for at in range(6) for one in call("get_order", {"id": 1}, f"state {at % 4}", at)]
    whole = perturb_messages(plan, conversation(messages), {})
    begun = perturb_messages(plan, conversation(messages[:6]), {})
    resumed = perturb_messages(plan, conversation(messages), {}, walked=begun.walked)
    assert [one.injections for one in resumed.new[-3:]] == [one.injections for one in whole.new[-3:]]


def test_a_result_of_an_unknown_tool_is_cut_only_where_a_read_gave_what_goes() -> None:
    plan = plan_with("tool.incomplete", more=UNBOUND)
    result = '{"hold": 5, "room": "blue", "until": "Friday"}'
    alone = perturb_messages(plan, conversation(call("frob_7", {"id": 1}, result, 0)), {}).new[-1]
    assert alone.text is None and alone.injections[0].withheld is Withheld.TOOL_CLASS
    assert "no earlier read holds what would be missing" in alone.injections[0].note
    read = call("get_hold", {"id": 1}, result, 0)
    new = perturb_messages(plan, conversation([*read, *call("frob_7", {"id": 1}, result, 1)]), {}).new
    assert new[-1].text is not None
    assert "Solvable: what is missing stands in the result of an earlier read." in new[-1].injections[0].note


def test_additions_act_on_results_of_any_class() -> None:
    new = perturb_messages(
        plan_with("tool.redundant"), conversation(call("cancel_order", {"id": 1}, '{"ok": true}', 0)), {}
    ).new
    assert new[0].text is not None and new[0].injections[0].tool_class == "destructive"
