"""With noise off a server's sessions are the same bytes with and without the relay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.stdio.play import HANDSHAKE, META, call, play, relayed, request

BIG = "ä\u2028x" * 800_000
SESSIONS: dict[str, list[dict[str, Any]]] = {
    "everything": [
        request(1, "tools/list"),
        request("1", "tools/call", name="echo", arguments={"message": "é\n\u2028 \U0001f32c"}),
        request(2, "no/such"),
        call(3, "get-structured-content", location="Chicago"),
        call(4, "no-such-tool"),
        call(5, "get-sum", a="two"),
        call(6, "echo", message=BIG),
        request(7, "resources/list"),
        request(8, "prompts/list"),
        request(9, "ping"),
    ],
    "filesystem": [
        request(1, "tools/list"),
        call(2, "list_directory", path="a"),
        call(3, "list_allowed_directories"),
    ],
    "memory": [request(1, "tools/list"), call(2, "read_graph"), call(3, "search_nodes", query="x")],
    "modern": [
        request(1, "tools/list"),
        call(2, "echo", message="x"),
        call(3, "get-structured-content", location="x"),
        request(4, "no/such"),
    ],
}


@pytest.mark.parametrize("profile", ["off", "idle"])
@pytest.mark.parametrize("server", sorted(SESSIONS))
def test_a_session_is_the_same_bytes(
    servers: dict[str, list[str]], server: str, profile: str, tmp_path: Any
) -> None:
    """`idle` has rules that never act: every call is read."""
    idle = tmp_path / "idle.yaml"
    idle.write_text("name: idle\nrules: [{operator: tool.timeout, severity: 1, when: {probability: 0}}]\n")
    messages = [*HANDSHAKE, *SESSIONS[server]]
    command = servers[server]
    through = relayed(command, "--profile", "off" if profile == "off" else str(idle))
    assert play(through, messages) == play(command, messages)


def test_a_session_of_the_modern_era_is_the_same_bytes(servers: dict[str, list[str]]) -> None:
    client = {"name": "x", "version": "1"}
    meta = {
        **META,
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    messages = [
        request(1, "server/discover", _meta=meta),
        request(2, "tools/list", _meta=meta),
        request(3, "tools/call", name="echo", arguments={"message": "x"}, _meta=meta),
    ]
    direct = play(servers["modern"], messages)
    assert b"resultType" in direct[0]
    assert play(relayed(servers["modern"]), messages) == direct
