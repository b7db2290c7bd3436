"""What the core decides for the messages of MCP, under real rules."""

from __future__ import annotations

import json

import pytest

from crosswind.gateway.tools.decision import Act
from crosswind.gateway.tools.events import CALL, as_row
from tests.gateway.tools.links import META, call, line, listing, make_link, result, tool, tools

READ = "get_weather"
ORDER = "place_order"
NOISE = "tool.execution_failure"
ROOMY = "bounds: {faults_per_session: 1000, events_per_session: 1000}"


def test_a_call_fails_before_delivery_and_the_same_call_made_again_passes() -> None:
    link, leg = make_link(NOISE)
    failed = link.from_client(call(1, ORDER, {"id": 7}), 1)
    assert failed.act is Act.ANSWER
    answer = json.loads(failed.body)
    assert answer["id"] == 1
    assert not link.waits
    again = call("again", ORDER, {"id": 7})
    assert link.from_client(again, 2).act is Act.PASS
    assert link.from_server(result("again", "Order 7 was placed."), 3).act is Act.PASS
    events = leg.drain()
    assert [one.draw["outcome"] for one in events if one.operator == CALL] == ["injected", "answered"]
    assert [one.attempt for one in events if one.operator == CALL] == [0, 1]
    assert events[-1].draw["recovered"]
    assert {one.logical_call for one in events} == {events[0].logical_call}


def test_most_failures_are_results_that_say_so_and_some_are_the_protocols_errors() -> None:
    link, _ = make_link(NOISE, more=ROOMY)
    answers = [json.loads(link.from_client(call(n, ORDER, {"id": n}), n).body) for n in range(200)]
    refused = [one for one in answers if "error" in one]
    assert all(one["result"]["isError"] for one in answers if "error" not in one)
    assert 8 < len(refused) < 50


@pytest.mark.parametrize("modern", [False, True])
def test_a_result_of_ours_has_the_members_of_its_era(modern: bool) -> None:
    link, _ = make_link("tool.timeout")
    body = json.loads(link.from_client(call(1, ORDER, {"n": 2}, _meta=META if modern else {}), 1).body)
    assert ("resultType" in body["result"]) is modern


def test_the_notes_on_a_call_that_was_not_delivered_name_its_tool_and_speak_of_no_result_of_its() -> None:
    link, leg = make_link("tool.timeout", more="bounds: {faults_per_call: 1}")
    link.from_client(call(1, ORDER, {"id": 1}), 1)
    link.from_client(call(2, ORDER, {"id": 1}), 2)
    failed, withheld = [one.note for one in leg.drain() if one.operator != CALL]
    assert failed == (
        f"A message that the call timed out stands in place of the result of {ORDER}. Solvable: the call "
        "never reached the tool, and the same call made again does."
    )
    assert withheld.startswith(f"Withheld: this call of {ORDER} has already met one fault")


def test_what_noise_does_not_touch_keeps_its_bytes() -> None:
    link, _ = make_link("tool.misleading", "transport.latency", severity=0.0)
    odd = b'{ "id":1.0,"method":"tools\\/call", "params" :{"name":"x","arguments":{"a":1e2}}}\r\n'
    assert link.from_client(odd, 1).act is Act.PASS
    assert link.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n', 2).act is Act.PASS
    for other in (b"garbage", b"[]", b"{}", line(method="tools/call"), line(id=1, method="initialize")):
        assert link.from_client(other, 3).act is Act.PASS
        assert link.from_server(other, 3).act is Act.PASS


def test_the_ids_of_the_two_directions_are_different_spaces() -> None:
    link, leg = make_link("tool.misleading", severity=0.0)
    link.from_client(call(1, READ), 1)
    sampling = line(id=1, method="sampling/createMessage", params={})
    assert link.from_server(sampling, 2).act is Act.PASS
    assert link.from_client(line(id=1, result={}), 3).act is Act.PASS
    assert link.waits
    link.from_server(result(1, "sunny"), 4)
    assert [one.draw["outcome"] for one in leg.drain()] == ["answered"]


def test_a_round_that_asks_the_client_is_neither_an_attempt_nor_touched() -> None:
    link, leg = make_link(NOISE, when="{first_call: true}")
    link.from_client(call(1, ORDER, {"id": 1}), 1)  # The rule's only occasion.
    link.from_client(call(2, ORDER, {"id": 1}), 2)
    asking = line(id=2, result={"resultType": "input_required", "inputRequests": {}, "requestState": "x"})
    assert link.from_server(asking, 3).act is Act.PASS
    resumed = call(3, ORDER, {"id": 1}, inputResponses={}, requestState="x")
    assert link.from_client(resumed, 4).act is Act.PASS
    link.from_server(result(3, "placed", resultType="complete"), 5)
    ends = [one for one in leg.drain() if one.operator == CALL]
    assert [(one.attempt, one.draw["outcome"]) for one in ends] == [(0, "injected"), (1, "answered")]


