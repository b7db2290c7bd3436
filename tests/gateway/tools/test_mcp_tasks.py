"""Results that come through tasks get the noise and the record that direct results get."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.tools.decision import Act
from crosswind.gateway.tools.events import CALL
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.mcp import McpLink
from tests.gateway.stdio.play import answers, play, read_events, relayed, request
from tests.gateway.tools.links import META, call, line, make_link

READ = "get_weather"
TRUE = "It is 21.4 degrees in Bonn."
RESULT = {"content": [{"type": "text", "text": TRUE}]}
ERAS = ["2025-11-25", "2026-07-28"]


def begin(link: McpLink, era: str, number: int = 1) -> Any:
    """A call that the server answers by a task; gives what the client gets."""
    modern = era == "2026-07-28"
    more: dict[str, Any] = {"_meta": META} if modern else {"task": {"ttl": 60_000}}
    decision = link.from_client(call(number, READ, {"city": "Bonn"}, **more), 1)
    if decision.act is not Act.PASS:
        return decision
    status = {"taskId": "t1", "status": "working"}
    handle = {"resultType": "task", **status} if modern else {"task": status}
    assert link.from_server(line(id=number, result=handle), 2).act is Act.PASS
    return decision


def fetch(link: McpLink, era: str, number: int, result: dict[str, Any] = RESULT) -> Any:
    """The client fetches the result; gives what becomes of it."""
    if era == "2026-07-28":
        link.from_client(line(id=number, method="tasks/get", params={"taskId": "t1"}), 3)
        told = {"resultType": "complete", "taskId": "t1", "status": "completed", "result": result}
        return link.from_server(line(id=number, result=told), 4)
    link.from_client(line(id=number, method="tasks/result", params={"taskId": "t1"}), 3)
    return link.from_server(line(id=number, result=result), 4)


def text_of(body: bytes) -> str:
    answer = json.loads(body)
    found = answer.get("result") or answer["params"]
    return str(found.get("result", found)["content"][0]["text"])


def outcomes(leg: ToolLeg) -> list[str]:
    return [one.draw["outcome"] for one in leg.drain() if one.operator == CALL]


@pytest.mark.parametrize("era", ERAS)
def test_a_result_through_a_task_is_changed_and_recorded_as_a_direct_one(era: str) -> None:
    link, leg = make_link("tool.misleading")
    begin(link, era)
    assert outcomes(leg) == [], "the call is under way"
    assert link.waits
    working = line(id=2, method="tasks/get", params={"taskId": "t1"})
    link.from_client(working, 2)
    status = {"taskId": "t1", "status": "working"}
    assert link.from_server(line(id=2, result=status), 2).act is Act.PASS
    first = fetch(link, era, 3)
    assert first.act is Act.REPLACE
    assert text_of(first.body) != TRUE
    events = leg.drain()
    assert [one.operator for one in events] == ["tool.misleading", CALL]
    assert text_of(fetch(link, era, 4).body) == text_of(first.body), "the same again"
    assert leg.drain() == []
    assert not link.waits
    direct, _ = make_link("tool.misleading")
    direct.from_client(call(1, READ, {"city": "Bonn"}), 1)
    assert text_of(direct.from_server(line(id=1, result=RESULT), 2).body) == text_of(first.body)


@pytest.mark.parametrize("era", ERAS)
def test_a_call_for_a_task_fails_before_delivery_and_the_next_is_its_second_attempt(era: str) -> None:
    link, leg = make_link("tool.execution_failure")
    failed = begin(link, era)
    assert failed.act is Act.ANSWER
    if era == "2025-11-25":
        assert "error" in json.loads(failed.body), "the client waits for a task, not for a result"
    assert begin(link, era, 2).act is Act.PASS
    assert fetch(link, era, 3).act is Act.PASS
    ends = [one for one in leg.drain() if one.operator == CALL]
    assert [(one.attempt, one.draw["outcome"]) for one in ends] == [(0, "injected"), (1, "answered")]


def test_a_notification_that_brings_the_result_is_changed_as_the_result_is() -> None:
    link, leg = make_link("tool.misleading")
    begin(link, "2026-07-28")
    status = {"taskId": "t1", "status": "completed", "result": RESULT}
    told = link.from_server(line(method="notifications/tasks", params=status), 3)
    assert told.act is Act.REPLACE
    assert text_of(told.body) != TRUE
    assert outcomes(leg) == ["answered"]
    assert text_of(fetch(link, "2026-07-28", 4).body) == text_of(told.body)


@pytest.mark.parametrize(
    ("end", "outcome"), [("cancel", "cancelled"), ("failed", "tool_error"), ("close", "unanswered")]
)
def test_a_task_that_brings_no_result_settles_its_call(end: str, outcome: str) -> None:
    link, leg = make_link("tool.misleading", severity=0.0)
    begin(link, "2026-07-28")
    if end == "cancel":
        link.from_client(line(id=2, method="tasks/cancel", params={"taskId": "t1"}), 3)
    elif end == "failed":
        link.from_client(line(id=2, method="tasks/get", params={"taskId": "t1"}), 3)
        failed = {"taskId": "t1", "status": "failed", "error": {"code": -1, "message": "no"}}
        assert link.from_server(line(id=2, result=failed), 4).act is Act.PASS
    else:
        link.close(3)
    assert outcomes(leg) == [outcome]
    link.close(5)
    assert outcomes(leg) == []


SERVER = """
import json, sys
for raw in sys.stdin:
    one = json.loads(raw)
    result = {"content": [{"type": "text", "text": "It is 21.4 degrees in Bonn."}]}
    if one["method"] == "tools/call":
        result = {"task": {"taskId": "t1", "status": "working"}}
    print(json.dumps({"jsonrpc": "2.0", "id": one["id"], "result": result}), flush=True)
"""


def test_the_relay_changes_the_result_of_a_task(tmp_path: Path) -> None:
    profile, events = tmp_path / "n.yaml", tmp_path / "events.jsonl"
    profile.write_text("name: n\nrules: [{operator: tool.misleading, severity: 1}]\n")
    command = relayed([sys.executable, "-c", SERVER], "--profile", str(profile), "--events", str(events))
    asked = request(1, "tools/call", name=READ, arguments={"city": "Bonn"}, task={})
    said, status = play(command, [asked, request(2, "tasks/result", taskId="t1")])
    assert status == 0
    got = answers(said)
    assert got[1]["result"]["task"]["taskId"] == "t1"
    assert got[2]["result"]["content"][0]["text"] != TRUE
    assert [one["operator"] for one in read_events(events)] == ["tool.misleading", "call"]
