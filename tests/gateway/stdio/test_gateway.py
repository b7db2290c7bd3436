"""The relay in a gateway's session: one plan, one record, and each tool perturbed on one leg only."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from crosswind.gateway.trajectory.commands.sessions import sessions
from crosswind.studies.audit.command import audit
from tests.gateway.servers import Running, answer, gateway, plain, upstream
from tests.gateway.stdio.play import answers, call, relayed, request

SERVER = [
    sys.executable,
    "-c",
    """
import json, sys
tool = {"name": "place_order", "description": "Place an order.", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    one = json.loads(line)
    result = {"content": [{"type": "text", "text": "Order 7 was placed."}]}
    if one["method"] == "tools/list":
        result = {"tools": [tool]}
    print(json.dumps({"jsonrpc": "2.0", "id": one["id"], "result": result}), flush=True)
""",
]
NOISE = """
name: n
tool_classes: {place_order: idempotent}
rules: [{operator: tool.server_error, severity: 1}, {operator: tool.redundant, severity: 1}]
"""
LIST = request(0, "tools/list")
ORDER = [call(1, "place_order", id=7), call(2, "place_order", id=7)]
CALLED = {"name": "mcp__shop__place_order", "arguments": "{}"}
HISTORY = [
    {"role": "user", "content": "Place order 7."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "mcp__shop__place_order", "arguments": "{}"},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"state": "placed", "order": "A-7"}'},
]


async def relay(
    tmp_path: Path,
    control: str,
    *messages: Any,
    flags: tuple[str, ...] = (),
    server: Sequence[str] = SERVER,
) -> bytes:
    """What a client gets that sends these messages and leaves."""
    command = relayed(server, "--control", control, "--name", "shop", *flags)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
    )
    said, _ = await process.communicate(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
    assert process.returncode == 0
    return said


async def stored(running: Running, session: str) -> list[dict[str, Any]]:
    await running.flush()
    return (await running.api("GET", f"/api/sessions/{session}/events")).json()["events"]


def outcomes(events: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(one["attempt"], one["draw"]["outcome"]) for one in events if one["operator"] == "call"]


async def test_a_fault_on_the_wire_and_the_recovery_are_in_the_sessions_record(tmp_path: Path) -> None:
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        session = (await running.api("POST", "/api/sessions", {})).json()["id"]
        said = answers(await relay(tmp_path, running.control, LIST, *ORDER, flags=("--session", session)))
        assert said[1]["result"]["isError"]
        assert "isError" not in said[2]["result"]
        events = await stored(running, session)
        assert outcomes(events) == [(0, "injected"), (1, "answered")]
        assert [one["created"] for one in events] == sorted(one["created"] for one in events)
        dose = (await running.api("GET", f"/api/sessions/{session}/dose")).json()
        assert dose["exposure"] == "exposed"
        assert not list((tmp_path / "crosswind" / "tool-events").glob("*.jsonl"))
        [found] = await running.sessions()
        told = [said for name, said in found["labels"].items() if name.startswith("crosswind.leg.")]
        assert told == ["ended"], "a trainer need not wait for the leg"


async def test_a_session_is_shown_in_the_order_of_time(tmp_path: Path) -> None:
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        await running.chat({"model": "tiny", "messages": HISTORY[:1]}, "mine")
        await relay(tmp_path, running.control, LIST, *ORDER, flags=("--session", "mine"))
        await running.chat({"model": "tiny", "messages": HISTORY}, "mine")
        await running.flush()
        store = f"sqlite:///{tmp_path}/store.db"
        shown = await asyncio.to_thread(CliRunner().invoke, sessions, ["show", "mine", "--store", store])
        heads = [line for line in shown.output.splitlines() if line.startswith(("turn", "  on the wire"))]
        assert [line.partition(":")[0] for line in heads] == [
            "turn 0",
            *["  on the wire to shop"] * 2,
            *["  on the wire to shop, attempt 1"] * (len(heads) - 4),
            "turn 1",
        ]
        assert "tool.server_error" in heads[1]
        assert "recovered" in heads[-2]
        audited = await asyncio.to_thread(CliRunner().invoke, audit, ["--store", store])
        assert audited.exit_code == 0, audited.output


async def test_the_model_leg_leaves_alone_what_the_tool_leg_serves(tmp_path: Path) -> None:
    async with upstream(plain(answer())) as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        for attached in (False, True):
            session = (await running.api("POST", "/api/sessions", {})).json()["id"]
            if attached:
                await relay(tmp_path, running.control, LIST, flags=("--session", session))
            body = {"model": "tiny", "messages": HISTORY}
            assert (await running.chat(body, session)).status_code == 200
            events = [one for one in await stored(running, session) if one["turn_index"] >= 0]
            assert (not any(one["after"] for one in events)) is attached


async def test_a_session_that_nobody_opened_is_opened_by_its_name(tmp_path: Path) -> None:
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        await relay(tmp_path, running.control, LIST, *ORDER, flags=("--session", "mine"))
        assert (await running.chat({"model": "tiny", "messages": HISTORY[:1]}, "mine")).status_code == 200
        [found] = await running.sessions()
        assert found["id"] == "mine"
        assert len(outcomes(await stored(running, "mine"))) == 2


async def test_events_of_a_gateway_that_is_down_wait_and_come_once(tmp_path: Path) -> None:
    spool = tmp_path / "crosswind" / "tool-events"
    async with upstream() as provider:
        async with gateway(tmp_path, provider, noise=NOISE) as running:
            control = running.control
        flags = ("--session", "mine", "--wait", "0")
        said = answers(await relay(tmp_path, control, *ORDER, flags=flags))
        assert not any("isError" in one["result"] for one in said.values()), "there is no plan"
        [left] = spool.glob("*.jsonl")
        async with gateway(tmp_path, provider, noise=NOISE) as running:
            # It has another port in this test.
            kept = left.read_bytes().replace(control.encode(), running.control.encode())
            for _ in range(2):
                left.write_bytes(kept)
                while list(spool.glob("*.jsonl")):  # On a busy machine one relay may not get through with it.
                    await relay(tmp_path, running.control, LIST, flags=("--session", "other"))
                assert outcomes(await stored(running, "mine")) == [(0, "answered"), (0, "answered")]


async def test_events_that_cannot_be_stored_are_refused_and_secrets_are_masked(tmp_path: Path) -> None:
    secret = "sk-proj-" + "a1B2c3D4e5" * 5
    good = {"id": "1", "at_us": 1, "link": secret, "tool": "t", "anchor": secret, "slot": secret}
    good |= {"operator": "tool.timeout", "note": ""}
    json_type = {"content-type": "application/json"}
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        for wrong in ("at_us", "attempt", "version", "order", "severity"):
            for value in (2**70, -1, float("inf"), float("nan")):
                body = json.dumps({"events": [{**good, wrong: value}]})
                url = f"{running.control}/api/sessions/mine/tool-events"
                refused = await running.http.post(url, content=body, headers=json_type)
                assert refused.status_code == 400, (wrong, value)
                assert "as the relay wrote them" in refused.text
        assert (await running.api("POST", "/api/sessions/mine/tool-events", {"events": [good]})).is_success
        (event,) = await stored(running, "mine")
        assert secret not in json.dumps(event)


async def test_only_what_a_leg_writes_is_stored_and_each_event_is_counted_once(tmp_path: Path) -> None:
    good: dict[str, Any] = {"id": "1", "at_us": 1, "link": "l", "tool": "t", "anchor": "a", "note": ""}
    good |= {"operator": "tool.timeout", "slot": "s", "after": "late"}
    call_end = {**good, "id": "2", "operator": "call", "slot": ""}
    wrong: list[dict[str, Any]] = [
        {**good, "operator": "tool.nobody_knows"},
        {**good, "site": "nowhere"},
        {**good, "site": "user_text"},
        call_end,
        {**call_end, "draw": {"outcome": "splendid"}},
        {**call_end, "draw": {"outcome": ["answered"]}},
    ]
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        url = "/api/sessions/mine/tool-events"
        for one in wrong:
            refused = await running.api("POST", url, {"events": [one]})
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid"), one
        ended = {**call_end, "draw": {"outcome": "answered"}}
        told = [
            (await running.api("POST", url, {"events": batch})).json()["stored"]
            for batch in ([good, good], [good, ended, ended], [ended])
        ]
        assert told == [1, 1, 0]
        assert len(await stored(running, "mine")) == 2


async def test_what_the_control_plane_refuses_is_told(tmp_path: Path) -> None:
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        wrong = {"events": [{"id": 5}]}
        refused = await running.api("POST", "/api/sessions/mine/tool-events", wrong)
        assert refused.status_code == 400
        assert "events" in refused.json()["error"]["message"]
