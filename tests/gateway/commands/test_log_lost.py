"""`crosswind serve` where its log can't be written: traffic goes on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from crosswind.loopback_server import listen
from tests.gateway.dialogue import body, user
from tests.gateway.servers import upstream
from tests.loop.children import COMMAND, Child


def start(folder: Path, log: str, *arguments: str) -> Child:
    """Start `crosswind serve` with a log that takes nothing: its disk is full, or who read it has gone."""
    if log == "full":
        sink = os.open("/dev/full", os.O_WRONLY)
    else:
        source, sink = os.pipe()
        os.close(source)
    environment = os.environ | {"CROSSWIND_LOG__LEVEL": "debug"}  # so that every turn is logged
    with os.fdopen(sink) as stderr:
        process = subprocess.Popen(
            [*COMMAND, "serve", *arguments], cwd=folder, env=environment, stderr=stderr
        )
    return Child(process, folder / "none")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("log", "workers"), [("full", "1"), ("gone", "1"), ("full", "2")])
async def test_traffic_goes_on_where_the_log_cannot_be_written(
    tmp_path: Path, log: str, workers: str
) -> None:
    with listen() as one, listen() as two:
        ports = [free.getsockname()[1] for free in (one, two)]
    data, control = (f"http://127.0.0.1:{port}" for port in ports)
    async with upstream() as app, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        listening = ("--port", str(ports[0]), "--control-port", str(ports[1]))
        child = start(tmp_path, log, "--upstream", f"{app.url}/v1", "--workers", workers, *listening)
        try:
            child.until_healthy(f"{control}/readyz")
            for number in range(4):
                asked = await http.post(f"{data}/s/{number}/v1/chat/completions", json=body(user("Hello")))
                assert asked.is_success
            assert (await http.put(f"{control}/api/noise", json={"enabled": False})).is_success
            assert (await http.post(f"{data}/v1/chat/completions", content=b"{")).status_code < 500
            stored = (await http.get(f"{control}/api/sessions/3/trajectory")).json()
            assert len(stored["turns"]) == 1
        finally:
            code = child.stop()
        assert code == 0
