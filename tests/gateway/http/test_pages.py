"""Web pages can't spend the gateway's keys: Host and Origin of what browsers send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets
from websockets.asyncio.client import connect

from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream

UPSTREAMS = [{"name": "paid", "models": ["*"], "key": "sk-of-the-gateway"}]
EVIL = "http://evil.example"
MOZILLA = "Mozilla/5.0 (X11; Linux x86_64)"


def keyed(url: str) -> dict[str, Any]:
    return {"upstream": None, "upstreams": [UPSTREAMS[0] | {"base": f"{url}/v1"}]}


async def send(running: Running, method: str = "POST", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if method == "GET":
        return await running.http.get(f"{running.data}/v1/models", headers=named)
    return await running.http.post(
        f"{running.data}/v1/chat/completions", json=body(user("Hi")), headers=named
    )


FOREIGN: list[dict[str, str]] = [
    {"origin": EVIL},
    {"origin": "null"},
    {"origin": "http://localhost:3000"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"host": "evil.example", "user_agent": MOZILLA},
    {"host": "evil.example", "origin": EVIL},
    {"host": "evil.example", "referer": f"{EVIL}/page"},
]


async def test_pages_of_others_cannot_use_the_gateways_key(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, **keyed(app.url)) as running:
        for method in ("POST", "GET", "OPTIONS"):
            for headers in FOREIGN:
                refused = await send(running, method, **headers)
                assert (refused.status_code, refused.json()["error"]["code"]) == (403, "page_not_allowed")
                assert "access-control-allow-origin" not in refused.headers
        assert app.requests == []
        for headers in ({}, {"host": "gateway:8080"}, {"user_agent": MOZILLA}, {"origin": running.data}):
            assert (await send(running, **headers)).is_success, headers


async def test_pages_that_are_allowed_may(tmp_path: Path) -> None:
    allowed = {
        "allowed_origins": ["https://chat.example.com"],
        "allowed_hosts": ["models.example.com"],
        "public_url": "https://crosswind.example.com",
    }
    async with upstream() as app, gateway(tmp_path, app, **keyed(app.url), **allowed) as running:
        for headers in (
            {"origin": "https://chat.example.com", "sec_fetch_site": "cross-site"},
            {"host": "models.example.com", "user_agent": MOZILLA},
            {"host": "crosswind.example.com", "origin": "https://crosswind.example.com"},
        ):
            assert (await send(running, **headers)).is_success, headers


@pytest.mark.parametrize("auth", ["passthrough", "keys"])
async def test_where_nothing_of_the_gateways_could_be_spent_pages_are_served(
    tmp_path: Path, auth: str
) -> None:
    """Without a key of the gateway's, and for whoever brings one of ours."""
    given = {"auth": "keys", "keys": [{"key": "our-key-for-a-page"}]} if auth == "keys" else {}
    held = keyed("http://127.0.0.1:1") if auth == "keys" else {}
    async with upstream() as app:
        if held:
            held["upstreams"][0]["base"] = f"{app.url}/v1"
        async with gateway(tmp_path, app, **held, **given) as running:
            for headers in FOREIGN:
                answer = await send(running, authorization="Bearer our-key-for-a-page", **headers)
                assert answer.is_success, headers


async def test_web_sockets_of_pages_are_refused(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, **keyed(app.url)) as running:
        url = running.data.replace("http", "ws", 1) + "/v1/realtime?model=m"
        for origin in (EVIL, "null"):
            with pytest.raises(websockets.InvalidStatus) as refused:
                await connect(url, origin=websockets.Origin(origin), proxy=None)
            assert refused.value.response.status_code == 403
        assert app.requests == []
