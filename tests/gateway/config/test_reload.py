"""The configuration changes while the gateway serves: at once, as a whole, and for no request in flight."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
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
from tests.gateway.dialogue import PROFILE, body, history
from tests.gateway.servers import Running, answer, gateway, upstream
from tests.loop.children import Children

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
        fixed = ("port", "control_port", "store", "seed", "durability_wait", "acknowledge_wait")
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
        changed = "auth keys limits.body log.level profile upstream upstream_key"
        assert given["changed"] == changed.split()
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


async def test_tenants_that_a_reload_brings_read_only_what_is_theirs(tmp_path: Path) -> None:
    keys = [{"key": f"key-of-tenant-{one}", "tenant": one} for one in "ab"]
    async with upstream() as one, reloadable(tmp_path, one) as (running, file):
        file.write(upstream=f"{one.url}/v1", auth="keys", keys=keys)
        assert (await reload(running)).json() == {"changed": ["auth", "keys"]}
        headers = {"authorization": "Bearer key-of-tenant-b"}
        refused = await running.http.get(f"{running.data}/v1/files/file-of-a", headers=headers)
        assert (refused.status_code, len(one.requests)) == (404, 0)


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
async def test_a_hang_up_rereads_the_file_in_all_processes(
    tmp_path: Path, children: Children, workers: int
) -> None:
    file = ConfigurationFile(tmp_path / "crosswind.yaml")
    fixed = {"port": 0, "control_port": 0, "workers": workers}
    async with upstream(plain({"from": "one"})) as one, upstream(plain({"from": "two"})) as two:
        file.write(upstream=f"{one.url}/v1", **fixed)
        serve = children.start("serve", "--config", str(file.path), cwd=tmp_path)
        data, control = serve.address("data plane"), serve.address("control plane")
        assert (await request("GET", f"{data}/files")).json() == {"from": "one"}
        file.write(upstream=f"{two.url}/v1", **fixed)
        serve.process.send_signal(signal.SIGHUP)
        reloads = workers if workers == 1 else workers + 1
        serve.until(lambda: serve.said.count("the configuration was reloaded") == reloads)
        for _ in range(2 * workers):
            assert (await request("GET", f"{data}/files")).json() == {"from": "two"}
        file.write(upstream=f"{one.url}/v1", **fixed | {"port": 1})
        given = await request("POST", f"{control}/api/reload")
        assert given.status_code == 400 and "port can't be changed" in given.text
    assert serve.stop() == 0 and "Traceback" not in serve.said


async def request(method: str, url: str) -> httpx.Response:
    """Send a request over a connection of its own."""
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.request(method, url)


async def test_a_profile_file_that_is_slow_to_read_keeps_no_turn_waiting(tmp_path: Path) -> None:
    slow = tmp_path / "slow.yaml"
    os.mkfifo(slow)
    begun, answered, waited = threading.Event(), threading.Event(), list[bool]()

    def give_text() -> None:
        """A turn that is kept waiting is answered after the text only."""
        with slow.open("w") as end:
            begun.set()
            waited.append(not answered.wait(10))
            end.write(PROFILE)

    async with upstream() as app, reloadable(tmp_path, app) as (running, file):
        file.write(upstream=f"{app.url}/v1", profile=str(slow))
        giving = asyncio.create_task(asyncio.to_thread(give_text))
        reloading = asyncio.create_task(reload(running))
        await asyncio.to_thread(begun.wait)
        assert (await running.chat(BODY, "a")).status_code == 200
        answered.set()
        await giving
        assert (await reloading).json()["changed"] == ["profile"] and waited == [False]


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
