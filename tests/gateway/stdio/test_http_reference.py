"""The reference server over HTTP behind the gateway: the same bytes with noise off and an old SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_mcp import FAIL, events_of
from tests.gateway.servers import Running, gateway
from tests.gateway.stdio.play import HANDSHAKE, PATIENCE_S, call, relayed, request

V1 = Path(__file__).parent / "node" / "client_v1.mjs"
_OWN = re.compile(rb"[0-9a-f]{8}-[0-9a-f-]{27}(_[\w-]+)?|\d{13}(_\w+)?")
"""What is another one in each session: ids of sessions and of events."""


@pytest.fixture(scope="module")
def reference(node_servers: dict[str, list[str]]) -> Iterator[str]:
    """The URL of `server-everything streamableHttp`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with subprocess.Popen(
        [*node_servers["everything"], "streamableHttp"],
        env=os.environ | {"PORT": str(port)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        assert process.stderr is not None
        while b"listening" not in (said := process.stderr.readline()):
            assert said, "the server has ended"
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


@contextlib.asynccontextmanager
async def before(
    url: str, tmp_path: Path, app: ScriptedProvider, noise: str | None
) -> AsyncIterator[Running]:
    """A gateway before the server."""
    tools = {"mcp": {"everything": {"url": url}}}
    async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
        yield running


async def play(url: str) -> list[tuple[int, str | None, bytes]]:
    """What the server says to a session's requests, byte for byte but for its ids."""
    headers = {"accept": "application/json, text/event-stream"}
    asked: list[dict[str, Any]] = [
        *HANDSHAKE[1:],
        request(1, "tools/list"),
        request("1", "tools/call", name="echo", arguments={"message": "é\n\u2028 \U0001f32c"}),
        request(2, "no/such"),
        call(3, "get-structured-content", location="Chicago"),
        call(4, "no-such-tool"),
        call(5, "echo", message="ä\u2028x" * 100_000),
        request(6, "prompts/list"),
    ]
    out = []
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        for message in asked:
            answer = await http.post(url, json=message, headers=headers)
            if session := answer.headers.get("mcp-session-id"):
                headers["mcp-session-id"] = session
            kind = answer.headers.get("content-type")
            out.append((answer.status_code, kind, _OWN.sub(b"ID", answer.content)))
        ended = await http.delete(url, headers=headers)
        out.append((ended.status_code, None, ended.content))
    return out


@pytest.mark.parametrize("idle", [False, True])
async def test_a_session_is_the_same_bytes(
    reference: str, tmp_path: Path, app: ScriptedProvider, idle: bool
) -> None:
    never = "name: idle\nrules: [{operator: tool.timeout, severity: 1, when: {probability: 0}}]\n"
    async with before(reference, tmp_path, app, never if idle else None) as running:
        through = await play(f"{running.data}/s/s1/mcp/everything")
        assert through == await play(reference)
        assert [status for status, _, _ in through][:3] == [200, 202, 200]


async def run_v1(*command: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        "node", str(V1), "legacy", *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, failed = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0, failed.decode()
    return dict(json.loads(said))


async def test_the_first_sdk_for_node_meets_a_fault_and_its_retry_passes(
    reference: str, node_servers: dict[str, list[str]], tmp_path: Path, app: ScriptedProvider
) -> None:
    async with before(reference, tmp_path, app, FAIL) as running:
        direct = await run_v1(reference)
        over_http = await run_v1(f"{running.data}/s/s1/mcp/everything")
        calls = [
            one for one in await events_of(running, "s1") if one.operator == "call" and one.tool == "echo"
        ]
    over_stdio = await run_v1(*relayed(node_servers["everything"], "--profile", "robustbench-tc/5xxErr"))
    assert [one.draw["outcome"] for one in calls] == ["injected", "answered"]
    for seen in (over_http, over_stdio):
        assert [one["error"] for one in seen["echo"]] == [True, False]
        assert seen["echo"][1] == direct["echo"][1]
        assert seen["tools"] == direct["tools"]
