"""Keys of the control plane: their roles and tenants, and what is refused without one."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from crosswind.gateway.client import AsyncClient, Client, GatewayError
from crosswind.gateway.config.sections import Role
from crosswind.gateway.control.access import find_role
from crosswind.policies.deployment.gateway_observer import GatewayObserver
from crosswind.policies.engine import EngineError
from crosswind.simulators.benchmark.catalogue import check_offered
from crosswind.simulators.errors import UsageError
from tests.gateway.dialogue import PROFILE, body, user
from tests.gateway.servers import Running, gateway, upstream

OWNER = "the-owner-of-it-all"
KEYS: Any = [
    {"key": "reads-everything", "role": "read"},
    {"key": "operates-all-of-it", "role": "operate"},
    {"key_sha256": hashlib.sha256(b"administers-a").hexdigest(), "role": "admin", "tenant": "a"},
    {"key": "operates-for-b", "role": "operate", "tenant": "b"},
]


async def call(running: Running, key: str | None, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return await running.http.request(method, running.control + path, json=body, headers=headers)


async def test_each_request_needs_a_key_of_its_role(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER, control_keys=KEYS) as running:
        for key in (None, "wrong", OWNER + "x"):
            for path in ("/api/sessions", "/metrics", "/openapi.json", "/api/operators"):
                refused = await call(running, key, "GET", path)
                error = refused.json()["error"]
                assert (refused.status_code, error["code"]) == (401, "invalid_control_key")
                assert refused.headers["www-authenticate"] == "Bearer" and str(key) not in refused.text
            assert (await call(running, key, "GET", "/healthz")).is_success
            assert (await call(running, key, "GET", "/readyz")).json() == {"status": "ok"}
        asked: list[tuple[str, str, Any]] = [
            ("GET", "/metrics", None),
            ("POST", "/api/sessions", {}),
            ("PUT", "/api/noise", {"enabled": True}),
            ("PUT", "/api/profiles/flaky", {"yaml": PROFILE}),
            ("POST", "/api/reload", None),
            ("DELETE", "/api/sessions?tenant=nobody", None),
        ]
        for key, allowed in (("reads-everything", 1), ("operates-all-of-it", 4), (OWNER, 6)):
            got = [(await call(running, key, *one)).status_code for one in asked]
            assert all(status < 300 for status in got[:allowed]) and set(got[allowed:]) <= {403}, (key, got)
        refused = await call(running, "reads-everything", "POST", "/api/reload")
        assert "needs a key of the role 'admin'; this one's is 'read'" in refused.json()["error"]["message"]
        assert set((await call(running, OWNER, "GET", "/readyz")).json()) > {"status", "upstreams"}
        text = (await call(running, OWNER, "GET", "/metrics")).text
        assert OWNER not in text and "reads-everything" not in text


async def test_a_key_of_a_tenant_sees_its_sessions_alone(tmp_path: Path) -> None:
    a, b = "administers-a", "operates-for-b"
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER, control_keys=KEYS) as running:
        ours = (await call(running, a, "POST", "/api/sessions", {})).json()["id"]
        theirs = (await call(running, OWNER, "POST", "/api/sessions", {"tenant": "b"})).json()["id"]
        nobodys = (await call(running, OWNER, "POST", "/api/sessions", {})).json()["id"]
        refused = await call(running, a, "POST", "/api/sessions", {"tenant": "b"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "tenant_not_allowed")
        for key, own in ((a, ours), (b, theirs)):
            listed = (await call(running, key, "GET", "/api/sessions")).json()["sessions"]
            assert [one["id"] for one in listed] == [own]
        everything = (await call(running, OWNER, "GET", "/api/sessions")).json()["sessions"]
        assert {one["id"]: one["tenant"] for one in everything} == {ours: "a", theirs: "b", nobodys: None}
        for other in (theirs, nobodys, "never-opened"):
            for method, path, sent in (
                ("GET", "", None),
                ("GET", "/trajectory", None),
                ("GET", "/events", None),
                ("POST", "/reward", {"reward": 1}),
                ("POST", "/close", None),
                ("DELETE", "", None),
            ):
                gone = await call(running, a, method, f"/api/sessions/{other}{path}", sent)
                error = gone.json()["error"]
                assert (gone.status_code, error["code"]) == (404, "session_not_found"), (other, path)
                assert error["message"] == f"unknown session {other!r}; list them with GET /api/sessions"
        for method, path, sent in (
            ("GET", "/metrics", None),
            ("GET", "/api/versions", None),
            ("PUT", "/api/noise", {"enabled": False}),
            ("PUT", "/api/profiles/flaky", {"yaml": PROFILE}),
            ("DELETE", "/api/sessions?tenant=b", None),
        ):
            assert (await call(running, a, method, path, sent)).status_code == 403, path
        assert (await call(running, a, "GET", "/api/operators")).is_success
        assert (await call(running, a, "DELETE", "/api/sessions?tenant=a")).json() == {"deleted": 1}
        assert (await call(running, OWNER, "GET", f"/api/sessions/{theirs}")).is_success


async def test_a_key_of_a_tenant_learns_the_numbers_of_its_own_deleted_groups(tmp_path: Path) -> None:
    """Rollouts ask for them, so as not to use a group's number twice."""
    a, b = "administers-a", "operates-for-b"
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER, control_keys=KEYS) as running:
        for tenant, group in (("a", "g-00003"), ("b", "g-00007"), (None, "g-00005")):
            asked = {"group_id": group} | ({} if tenant is None else {"tenant": tenant})
            opened = (await call(running, OWNER, "POST", "/api/sessions", asked)).json()["id"]
            assert (await call(running, OWNER, "DELETE", f"/api/sessions/{opened}")).is_success
        for key, highest in ((a, 3), (b, 7), (OWNER, 7)):
            told = await call(running, key, "GET", "/api/groups/deleted?prefix=g-")
            assert told.json() == {"highest": highest}