def test_structured_content_changes_as_one_with_its_text_and_stays_valid() -> None:
    schema = {
        "type": "object",
        "properties": {"temperature": {"type": "number"}},
        "required": ["temperature"],
    }
    link, leg = make_link("tool.numeric_noise")
    link.from_client(listing(), 1)
    link.from_server(tools(tool(READ, "Get the weather.", outputSchema=schema)), 2)
    link.from_client(call(1, READ, {"city": "Bonn"}), 3)
    value = {"temperature": 21.4}
    shown = link.from_server(result(1, json.dumps(value, indent=2), structuredContent=value), 4)
    assert shown.act is Act.REPLACE, [one.note for one in leg.drain()]
    assert shown.body.count(b"\n") == 1, "a message is one line"
    changed = json.loads(shown.body)["result"]
    assert changed["structuredContent"] == json.loads(changed["content"][0]["text"]) != value


@pytest.mark.parametrize(
    ("operator", "text", "value"),
    [
        ("tool.misleading", "It is 21.4 degrees in Bonn.", "It is 21.4 degrees in Bonn."),
        ("tool.numeric_noise", '{\n "degrees": 21.4\n}', {"degrees": 21.4}),
    ],
)
def test_a_value_that_an_sdk_wraps_changes_as_one_with_its_text(
    operator: str, text: str, value: object
) -> None:
    link, leg = make_link(operator)
    link.from_client(call(1, READ, {"city": "Bonn"}), 1)
    shown = link.from_server(result(1, text, structuredContent={"result": value}), 2)
    notes = [one.note for one in leg.drain()]
    assert shown.act is Act.REPLACE, notes
    changed = json.loads(shown.body)["result"]
    said = changed["content"][0]["text"]
    inside = changed["structuredContent"]["result"]
    assert inside == (said if isinstance(value, str) else json.loads(said)) != value


ROWS = [{"city": f"City {number}", "degrees": 20.5 + number} for number in range(6)]


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("tool.incomplete", [f"Warning {number}: heavy rain in the north" for number in range(8)]),
        ("tool.misleading", ["Warning: heavy rain", "All clear"]),
        ("tool.numeric_noise", ROWS),
    ],
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_list_with_a_block_for_each_element_changes_as_one(
    operator: str, value: list[object], wrapped: bool
) -> None:
    """As the official SDK sends what a tool with the result `list[str]` returns."""
    listed = {"type": "array", "items": {"type": "string" if isinstance(value[0], str) else "object"}}
    schema = {"type": "object", "properties": {"result": listed}, "required": ["result"]}
    link, leg = make_link(operator)
    link.from_client(listing(), 1)
    link.from_server(tools(tool(READ, "Get the weather.", outputSchema=schema if wrapped else listed)), 2)
    link.from_client(call(1, READ, {"city": "Bonn"}), 3)
    texts = [one if isinstance(one, str) else json.dumps(one, indent=2) for one in value]
    structured = {"result": value} if wrapped else value
    shown = link.from_server(result(1, *texts, structuredContent=structured), 4)
    assert shown.act is Act.REPLACE, [one.note for one in leg.drain()]
    changed = json.loads(shown.body)["result"]
    inside = changed["structuredContent"]["result"] if wrapped else changed["structuredContent"]
    said = [block["text"] for block in changed["content"]]
    assert (said if isinstance(value[0], str) else [json.loads(text) for text in said]) == inside != value
    assert all(block["type"] == "text" for block in changed["content"])


def test_texts_that_are_no_list_of_the_structured_content_are_left_alone_with_the_reason() -> None:
    link, leg = make_link("tool.misleading")
    link.from_client(call(1, READ, {"city": "Bonn"}), 1)
    given = result(1, "All clear", "No rain", structuredContent={"result": ["All clear", "Rain"]})
    assert link.from_server(given, 2).act is Act.PASS
    assert any("structured content isn't its text" in one.note for one in leg.drain())


def test_noise_that_the_output_schema_forbids_is_withheld() -> None:
    schema = {"type": "object", "properties": {"temperature": {"const": 21.4}}}
    link, leg = make_link("tool.numeric_noise")
    link.from_client(listing(), 1)
    link.from_server(tools(tool(READ, "Get the weather.", outputSchema=schema)), 2)
    link.from_client(call(1, READ, {"city": "Bonn"}), 3)
    value = {"temperature": 21.4}
    assert link.from_server(result(1, json.dumps(value), structuredContent=value), 4).act is Act.PASS
    assert "output schema" in leg.drain()[0].note


def test_an_error_of_the_tools_own_is_left_alone() -> None:
    link, leg = make_link("tool.misleading", "state.irrelevant")
    link.from_client(call(1, READ), 1)
    assert link.from_server(result(1, "No such city.", isError=True), 2).act is Act.PASS
    assert [one.draw["outcome"] for one in leg.drain()] == ["tool_error"]


