"""`crosswind serve` where its log can't be written: traffic goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from crosswind.testing.server import listen
from tests import ROOT
from tests.gateway.dialogue import body, user
from tests.gateway.servers import upstream


def unwritable(how: str) -> int:
    """A file that takes nothing: its disk is full, or who read it has gone."""
    if how == "full":
        return os.open("/dev/full", os.O_WRONLY)
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("how", "workers"), [("full", "1"), ("gone", "1"), ("full", "2")])
async def test_traffic_goes_on_where_the_log_cannot_be_written(
    tmp_path: Path, how: str, workers: str
) -> None:
    ports = []
    for _ in range(2):
        with listen() as free:
            ports.append(free.getsockname()[1])
    data, control = (f"http://127.0.0.1:{port}" for port in ports)
    log = unwritable(how)
    async with upstream() as app, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        command = ["serve", "--upstream", f"{app.url}/v1", "--workers", workers]
        command += ["--port", str(ports[0]), "--control-port", str(ports[1])]
        environment = os.environ | {"CROSSWIND_LOG__LEVEL": "debug"}  # so that every turn is logged
        environment["PYTHONPATH"] = str(ROOT)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "crosswind.gateway.cli", *command, cwd=tmp_path, env=environment, stderr=log
        )
        os.close(log)
        try:
            for _ in range(600):
                assert process.returncode is None
                try:
                    if (await http.get(f"{control}/readyz")).is_success:
                        break
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
            for number in range(4):
                asked = await http.post(f"{data}/s/{number}/v1/chat/completions", json=body(user("Hello")))
                assert asked.is_success
            assert (await http.put(f"{control}/api/noise", json={"enabled": False})).is_success
            assert (await http.post(f"{data}/v1/chat/completions", content=b"{")).status_code < 500
            stored = (await http.get(f"{control}/api/sessions/3/trajectory")).json()
            assert len(stored["turns"]) == 1
        finally:
            process.send_signal(signal.SIGTERM)
            code = await process.wait()
        assert code == 0
