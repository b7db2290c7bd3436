"""Servers of tools that the control plane is given."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.config.loading import load
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.upstreams.tool_servers import ToolServers
from crosswind.testing import ScriptedProvider
from tests.gateway.servers import Running, gateway, settings
from tests.gateway.tools.shop import OPENAPI, api_shop

RULE = {"tool": "get_order", "method": "GET", "path": "/orders/{order_id}"}
INTERNAL = [
    "http://169.254.169.254/latest",
    "http://[fe80::1]/",
    "http://[::ffff:169.254.169.254]:80/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://100.100.100.200/",
    "http://metadata.google.internal/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
]


async def test_a_server_that_is_given_serves_until_it_is_deleted(running: Running) -> None:
    async with api_shop() as shop:
        given = {"name": "orders", "kind": "api", "url": shop.url, "document": OPENAPI}
        assert (await running.api("POST", "/api/tools", given)).status_code == 200
        (listed,) = (await running.api("GET", "/api/tools")).json()["servers"]
        assert (listed["source"], listed["path"]) == ("given", "/s/SESSION/tools/orders")
        assert [one["name"] for one in listed["tools"]] == ["get_order", "cancel_order", "place_order"]
        url = f"{running.data}/s/s1/tools/orders/orders/7"
        assert (await running.http.get(url)).json()["city"] == "Lisbon"
        assert (await running.api("DELETE", "/api/tools/orders")).status_code == 200
        assert (await running.http.get(url)).status_code == 404
        assert (await running.api("DELETE", "/api/tools/orders")).status_code == 404
        assert (await running.api("GET", "/api/tools")).json() == {"servers": []}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({"url": url}, "link-local or metadata") for url in INTERNAL),
        ({"url": "npx -y server"}, "give a URL such as"),
        ({"url": "file:///etc/passwd"}, "give a URL such as"),
        ({"command": "npx"}, "command"),
        ({"name": "a/b"}, "name"),
        ({"rules": [{**RULE, "path": "orders"}]}, "rules[0].path"),
        ({"document": {"openapi": "2"}}, "no OpenAPI 3 document"),
        ({"kind": "mcp", "rules": [RULE]}, "an MCP server has none"),
    ],
)
async def test_what_cannot_be_a_server_is_refused(running: Running, given: dict[str, Any], said: str) -> None:
    body = {"name": "orders", "kind": "api", "url": "http://127.0.0.1:9", **given}
    answer = await running.api("POST", "/api/tools", body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert (await running.api("GET", "/api/tools")).json() == {"servers": []}


async def test_a_name_that_leads_to_a_metadata_address_later_is_refused_then(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"name": "orders", "kind": "api", "url": "http://rebound.example"}
    look_up = socket.getaddrinfo

    def rebind(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        return look_up("169.254.169.254" if host == "rebound.example" else host, port, *more, **options)

    def fail(host: Any, *more: Any, **options: Any) -> Any:
        raise OSError("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert (await running.api("POST", "/api/tools", body)).status_code == 200
    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    answer = await running.http.get(f"{running.data}/s/s1/tools/orders/orders/7")
    assert answer.status_code == 502
    assert "link-local or metadata address" in answer.json()["detail"]


async def test_only_admins_give_servers(tmp_path: Path, app: ScriptedProvider) -> None:
    keys = [{"key": f"{role}-key-0123456789", "role": role} for role in ("read", "operate", "admin")]
    body = {"name": "orders", "kind": "mcp", "url": "http://127.0.0.1:9"}
    async with gateway(tmp_path, app, control_keys=keys) as running:
        for key, allowed in zip(keys, (403, 403, 200), strict=True):
            headers = {"authorization": f"Bearer {key['key']}"}
            answer = await running.http.post(f"{running.control}/api/tools", json=body, headers=headers)
            assert answer.status_code == allowed
            listed = await running.http.get(f"{running.control}/api/tools", headers=headers)
            assert listed.status_code == 200


async def test_a_server_of_the_configuration_stays(tmp_path: Path, app: ScriptedProvider) -> None:
    tools = {"mcp": {"shop": {"url": "http://127.0.0.1:9/mcp"}}}
    async with gateway(tmp_path, app, tools=tools) as running:
        body = {"name": "shop", "kind": "mcp", "url": "http://127.0.0.1:10"}
        assert (await running.api("POST", "/api/tools", body)).status_code == 409
        assert (await running.api("DELETE", "/api/tools/shop")).status_code == 409


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({"mcp": {"shop": {"url": "http://169.254.169.254"}}}, "tools.mcp.shop.url"),
        ({"mcp": {"a b": {"url": "http://127.0.0.1"}}}, "tools.mcp"),
        ({"mcp": {"x": {"url": "http://a"}}, "apis": {"x": {"url": "http://b"}}}, "are named 'x'"),
        ({"apis": {"x": {"url": "http://b", "openapi": "a.yaml", "document": {}}}}, "give either `openapi`"),
        ({"apis": {"x": {"url": "http://b", "command": "npx"}}}, "tools.apis.x.command"),
    ],
)
def test_errors_of_the_configuration_name_the_field(tools: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load(None, {"upstream": "http://127.0.0.1:9/v1", "tools": tools})
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("api", "said"),
    [
        ({"openapi": "missing.yaml"}, "tools.apis.x.openapi: 'missing.yaml' can't be read"),
        ({"rules": [{"path": "/a", "tool": "a", "verb": "GET"}]}, "tools.apis.x.rules[0]"),
    ],
)
def test_errors_of_rules_and_documents_name_the_field(tmp_path: Path, api: dict[str, Any], said: str) -> None:
    given = settings(tmp_path, "http://127.0.0.1:9", tools={"apis": {"x": {"url": "http://b", **api}}})
    store = SqliteStore(tmp_path / "store.db")
    with pytest.raises(ConfigurationError) as raised:
        ToolServers(given, store, "run", None)
    assert said in str(raised.value)
    store.close()
