"""What a tool is trusted to do: by the operator's table, and by what it says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.conversation import ToolHints, ToolSchema
from crosswind.injectors.guard.tool_classes import (
    classify,
    classify_by_first_word,
    explain_writing,
    find_declared,
    may_fault,
    merge_tables,
    permit,
)
from crosswind.injectors.targets import Effect, ToolClass

REAL = json.loads(Path(__file__).with_name("real_tools.json").read_text("utf-8"))
"""Tools of well-known agents, frameworks and MCP servers, and a few of our own that are hard to tell."""


DOMAINS = json.loads(Path(__file__).with_name("domain_tools.json").read_text("utf-8"))
"""Tools of ten domains: flights, hospitals, banks, homes, HR, DevOps, calendars, maps, email and games."""


def declared(tool: dict[str, Any], *, hints: bool) -> ToolSchema:
    parameters = {"type": "object", "properties": tool["parameters"]}
    given_hints = ToolHints.of(tool["annotations"]) if hints else None
    return ToolSchema(tool["name"], tool["description"], parameters, given_hints)


@pytest.mark.parametrize("hints", [True, False])
def test_well_known_tools_are_told_apart(hints: bool) -> None:
    assert len(REAL) > 200
    found = [classify(tool["name"], None, [declared(tool, hints=hints)]) for tool in REAL]
    wrong = [
        (tool["source"], tool["name"], kind.value)
        for tool, kind in zip(REAL, found, strict=True)
        if (kind is ToolClass.READ_ONLY) is not tool["reads"]
    ]
    assert wrong == []


def test_no_tool_of_any_domain_that_writes_is_read_only() -> None:
    read_only = [
        tool for tool in DOMAINS if classify(tool["name"], None, [declared(tool, hints=False)]) == "read_only"
    ]
    assert [(tool["source"], tool["name"]) for tool in read_only if not tool["reads"]] == []
    assert len(read_only) >= 127  # Of 152 that read.


@pytest.mark.parametrize(
    "name,description,parameters,kind",
    [
        ("find_slots", "The free appointment slots of a department.", ("department",), "read_only"),
        ("find_memory", "Free the memory of a process.", ("pid",), "destructive"),
        ("list_slots", "Free appointments of a doctor on a day.", ("doctor",), "read_only"),
        ("list_tickets", "Open tickets of a customer.", ("customer",), "read_only"),
        ("find_contacts", "Close contacts of a patient.", ("patient",), "destructive"),
        ("get_settings", "Set of values of a device.", ("device",), "read_only"),
        ("list_claims", "Claims of a patient.", ("patient",), "read_only"),
        ("list_departures", "Next departures from a stop.", ("stop",), "read_only"),
        ("list_charges", "The charges of an account.", ("account",), "read_only"),
        ("search_points", "Charge points near a place.", ("place",), "read_only"),
        ("find_driver", "Dispatch drivers to riders.", ("rider",), "destructive"),
        ("get_status", "Lock status of a door.", ("door",), "read_only"),
        ("get_appointment", "Books an appointment.", ("slot",), "destructive"),
        ("get_appointment", "Book an appointment.", ("slot",), "destructive"),
        ("get_ticket", "Close ticket by id.", ("id",), "destructive"),
        ("get_ticket", "Closes tickets of a customer.", ("id",), "destructive"),
        ("find_doors", "Open all doors of a car.", ("car",), "destructive"),
        ("list_cache", "Clear up entries of the cache.", (), "destructive"),
        ("get_flags", "Toggle flags of a user.", ("user",), "destructive"),
        ("display_settings", "Set levels of the display.", ("level",), "destructive"),
        ("free_slots", "Free slots of a doctor.", ("doctor",), "destructive"),
        ("flights", "Flights between two airports on a day.", ("origin", "to", "date"), "read_only"),
        ("lights", "Lights of a room.", ("room", "brightness"), "unknown"),
        ("resigns", "Resignations of the team.", ("message",), "unknown"),
        ("dose", "Takes note of a dose.", ("patient_id",), "unknown"),
        ("plan_route", "Plan a route between places.", ("origin", "destination"), "read_only"),
        ("plan_maintenance", "Plan a maintenance window.", ("node", "start"), "unknown"),
        ("plan_trip", "Plans a route and books it.", ("origin",), "destructive"),
        ("change_plan", "Get another plan for the number.", ("plan_id",), "destructive"),
        ("quote_price", "Quotes the price of an itinerary.", ("itinerary_id",), "read_only"),
        ("leave_balance", "Check the days of leave that are left.", ("employee_id",), "read_only"),
        ("order_status", "Returns the new status.", ("order_id",), "unknown"),
        ("convert_lead", "Convert a lead into a contact.", ("lead_id",), "unknown"),
        ("craft_item", "Returns the newly crafted item.", ("recipe",), "unknown"),
        ("cleanup_logs", "Searches for and deletes old log files.", ("path",), "destructive"),
        ("rsvp", "Answer an invitation.", ("message_id",), "destructive"),
        ("rebook", "", (), "destructive"),
        ("select_seat", "Select a seat for a passenger.", ("seat",), "destructive"),
        ("check_in", "Check a passenger in and issue the boarding pass.", ("name",), "destructive"),
        ("hold_booking", "Hold an offer.", ("offer_id",), "destructive"),
    ],
)
def test_name_description_and_parameters_are_weighed(
    name: str, description: str, parameters: tuple[str, ...], kind: str
) -> None:
    schema = ToolSchema(name, description, {"properties": {key: {} for key in parameters}})
    assert classify(name, None, [schema]) == kind


@pytest.mark.parametrize(
    "tool,said",
    [
        (ToolSchema("cancel_order", "Reads an order.", {}), "'cancel' in its name"),
        (ToolSchema("get_order", "Gets an order. Cancels it.", {}), "'cancels' in its description"),
        (ToolSchema("get_order", "Get an order and delete it.", {}), "'delete' in its description"),
        (ToolSchema("buchung_stornieren", "", {}), "its name"),
        (ToolSchema("frobnicate", "", {}, ToolHints.of({"readOnlyHint": False})), "its annotations"),
        (ToolSchema("get_order", "Gets an order.", {}), ""),
    ],
)
def test_what_says_that_a_tool_writes_is_told(tool: ToolSchema, said: str) -> None:
    assert explain_writing(tool.name, [tool]) == said
    assert (classify(tool.name, None, [tool]) is ToolClass.DESTRUCTIVE) is bool(said)


@pytest.mark.parametrize("tool", REAL, ids=[f"{one['source']}-{one['name']}" for one in REAL])
def test_a_name_alone_never_makes_a_writing_tool_read_only(tool: dict[str, Any]) -> None:
    if not tool["reads"] and tool["description"] and tool["source"] != "own":
        assert classify(tool["name"]) is not ToolClass.READ_ONLY


@pytest.mark.parametrize(
    "tool",
    [
        *("get_order", "getOrder", "GetOrder", "list_items", "search_flights", "find_user_id_by_email"),
        *("lookupUser", "read_file", "check_stock", "calculate", "calculate_total", "orders.get"),
        *("shop__list_items", "mutation.find", "fetch_order", "web_search", "Grep", "WebFetch", "retriever"),
        *("order_lookup", "count_rows", "describe_table", "mcp__github__list_issues", "slack_get_users"),
    ],
)
def test_names_that_read(tool: str) -> None:
    assert classify(tool) is ToolClass.READ_ONLY


@pytest.mark.parametrize(
    "tool",
    [
        *("getaway", "check_out_cart", "check_in_passenger", "", "取消", "__", "GETTER", "get_next_job"),
        *("Bash", "query_database", "sql_query", "run_sql", "capital_of", "show_alert", "get_random_fact"),
    ],
)
def test_names_that_prove_nothing(tool: str) -> None:
    assert classify(tool) is ToolClass.UNKNOWN


@pytest.mark.parametrize(
    "tool",
    [
        *("cancel_order", "update_address", "get_or_create_cart", "findAndReplace", "orders.get.delete"),
        *("reset", "checkout", "search_and_delete", "user_update", "markAsRead", "returnItem"),
    ],
)
def test_names_that_write(tool: str) -> None:
    assert classify(tool) is ToolClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "annotations,kind",
    [
        ({"readOnlyHint": True}, ToolClass.READ_ONLY),
        ({"readOnlyHint": True, "destructiveHint": True}, ToolClass.DESTRUCTIVE),
        ({"readOnlyHint": False}, ToolClass.DESTRUCTIVE),
        ({"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}, ToolClass.IDEMPOTENT),
        ({"readOnlyHint": False, "idempotentHint": True}, ToolClass.DESTRUCTIVE),
        ({"idempotentHint": True}, ToolClass.UNKNOWN),
        ({"readOnlyHint": "yes"}, ToolClass.UNKNOWN),
        (["readOnlyHint"], ToolClass.UNKNOWN),
    ],
)
def test_mcp_annotations_count_where_nothing_speaks_against_them(annotations: Any, kind: ToolClass) -> None:
    hints = ToolHints.of(annotations)
    assert classify("frobnicate", None, [ToolSchema("frobnicate", "", {}, hints)]) is kind
    written = classify("delete_all", None, [ToolSchema("delete_all", "", {}, hints)])
    assert written in (ToolClass.DESTRUCTIVE, ToolClass.IDEMPOTENT)


def test_the_least_trusted_of_several_tools_of_one_name_counts() -> None:
    reads, writes = ToolSchema("get_x", "Gets x.", {}), ToolSchema("get_x", "Deletes x.", {})
    assert classify("get_x", None, [reads]) is ToolClass.READ_ONLY
    assert classify("get_x", None, [reads, writes]) is ToolClass.DESTRUCTIVE


def test_the_operators_table_is_trusted_before_what_the_tool_says() -> None:
    table = {"get_*": "destructive", "get_order": "read_only", "pay": "idempotent"}
    assert classify("get_order", table) is ToolClass.READ_ONLY
    assert classify("get_token", table) is ToolClass.DESTRUCTIVE
    assert classify("pay", table, [ToolSchema("pay", "Pays.", {})]) is ToolClass.IDEMPOTENT


def test_of_several_tables_the_stronger_one_counts_for_all_that_it_matches() -> None:
    session = {"fetch_*": ToolClass.READ_ONLY}
    gateway = {"fetch_job": ToolClass.DESTRUCTIVE, "pay": ToolClass.DESTRUCTIVE}
    profile = {"pay": ToolClass.IDEMPOTENT, "*": ToolClass.UNKNOWN}
    merged = merge_tables(session, None, gateway, profile)
    assert [find_declared(tool, merged) for tool in ("fetch_job", "pay", "get_order")] == [
        *(ToolClass.READ_ONLY, ToolClass.DESTRUCTIVE, ToolClass.UNKNOWN)
    ]


TABLES = st.dictionaries(
    st.sampled_from(["a", "b", "ab", "a*", "*b", "*"]), st.sampled_from(list(ToolClass)), max_size=4
)


@settings(max_examples=200, deadline=None)
@given(tables=st.lists(TABLES, max_size=3), tool=st.sampled_from(["a", "b", "ab", "cab", "c"]))
def test_merged_tables_say_what_the_first_table_that_knows_the_tool_says(
    tables: list[dict[str, ToolClass]], tool: str
) -> None:
    said = [kind for table in tables if (kind := find_declared(tool, table)) is not None]
    assert find_declared(tool, merge_tables(*tables)) == (said[0] if said else None)


WORDS = st.lists(st.sampled_from(["Gets", "Deletes", "the", ",", "and", ".", "it", "\n", "use"])).map(
    " ".join
)
MEMBERS = st.none() | st.dictionaries(st.text(max_size=5), st.none())


@settings(max_examples=300, deadline=None)
@given(
    name=st.text(max_size=30),
    description=st.text(max_size=200) | WORDS,
    parameters=st.dictionaries(st.text(max_size=8), MEMBERS),
)
def test_any_tool_has_a_class(name: str, description: str, parameters: dict[str, Any]) -> None:
    schema = ToolSchema(name, description, {"properties": parameters})
    assert classify(name, None, [schema]) in ToolClass


@pytest.mark.parametrize("tool_class", ToolClass)
def test_only_what_may_be_repeated_may_be_replaced(tool_class: ToolClass) -> None:
    repeatable = tool_class in (ToolClass.READ_ONLY, ToolClass.IDEMPOTENT)
    assert may_fault(tool_class, "declared") is repeatable
    assert permit(Effect.REPLACES, tool_class, "declared").allowed is repeatable
    assert may_fault(tool_class, "replayable")
    for effect in (Effect.ADDS, Effect.DELAYS, Effect.REWORDS):
        assert permit(effect, tool_class, "declared").allowed


def test_a_result_of_an_unknown_tool_may_be_cut_short_where_a_read_holds_the_rest() -> None:
    assert permit(Effect.TRUNCATES, ToolClass.UNKNOWN, "declared").if_read_elsewhere
    assert not permit(Effect.TRUNCATES, ToolClass.DESTRUCTIVE, "declared").allowed
    assert not permit(Effect.TRUNCATES, ToolClass.READ_ONLY, "declared").if_read_elsewhere


def test_plans_of_older_stores_keep_the_rule_of_the_first_word() -> None:
    assert classify_by_first_word("get_order") is ToolClass.READ_ONLY
    assert classify_by_first_word("fetch_order") is classify_by_first_word("cancel") is ToolClass.UNKNOWN
