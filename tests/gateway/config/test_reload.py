"""The configuration changes while the gateway serves: at once, as a whole, and for no request in flight."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from crosswind.gateway.config.loading import load
from crosswind.gateway.config.settings import Settings
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import JSON, Part, ReceivedRequest, plain
from tests import ROOT
from tests.gateway.dialogue import PROFILE, body, history
from tests.gateway.servers import Running, answer, gateway, upstream

BODY = body(*history(2))
TEXTS = [message["content"] for message in BODY["messages"]]


class ConfigurationFile:
    """A configuration file that a gateway reloads, with the settings that it can't change meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fixed: dict[str, Any] = {}

    def write(self, **settings: Any) -> None:
        self.path.write_text(yaml.safe_dump(settings))

    def read(self) -> Settings:
        return load(self.path, self.fixed)


@asynccontextmanager
async def reloadable(
    tmp_path: Path, app: ScriptedProvider, **settings: Any
) -> AsyncIterator[tuple[Running, ConfigurationFile]]:
    """A gateway, and the file that it is reloaded from."""
    file = ConfigurationFile(tmp_path / "crosswind.yaml")
    async with gateway(tmp_path, app, source=file.read, **settings) as running:
        now = running.gateway.settings
        fixed = ("port", "control_port", "store", "seed", "durability_wait")
        file.fixed = {name: getattr(now, name) for name in fixed}
        yield running, file


async def reload(running: Running) -> httpx.Response:
    return await running.api("POST", "/api/reload")


async def test_everything_that_may_change_changes_at_once(tmp_path: Path) -> None:
    profile = tmp_path / "flaky.yaml"
    profile.write_text(PROFILE)
    async with upstream() as one, upstream() as two, reloadable(tmp_path, one) as (running, file):
        assert (await running.chat(BODY, "a")).status_code == 200
        file.write(
            upstream=f"{two.url}/v1",
            upstream_key="sk-new",
            auth="keys",
            keys=[{"key": "key-of-ours"}],
            profile=str(profile),
            limits={"body": 1000},
            log={"level": "debug"},
        )
        given = (await reload(running)).json()
        assert given["changed"] == [
            "auth",
            "keys",
            "limits.body",
            "log.level",
            "profile",
            "upstream",
            "upstream_key",
        ]
        assert (await running.chat(BODY, "b")).status_code == 401
        mine = {"authorization": "Bearer key-of-ours"}
        assert (await running.chat(BODY, "b", **mine)).status_code == 200
        assert (await running.chat(b"x" * 1001, "b", **mine)).status_code == 413
        assert len(one.requests) == 1 and two.requests[0].headers["authorization"] == "Bearer sk-new"
        assert two.requests[0].texts() != TEXTS
        assert (await running.chat(BODY, "a", **mine)).status_code == 200
        assert two.requests[1].texts() == TEXTS, "a session's plan stays"
        states = (await running.api("GET", "/readyz")).json()["upstreams"]
        assert set(states["default"]) == {f"{two.url}/v1"}
        assert (await reload(running)).json() == {"changed": []}


async def test_a_request_in_flight_ends_with_what_it_began_with(tmp_path: Path) -> None:
    reached, go = asyncio.Semaphore(0), asyncio.Event()

    async def held(_: ReceivedRequest) -> AsyncIterator[Part]:
        reached.release()
        yield 200, [JSON]
        await go.wait()
        yield b'{"choices": []}'

    async with (
        upstream(held, held, plain(answer())) as one,
        upstream() as two,
        reloadable(tmp_path, one) as (running, file),
    ):
        turn = asyncio.create_task(running.chat(BODY, "a"))
        raw = asyncio.create_task(running.http.get(f"{running.data}/v1/files/x"))
        await reached.acquire()
        await reached.acquire()
        file.write(upstream=f"{two.url}/v1")
        assert (await reload(running)).status_code == 200
        go.set()
        assert (await turn).json() == (await raw).json() == {"choices": []}
        assert (await running.chat(BODY, "a")).status_code == 200
        assert (len(one.requests), len(two.requests)) == (2, 1)


