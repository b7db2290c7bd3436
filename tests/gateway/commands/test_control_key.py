"""The control plane's key where it can be reached from elsewhere: made and printed once, in force in all
processes, and kept by a reload.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest

from crosswind.gateway.client import AsyncClient
from tests.gateway.servers import upstream
from tests.loop.children import Children

ANYWHERE = ("--control-host", "0.0.0.0")
OWN = "a-key-of-the-operators"


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_key_is_made_and_printed_off_loopback(
    tmp_path: Path, children: Children, workers: str
) -> None:
    config = tmp_path / "crosswind.yaml"
    config.write_text("seed: 1\n")
    async with upstream() as app, httpx.AsyncClient(trust_env=False) as http:
        options = (*ANYWHERE, "--workers", workers, "--config", str(config))
        running = await asyncio.to_thread(children.gateway, app.url, tmp_path / "store.db", *options)
        (key,) = re.findall(r"control key +(ck-\S{32})", running.child.log.read_text())
        refused = await http.post(f"{running.control}/api/sessions", json={})
        assert refused.status_code == 401
        async with AsyncClient(running.control, control_key=key) as client:
            await client.open_session()
            config.write_text("seed: 2\n")
            assert (await client._call("POST", "/api/reload"))["changed"] == ["seed"]
            await client.open_session()
            config.write_text(f"control_key: {OWN}\n")
            await client._call("POST", "/api/reload")
        async with AsyncClient(running.control, control_key=OWN) as client:
            await client.open_session()
        assert (
            await http.get(f"{running.control}/api/noise", headers={"authorization": f"Bearer {key}"})
        ).is_error


async def test_a_json_log_has_it_as_an_event(tmp_path: Path, children: Children) -> None:
    ports = ("--port", "0", "--control-port", "0")
    serve = children.start(
        *("serve", "--upstream", "http://127.0.0.1:9/v1", *ANYWHERE, *ports),
        environment={"CROSSWIND_LOG__FORMAT": "json"},
        cwd=tmp_path,
    )
    serve.until(lambda: '"serving"' in serve.said)
    made = [json.loads(line) for line in serve.said.splitlines() if "control_key_made" in line]
    assert len(made) == 1 and made[0]["control_key"].startswith("ck-")


async def test_none_is_made_where_one_is_configured_or_needless(tmp_path: Path, children: Children) -> None:
    async with upstream() as app, httpx.AsyncClient(trust_env=False) as http:
        given = {"CROSSWIND_CONTROL_KEY": OWN}
        keyed = await asyncio.to_thread(
            children.gateway, app.url, tmp_path / "keyed.db", *ANYWHERE, environment=given
        )
        bare = await asyncio.to_thread(children.gateway, app.url, tmp_path / "bare.db")
        for running, status in ((keyed, 401), (bare, 200)):
            assert (await http.get(f"{running.control}/api/noise")).status_code == status
            log = running.child.log.read_text()
            assert "control key" not in log and OWN not in log
