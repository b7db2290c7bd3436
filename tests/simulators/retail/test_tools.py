"""Tools answer every call with JSON, and a repeated call changes nothing more."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.simulators.draws import Draws
from crosswind.simulators.retail.tools import TOOLS, call
from crosswind.simulators.retail.world import TABLES, connect, generate

WORLD = generate("train", Draws("tools"))
IMAGE = WORLD.image()
READ_PREFIXES = ("get_", "list_", "search_", "find_", "check_", "calculate_")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PARAMETERS = sorted({name for tool in TOOLS.values() for name in tool.parameters})


@given(name=st.sampled_from([*TOOLS, "no_such_tool"]), arguments=st.text() | JSON.map(json.dumps))
def test_any_arguments_get_json_back(name: str, arguments: str) -> None:
    assert isinstance(json.loads(call(connect(IMAGE), name, arguments)), dict)


@given(name=st.sampled_from(sorted(TOOLS)), values=st.fixed_dictionaries(dict.fromkeys(PARAMETERS, JSON)))
def test_any_values_get_json_back(name: str, values: dict[str, object]) -> None:
    assert isinstance(json.loads(call(connect(IMAGE), name, json.dumps(values))), dict)


def test_only_tools_that_are_not_named_as_reads_write() -> None:
    for tool in TOOLS.values():
        assert tool.writes != tool.name.startswith(READ_PREFIXES), tool.name


@pytest.mark.parametrize(
    ("tool", "allowed", "then"),
    [("cancel_order", "pending", "cancelled"), ("return_order", "delivered", "returned")],
)
def test_an_order_moves_only_from_the_allowed_status(tool: str, allowed: str, then: str) -> None:
    for order in WORLD.orders:
        database = connect(IMAGE)
        result = json.loads(call(database, tool, json.dumps({"order_id": order.order_id})))
        now = json.loads(call(database, "get_order", json.dumps({"order_id": order.order_id})))["status"]
        if order.status in (allowed, then):
            assert result == {"order_id": order.order_id, "status": then} and now == then
        else:
            assert "error" in result and now == order.status
            assert order.status not in result["error"], "the refusal must not save the read"


def test_a_repeated_write_confirms_and_changes_nothing_more() -> None:
    database = connect(IMAGE)
    pending = next(order for order in WORLD.orders if order.status == "pending")
    user = WORLD.users[0]
    for name, values in {
        "cancel_order": {"order_id": pending.order_id},
        "update_email": {"user_id": user.user_id, "email": "new@mail.com"},
    }.items():
        first = call(database, name, json.dumps(values))
        changes = database.total_changes
        assert call(database, name, json.dumps(values)) == first
        assert database.total_changes == changes


def test_an_email_of_another_user_is_refused() -> None:
    database = connect(IMAGE)
    values = {"user_id": WORLD.users[0].user_id, "email": WORLD.users[1].email}
    assert json.loads(call(database, "update_email", json.dumps(values))) == {"error": "email is in use"}


def test_every_episode_has_a_database_of_its_own() -> None:
    one, other = connect(IMAGE), connect(IMAGE)
    for table in TABLES:
        one.execute(f"delete from {table}")
        assert other.execute(f"select count(*) from {table}").fetchone()[0] > 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [("{", "arguments are not JSON"), ("[]", "arguments are not an object"), ("{}", "order_id is missing"),
     ('{"order_id": 5}', "order_id must be of type string"), ('{"order_id": "#W"}', "#W not found"),
     ('{"order_id": "\\ud800"}', "arguments are not JSON"), ("[" * 100_000, "arguments are not JSON")],
)  # fmt: skip
def test_a_bad_call_is_told_what_is_wrong(arguments: str, error: str) -> None:
    assert json.loads(call(connect(IMAGE), "get_order", arguments)) == {"error": error}
