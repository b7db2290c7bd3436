"""Tenants of one gateway: the session of one is no other's, however it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers

KEYS: Any = [{"key": "the-key-of-team-a", "tenant": "a"}, {"key": "the-key-of-team-b", "tenant": "b"}]


def bearer(team: str) -> dict[str, str]:
    return {"authorization": f"Bearer the-key-of-team-{team}"}


async def ask(running: Running, path: str, team: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await running.http.post(
        running.data + path, json=body(user("Where is my order?")), headers=bearer(team) | named
    )


async def refused_to_b(one: Running, other: Running) -> None:
    chat = "/v1/chat/completions"
    assert (await ask(one, f"/s/ours{chat}", "a")).is_success
    by_path = await ask(other, f"/s/ours{chat}", "b")
    assert (by_path.status_code, by_path.json()["error"]["code"]) == (403, "session_not_allowed")
    assert (await ask(other, chat, "b", x_crosswind_session="ours")).status_code == 403
    stored = await other.http.get(f"{other.data}/s/ours/v1/responses/resp_1", headers=bearer("b"))
    assert stored.status_code == 403
    in_its_shape = (await ask(other, "/s/ours/v1/messages", "b")).json()
    assert (in_its_shape["type"], in_its_shape["error"]["type"]) == ("error", "permission_error")
    assert (await ask(other, f"/s/ours{chat}", "a")).is_success
    assert len((await one.trajectory("ours"))["turns"]) == 2


async def test_a_session_is_its_tenants(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=KEYS) as running:
        await refused_to_b(running, running)
        assert len({seen.body for seen in app.requests}) == 1 and len(app.requests) == 2


async def test_on_every_worker(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, auth="keys", keys=KEYS) as (one, other):
        await refused_to_b(one, other)


async def test_a_session_that_the_control_plane_opened_is_whose_tenant_ever_is_told_of_it(
    tmp_path: Path,
) -> None:
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=KEYS) as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
        for team in ("a", "b"):
            assert (await ask(running, f"/s/{opened}/v1/chat/completions", team)).is_success
