"""Play requests to a server, directly or through the relay, and keep every byte that it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

RELAY = [sys.executable, "-c", "from crosswind.gateway.stdio.command import mcp; mcp()"]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
PATIENCE_S = 120


def relayed(command: Sequence[str], *flags: str) -> list[str]:
    return [*RELAY, *flags, "--", *command]


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", name=tool, arguments=arguments)


HANDSHAKE: list[dict[str, Any]] = [
    request("probe", "server/discover", _meta={}),
    request(
        0,
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "x", "version": "1"},
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def play(command: Sequence[str], messages: Sequence[dict[str, Any]]) -> tuple[bytes, int]:
    """What a server says to these messages, each sent when the one before is answered; its exit status."""

    said = bytearray()
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            process.stdin.flush()
            while "id" in message:
                line = process.stdout.readline()
                assert line, "the server has ended"
                said += line
                if json.loads(line).get("id") == message["id"]:
                    break
        process.stdin.close()
        said += process.stdout.read()
        return bytes(said), process.wait(PATIENCE_S)


def answers(said: bytes) -> dict[Any, dict[str, Any]]:
    """What was said, by id."""
    found = [json.loads(line) for line in said.splitlines()]
    return {one["id"]: one for one in found if "id" in one and "method" not in one}


def read_events(path: Path) -> list[dict[str, Any]]:
    return [dict(json.loads(line)) for line in path.read_text().splitlines()]
