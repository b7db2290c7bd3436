"""The kill switch says what keeps noise off, over restarts too, and who switched it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from crosswind.testing import ScriptedProvider
from tests.gateway.servers import gateway
from tests.loop.children import Children


async def test_a_file_that_was_left_is_the_reason(tmp_path: Path, app: ScriptedProvider) -> None:
    file = tmp_path / "store.db.noise-off"
    file.touch()
    async with gateway(tmp_path, app) as running:
        state = (await running.api("GET", "/api/noise")).json()
        assert state == {"enabled": False, "reason": f"the file {file} exists: delete it"}
        assert (await running.api("PUT", "/api/noise", {"enabled": True})).json() == {"enabled": True}
        assert not file.exists()
        assert (await running.api("GET", "/api/noise")).json() == {"enabled": True, "reason": None}


async def test_an_order_is_the_reason_after_a_restart_without_the_file(
    tmp_path: Path, app: ScriptedProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    async with gateway(tmp_path, app) as running:
        await running.api("PUT", "/api/noise", {"enabled": False})
        await running.flush()
    assert "noise is switched over the control plane" in "".join(capfd.readouterr())
    (tmp_path / "store.db.noise-off").unlink()
    async with gateway(tmp_path, app) as running:
        assert "noise is off, as when the last run ended" in "".join(capfd.readouterr())
        state = (await running.api("GET", "/api/noise")).json()
        assert not state["enabled"] and "switched off by PUT /api/noise or SIGUSR1" in state["reason"]


async def test_a_signal_is_logged_and_doctor_knows_of_it(
    tmp_path: Path, children: Children, app: ScriptedProvider
) -> None:
    store = tmp_path / "store.db"
    serving = await asyncio.to_thread(children.gateway, app.url, store)

    async def switch(number: signal.Signals, times: int) -> None:
        serving.child.process.send_signal(number)
        told = "noise is switched by a signal"
        await asyncio.to_thread(serving.child.until, lambda: serving.child.said.count(told) == times)

    await switch(signal.SIGUSR1, 1)
    async with httpx.AsyncClient(trust_env=False) as http:
        assert not (await http.get(f"{serving.control}/api/noise")).json()["enabled"]
    await switch(signal.SIGUSR2, 2)
    await switch(signal.SIGUSR1, 3)
    await asyncio.to_thread(serving.child.stop)
    given = ("--upstream", f"{app.url}/v1", "--store", f"sqlite:///{store}", "--port", "0")
    said = await asyncio.to_thread(children.run, "doctor", *given, "--control-port", "0")
    [line] = [line for line in said.splitlines() if "noise is off" in line]
    assert line.startswith("! ") and "SIGUSR1" in line and 'PUT /api/noise {"enabled": true}' in line