async def test_a_group_of_one_tenant_says_nothing_of_anothers_with_the_same_id(tmp_path: Path) -> None:
    curriculum = {"version": 1, "profile": "noisyagent", "types": {"user.typos": {"level": 1, "share": 1.0}}}
    asked = {"group_id": "g", "group_size": 2}
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER, control_keys=KEYS) as running:
        await call(running, OWNER, "PUT", "/api/curriculum", curriculum)
        await call(running, "operates-for-b", "POST", "/api/sessions", asked | {"rollout_index": 0})
        await call(running, OWNER, "PUT", "/api/curriculum", curriculum | {"version": 2})
        versions = []
        for key, index in (("administers-a", 0), ("administers-a", 1), ("operates-for-b", 1)):
            opened = await call(running, key, "POST", "/api/sessions", asked | {"rollout_index": index})
            await call(running, key, "POST", f"/api/sessions/{opened.json()['id']}/reward", {"reward": 1.0})
            await call(running, key, "POST", f"/api/sessions/{opened.json()['id']}/close")
            versions.append(opened.json()["plan"]["curriculum_version"])
        assert versions == [2, 2, 1], "each tenant's group keeps the curriculum it was first opened under"
        [done] = [group.name for group in running.gateway.store.groups_since(0) if group.settled]
        assert {one.session.tenant for one in running.gateway.store.group(done)} == {"a"}


async def test_a_session_key_stays_with_its_tenant(tmp_path: Path) -> None:
    handed = {"api_key": "cw-a-key-that-goes-on-and-on"}
    async with upstream() as app, gateway(tmp_path, app, control_keys=KEYS) as running:
        assert (await call(running, "administers-a", "POST", "/api/sessions", handed)).is_success
        taken = await call(running, "operates-for-b", "POST", "/api/sessions", handed)
        assert (taken.status_code, taken.json()["error"]["code"]) == (409, "api_key_in_use")
        assert (await call(running, "administers-a", "POST", "/api/sessions", handed)).is_success


async def test_no_route_changes_anything_for_a_key_that_reads(running: Running) -> None:
    for method, path in [
        (method, route.path)
        for route in running_routes(running)
        for method in route.methods
        if method not in ("GET", "HEAD")
    ]:
        assert find_role(method, path) is not Role.READ, path


def running_routes(running: Running) -> list[APIRoute]:
    from crosswind.gateway.control import profiles, sessions, versions

    made = (profiles.router, sessions.router, sessions.group_router, versions.router)
    return [route for make in made for route in make(running.gateway).routes if isinstance(route, APIRoute)]


async def test_clients_send_their_key_or_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER) as running:
        async with AsyncClient(running.control) as client:
            assert await client.healthy()
            with pytest.raises(GatewayError, match="needs a key") as refused:
                await client.open_session()
            assert (refused.value.status, refused.value.code) == (401, "invalid_control_key")
        async with AsyncClient(running.control, control_key=OWNER) as client:
            opened = await client.open_session(tenant="a")
            assert (await client.session(opened.id)).tenant == "a"  # type: ignore[attr-defined]
        monkeypatch.setenv("CROSSWIND_CONTROL_KEY", OWNER)
        async with AsyncClient(running.control) as client:
            await client.close(opened.id)
        assert Client(running.control)._calls._http.headers["authorization"] == f"Bearer {OWNER}"


async def test_publishers_and_benchmarks_send_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER) as running:

        def publish(key: str | None = None) -> None:
            with closing(GatewayObserver(running.control, "http://engine:8000", control_key=key)) as observer:
                observer.on_doubted("v1", "a test")

        def check() -> None:
            check_offered(running.control, ["tool.timeout"], [("--profile", "noisyagent")])

        with pytest.raises(EngineError, match="401"):
            await asyncio.to_thread(publish)
        with pytest.raises(UsageError, match="needs a key"):
            await asyncio.to_thread(check)
        await asyncio.to_thread(publish, OWNER)
        monkeypatch.setenv("CROSSWIND_CONTROL_KEY", OWNER)
        await asyncio.to_thread(publish)
        await asyncio.to_thread(check)


async def test_a_large_body_is_refused_in_shape(tmp_path: Path) -> None:
    async def parts() -> Any:
        for _ in range(4):
            yield b"x" * 1000

    async with upstream() as app, gateway(tmp_path, app, limits={"control_body": 2000}) as running:
        for content in (b"x" * 3000, parts()):
            refused = await running.http.post(f"{running.control}/api/sessions", content=content)
            error = refused.json()["error"]
            assert (refused.status_code, error["code"]) == (413, "body_too_large")
            assert "2000 bytes" in error["message"] and "limits.control_body" in error["message"]
        assert (await running.api("POST", "/api/sessions", {"labels": {"a": "x" * 1500}})).is_success
        session = await running.chat(body(user("Hi")))
        assert session.is_success


async def test_keys_are_read_again(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, control_key=OWNER) as running:
        changed = running.gateway.settings.model_copy(update={"control_key": None, "control_keys": ()})
        assert (await call(running, None, "GET", "/api/noise")).status_code == 401
        await running.gateway.apply_settings(changed)
        assert (await call(running, None, "GET", "/api/noise")).is_success


@pytest.mark.parametrize("given", [{"control_key": "short"}, {"control_keys": [{"role": "read"}]}])
def test_what_is_no_key_is_refused(tmp_path: Path, given: Any) -> None:
    from crosswind.gateway.config.loading import load
    from crosswind.gateway.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="control_key"):
        load(None, {"upstream": "http://a/v1", **given})