def test_a_renamed_tool_reaches_the_server_under_its_own_name() -> None:
    link, leg = make_link("schema.misleading_time_abbreviated")
    link.from_client(listing(), 1)
    declared = tools(tool("currency_rate.find", "Find a rate."), ttlMs=5, cacheScope="public")
    shown = json.loads(link.from_server(declared, 2).body)["result"]
    assert shown["cacheScope"] == "private"
    assert shown["ttlMs"] == 5
    names = [one["name"] for one in shown["tools"]]
    other = next(name for name in names if name != "currency_rate.find")
    decision = link.from_client(call(1, other, {"city": "x"}), 3)
    assert decision.act is Act.REPLACE
    assert decision.name == json.loads(decision.body)["params"]["name"] == "currency_rate.find"
    phantom = link.from_client(call(2, "currency_rate.find", {"city": "x"}), 4)
    assert phantom.act is Act.ANSWER
    assert "inside" in [one.draw.get("outcome") for one in leg.drain()]


def test_a_tool_whose_arguments_are_mirrored_in_headers_is_shown_as_it_is() -> None:
    link, _ = make_link("schema.misleading_time_abbreviated")
    link.from_client(listing(), 1)
    mirrored = tool("currency_rate.find", "Find a rate.")
    mirrored["inputSchema"]["properties"]["city"]["x-mcp-header"] = "City"
    assert link.from_server(tools(mirrored), 2).act is Act.PASS


def test_a_cut_after_the_call_was_carried_out_needs_an_opt_in() -> None:
    """Without one, a reset only ever comes before delivery."""
    for opted in (False, True):
        link, _ = make_link(
            "transport.reset",
            may_repeat=(ORDER,) if opted else (),
            more=ROOMY,
        )
        late = 0
        for n in range(100):
            if link.from_client(call(n, ORDER, {"n": n}), n).act is Act.PASS:
                late += link.from_server(result(n, "placed"), n).act is Act.CLOSE
        assert (late > 0) is opted


def test_a_duplicated_delivery_needs_an_opt_in_and_its_second_answer_is_dropped() -> None:
    link, _ = make_link("transport.duplicated_delivery")
    assert not link.from_client(call(1, ORDER), 1).copy
    link, _ = make_link("transport.duplicated_delivery", may_repeat=("place_*",))
    decision = link.from_client(call(1, ORDER), 1)
    assert decision.act is Act.PASS
    copy = json.loads(decision.copy)
    assert copy["params"]["name"] == ORDER
    assert copy["id"] != 1
    assert link.from_server(result(copy["id"], "placed"), 2).act is Act.DROP
    assert link.from_server(result(1, "placed"), 3).act is Act.PASS


def test_latency_is_a_wait_and_nothing_else() -> None:
    link, _ = make_link("transport.latency", severity=0.5)
    link.from_client(call(1, READ), 1)
    decision = link.from_server(result(1, "sunny"), 2)
    assert decision.act is Act.PASS
    assert decision.wait_s > 0


def test_the_draws_do_not_depend_on_the_order_of_arrival() -> None:
    def play(order: list[int]) -> dict[int, bytes]:
        link, _ = make_link(NOISE, severity=0.5, more=ROOMY)
        return {n: link.from_client(call(n, ORDER, {"n": n}), 1).body for n in order}

    assert play(list(range(40))) == play(list(reversed(range(40))))


def test_a_client_that_gives_up_or_leaves_settles_its_calls() -> None:
    link, leg = make_link("tool.misleading", severity=0.0)
    link.from_client(call(1, READ), 1)
    link.from_client(call(2, READ), 2)
    assert link.cancel(line(method="notifications/cancelled", params={"requestId": 1}), 3) is not None
    link.close(4)
    assert [one.draw["outcome"] for one in leg.drain()] == ["cancelled", "unanswered"]


@pytest.mark.parametrize(("given", "kept"), [("00-0af7-b7ad-01", True), (7, False), ("x" * 300, False)])
def test_the_trace_context_of_a_call_is_on_record(given: object, kept: bool) -> None:
    link, leg = make_link("tool.misleading", severity=0.0)
    asked = call(1, READ, _meta={"traceparent": given})
    assert link.from_client(asked, 1).act is Act.PASS
    link.from_server(result(1, "sunny"), 2)
    (end,) = leg.drain()
    assert end.draw.get("traceparent") == (given if kept else None)


def test_events_of_one_id_are_one_row() -> None:
    link, leg = make_link(NOISE)
    link.from_client(call(1, ORDER), 1)
    rows = [as_row(one) for one in leg.drain()]
    assert len({(row.attempt, row.ordinal) for row in rows}) == len(rows) == 2
    assert all(row.turn_index == -1 and row.anchor.startswith("wire:") for row in rows)