async def test_an_upstream_that_stays_keeps_its_connections(tmp_path: Path) -> None:
    async with upstream() as one, reloadable(tmp_path, one) as (running, file):
        before = running.gateway.upstreams.default
        file.write(upstream=f"{one.url}/v1", upstreams=[{"name": "a", "base": "http://x", "models": ["a"]}])
        assert (await reload(running)).json() == {"changed": ["upstreams"]}
        assert running.gateway.upstreams.default is before and len(running.gateway.upstreams) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": 1}, "port can't be changed while the gateway serves"),
        ({"store": "sqlite:///elsewhere.db", "record": "none"}, "record, store can't be changed"),
        ({"profile": "no-such"}, "unknown profile"),
        ({"timeouts": {"conect": 1}}, "did you mean 'connect'?"),
        ({"upstream": "nowhere"}, "give a URL such as"),
        (None, "malformed YAML"),
    ],
)
async def test_what_cant_be_used_changes_nothing_and_says_why(
    tmp_path: Path, settings: dict[str, Any] | None, said: str
) -> None:
    async with upstream() as one, reloadable(tmp_path, one) as (running, file):
        file.fixed = {name: value for name, value in file.fixed.items() if name not in (settings or {})}
        before = running.gateway.settings, running.gateway.data.proxy
        if settings is None:
            file.path.write_text("upstream: [")
        else:
            file.write(**{"upstream": f"{one.url}/v1", "auth": "keys", "keys": [{"key": "k"}], **settings})
        given = await reload(running)
        assert given.status_code == 400 and said in given.json()["error"]["message"]
        assert (running.gateway.settings, running.gateway.data.proxy) == before
        assert (await running.chat(BODY, "a")).status_code == 200


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hang_up_rereads_the_file_in_all_processes(tmp_path: Path, workers: int) -> None:
    file = tmp_path / "crosswind.yaml"
    async with upstream(plain({"from": "one"})) as one, upstream(plain({"from": "two"})) as two:
        file.write_text(f"upstream: {one.url}/v1\nport: 0\ncontrol_port: 0\nworkers: {workers}\n")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "crosswind.gateway.cli", "serve", "--config", str(file)),
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            said = await until(process.stderr, "secrets in texts")
            data = re.findall(r"(http://127.0.0.1:\d+)", said)[0]
            control = re.findall(r"control plane  (\S+)", said)[0]
            async with httpx.AsyncClient(trust_env=False) as http:
                assert (await http.get(f"{data}/v1/files")).json() == {"from": "one"}
                file.write_text(f"upstream: {two.url}/v1\nport: 0\ncontrol_port: 0\nworkers: {workers}\n")
                process.send_signal(signal.SIGHUP)
                for _ in range(workers if workers == 1 else workers + 1):
                    await until(process.stderr, "the configuration was reloaded")
            for _ in range(2 * workers):
                async with httpx.AsyncClient(trust_env=False) as http:
                    assert (await http.get(f"{data}/v1/files")).json() == {"from": "two"}
            file.write_text(f"upstream: {one.url}/v1\nport: 1\ncontrol_port: 0\nworkers: {workers}\n")
            async with httpx.AsyncClient(trust_env=False) as http:
                given = await http.post(f"{control}/api/reload")
                assert given.status_code == 400 and "port can't be changed" in given.text
        finally:
            process.send_signal(signal.SIGTERM)
            rest = (await asyncio.wait_for(process.stderr.read(), 60)).decode()
        assert await process.wait() == 0 and "Traceback" not in rest


async def until(stream: asyncio.StreamReader, said: str) -> str:
    """What a process says, up to the line with these words."""
    text = ""
    while said not in text:
        line = await asyncio.wait_for(stream.readline(), 60)
        assert line, text
        text += line.decode()
    return text


async def test_an_edited_profile_counts_from_the_reload_on(tmp_path: Path) -> None:
    profile = tmp_path / "flaky.yaml"
    profile.write_text(PROFILE)
    async with upstream() as app, reloadable(tmp_path, app, profile=str(profile)) as (running, file):
        file.write(upstream=f"{app.url}/v1", profile=str(profile))

        async def shown(session: str) -> Any:
            """What the policy is shown in a new session, in one that the API opens by the file too."""
            opened = await running.api(
                "POST", "/api/sessions", {"profile": str(profile), "seed_scope": "session"}
            )
            assert (await running.chat(BODY, session)).is_success
            assert (await running.chat(BODY, opened.json()["id"])).is_success
            assert (app.requests[-1].texts() == TEXTS) == (app.requests[-2].texts() == TEXTS)
            return app.requests[-2].texts()

        noisy = await shown("a")
        assert noisy != TEXTS
        profile.write_text("name: flaky\nversion: 2\nrules: []\n")
        assert await shown("b") != TEXTS, "an edit alone changes nothing"
        assert (await reload(running)).json() == {"changed": [str(profile)]}
        assert (await reload(running)).json() == {"changed": []}
        assert await shown("c") == TEXTS
        profile.write_text("name: flaky\nrules: [")
        refused = await reload(running)
        assert refused.status_code == 400 and "flaky.yaml" in refused.text
        assert await shown("d") == TEXTS, "what can't be used changes nothing"
        profile.unlink()
        assert (await reload(running)).status_code == 400
        assert await shown("e") == TEXTS
