"""An agent's MCP server behind the gateway: it is told where, and faults there are counted as the leg's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from crosswind.figures.attempts import Arm
from crosswind.testing import ScriptedProvider
from tests.studies.chaos.conftest import AGENT, Chaos

PROFILE = """
name: tools-fail
rules:
  - operator: tool.execution_failure
    severity: 1.0
    when: {probability: 1.0}
"""
TOOL = {
    "name": "get_gate",
    "description": "Read the gate of a flight.",
    "inputSchema": {"type": "object", "properties": {"flight": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}


class Shop(BaseHTTPRequestHandler):
    """An MCP server with one tool."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["content-length"])))
        listed: dict[str, Any] = {"tools": [TOOL]}
        called = {"content": [{"type": "text", "text": "Gate B1."}], "isError": False}
        result = listed if call["method"] == "tools/list" else called
        answer = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


def test_tools_over_mcp_fail_on_their_own_leg(play: Chaos, provider: ScriptedProvider, shop: str) -> None:
    play.folder.joinpath("tools-fail.yaml").write_text(PROFILE)
    play.profile, play.tasks = str(play.folder / "tools-fail.yaml"), play.tasks[:1]
    done = play("--mcp", f"shop={shop}", agent=(*AGENT, "mcp"), own=provider.base_url)
    assert done.exit_code == 0, done.output
    attempts = {one.arm: one for one in play.attempts(str(play.out / "crosswind.db"))}
    assert attempts[Arm.CLEAN].success == 1.0
    assert attempts[Arm.NOISY].success == 0.0
    assert {(one.operator, one.tool) for one in attempts[Arm.NOISY].faults} == {
        ("tool.execution_failure", "get_gate")
    }
    assert all(one.leg != "model" for one in attempts[Arm.NOISY].faults)
