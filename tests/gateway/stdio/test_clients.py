"""The official clients through the relay, in both eras: noise on the tool leg, and recovery."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.stdio.play import PATIENCE_S, read_events, relayed

HERE = Path(__file__).parent
CLIENTS = ("python", "node")


def run_client(client: str, sdk: str, mode: str, command: list[str]) -> dict[str, Any]:
    own = (
        [sdk, str(HERE / "client.py")] if client == "python" else ["node", str(HERE / "node" / "client.mjs")]
    )
    done = subprocess.run(
        [*own, mode, *command], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("server", ["everything", "modern"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_sees_the_same_with_noise_off(
    sdk: str, client: str, servers: dict[str, list[str]], server: str, mode: str
) -> None:
    command = servers[server]
    assert run_client(client, sdk, mode, relayed(command)) == run_client(client, sdk, mode, command)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("server", ["everything", "modern"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_first_call_fails_before_delivery_and_the_second_passes(
    sdk: str, client: str, servers: dict[str, list[str]], server: str, mode: str, tmp_path: Path
) -> None:
    events = tmp_path / "events.jsonl"
    flags = ("--profile", "robustbench-tc/5xxErr", "--events", str(events))
    seen = run_client(client, sdk, mode, relayed(servers[server], *flags))
    assert [one["error"] for one in seen["echo"]] == [True, False]
    assert seen["echo"][1]["text"] == "Echo: x"
    ends = [one for one in read_events(events) if one["operator"] == "call" and one["tool"] == "echo"]
    assert [one["draw"]["outcome"] for one in ends] == ["injected", "answered"]
    assert ends[1]["draw"]["recovered"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_accepts_structured_content_that_noise_changed(
    sdk: str, client: str, servers: dict[str, list[str]], mode: str, tmp_path: Path
) -> None:
    """The client validates it by the tool's output schema."""
    profile = tmp_path / "off-key.yaml"
    profile.write_text("name: n\nrules: [{operator: tool.numeric_noise, severity: 1}]\n")
    seen = run_client(
        client, sdk, mode, relayed(servers["modern"], "--profile", str(profile), "--tools-read-only", "get-*")
    )
    assert seen["structured"]["error"] is False
    assert seen["structured"]["value"]["temperature"] != 3.5
    assert json.loads(seen["structured"]["text"]) == seen["structured"]["value"]
