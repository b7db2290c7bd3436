"""The command line of MCP's Inspector, over the relay and over the gateway's route."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_mcp import FAIL, events_of
from tests.gateway.stdio.play import PATIENCE_S, relayed
from tests.gateway.stdio.test_http_reference import before, reference

__all__ = ["reference"]

BUILD = Path(__file__).parent / "node/node_modules/@modelcontextprotocol/inspector-cli/build"
ECHO = ("tools/call", "--tool-name", "echo", "--tool-arg", "message=x")


async def inspect(target: Sequence[str], *method: str) -> dict[str, Any]:
    """What it prints of a server, which is a command or a URL."""
    command, *arguments = target
    process = await asyncio.create_subprocess_exec(
        *("node", "index.js", command, "--method", *method, *(("--", *arguments) if arguments else ())),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=BUILD,  # It looks for its own package.json from here.
    )
    said, failed = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0, failed.decode()
    return dict(json.loads(said))


def failed(result: dict[str, Any]) -> bool:
    return result.get("isError") is True


async def test_the_inspector_sees_the_servers_tools_and_our_faults(
    reference: str,
    node_servers: dict[str, list[str]],
    tmp_path: Path,
    app: ScriptedProvider,
) -> None:
    server = node_servers["everything"]
    relay = relayed(server, "--profile", "robustbench-tc/5xxErr")
    direct, answer = await inspect(server, "tools/list"), await inspect(server, *ECHO)
    assert await inspect(relay, "tools/list") == direct
    assert failed(await inspect(relay, *ECHO))
    assert await inspect(relayed(server), *ECHO) == answer
    async with before(reference, tmp_path, app, FAIL) as running:
        route, over_http = [f"{running.data}/s/s1/mcp/everything"], ("--transport", "http")
        assert await inspect(route, "tools/list", *over_http) == direct
        assert [failed(await inspect(route, *ECHO, *over_http)) for _ in range(2)] == [True, False]
        calls = [one for one in await events_of(running, "s1") if one.operator == "call"]
    assert [one.draw["outcome"] for one in calls] == ["injected", "answered"]
    assert calls[1].draw["recovered"]
