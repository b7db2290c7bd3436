"""The practice domain's tools over HTTP: the official MCP client, and plain requests to the API."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from crosswind.gateway.tools.openapi import read_openapi
from crosswind.loopback_server import listen, make_server, run_server
from crosswind.simulators.environment import Episode, load
from crosswind.simulators.tool_servers.application import DOCUMENT, EPISODE, ToolServer

RETAIL = load("retail")
TASK = "retail-test-00000"


@pytest.fixture
def episode() -> Iterator[Episode]:
    episode = RETAIL.reset(RETAIL.task(TASK), 0)
    yield episode
    episode.close()


@contextlib.asynccontextmanager
async def served(*episodes: Episode) -> AsyncIterator[list[httpx.AsyncClient]]:
    """For each episode a client that names it."""
    server = ToolServer(RETAIL)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(run_server(make_server(server), listen()))
        clients = []
        for episode in episodes:
            key = stack.enter_context(server.episodes.serve(episode))
            client = httpx.AsyncClient(base_url=url, headers={EPISODE: key}, trust_env=False)
            clients.append(await stack.enter_async_context(client))
        yield clients


def order_of(episode: Episode) -> str:
    return str(dict(getattr(episode, "facts", {}))["order"])


async def test_the_official_client_lists_and_calls_the_tools(episode: Episode) -> None:
    async with (
        served(episode) as [http],
        Client(streamable_http_client(f"{http.base_url}/mcp", http_client=http)) as client,
    ):
        listed = (await client.list_tools()).tools
        read = await client.call_tool("get_order", {"order_id": order_of(episode)})
        wrong = await client.call_tool("get_order", {"order_id": 7})
        unknown = await client.call_tool("teleport", {})
    assert [one.name for one in listed] == [tool["function"]["name"] for tool in RETAIL.tools]
    assert {one.name for one in listed if one.annotations and one.annotations.read_only_hint} == set(
        RETAIL.read_only
    )
    assert json.loads(read.content[0].text)["order_id"] == order_of(episode)
    assert wrong.is_error and "order_id must be of type string" in wrong.content[0].text
    assert unknown.is_error and "there is no tool teleport" in unknown.content[0].text


async def test_the_api_does_what_its_document_says(episode: Episode) -> None:
    async with served(episode) as [http]:
        api = read_openapi((await http.get(DOCUMENT)).json())
        read = await http.get("/api/get_order", params={"order_id": order_of(episode)})
        total = await http.post("/api/calculate_total", json={"amounts": [1, 2]})
        wrong = await http.get("/api/get_order", params={"order_id": "#W0"})
        method = await http.get("/api/cancel_order", params={"order_id": order_of(episode)})
        unknown = await http.post("/api/teleport", json={})
    assert {one.name for one in api.tools} == {tool["function"]["name"] for tool in RETAIL.tools}
    assert read.json()["order_id"] == order_of(episode)
    assert total.json() == {"total": 3}
    assert (wrong.status_code, wrong.json()) == (422, {"error": "#W0 not found"})
    assert (method.status_code, unknown.status_code) == (405, 404)


async def test_each_episode_has_a_world_of_its_own() -> None:
    task = next(task for task in RETAIL.tasks("test", kinds="all", seed=0) if task.kind == "email")
    episodes = [RETAIL.reset(task, 0), RETAIL.reset(task, 0)]
    old = dict(getattr(episodes[0], "facts", {}))["old email"]
    async with served(*episodes) as clients:
        user = (await clients[0].get("/api/find_user_by_email", params={"email": old})).json()["user_id"]
        change = {"user_id": user, "email": "new@example.com"}
        assert (await clients[0].post("/api/update_email", json=change)).status_code == 200
        seen = [(await one.get("/api/get_user", params={"user_id": user})).json()["email"] for one in clients]
    assert seen == ["new@example.com", old]
    for episode in episodes:
        episode.close()


async def test_bad_requests_get_their_protocols_own_errors(episode: Episode) -> None:
    async with served(episode) as [http]:
        answers = [
            (await http.post("/mcp", content=body)).json()["error"]["code"]
            for body in (b"{", b"[]", b'{"id": 1, "method": "none"}', b'{"id": 1, "method": "tools/call"}')
        ]
        assert answers == [-32700, -32600, -32601, -32602]
        assert (await http.post("/mcp", json={"method": "notifications/initialized"})).status_code == 202
        assert (await http.get("/mcp")).status_code == 405
        stranger = await http.post("/mcp", json={}, headers={EPISODE: "other"})
        assert (stranger.status_code, EPISODE in stranger.json()["error"]) == (404, True)
        assert (await http.post("/api/get_user", content=b"x" * (2 << 20))).status_code == 413


async def test_an_episode_is_begun_played_judged_and_ended_over_http(episode: Episode) -> None:
    async with served(episode) as [http]:
        task = next(task for task in RETAIL.tasks("test", kinds="all", seed=0) if task.kind == "amount")
        begun = (await http.post("/episodes", json={"task": task.id})).json()
        assert begun["task"] == task.id
        [order] = re.findall(r"#W\d{4}", begun["opening"])
        call = {"name": "get_order", "arguments": {"order_id": order}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        said = (await http.post("/mcp", json=message, headers={EPISODE: begun["episode"]})).json()
        total = json.loads(said["result"]["content"][0]["text"])["total"]
        url = f"/episodes/{begun['episode']}"
        assert (await http.get(url)).json()["reward"] == 0.0
        answer = await http.post(url, json={"text": f"Order {order} costs {total}."})
        assert answer.json() == {"reply": None}
        assert (await http.get(url)).json()["reward"] == 1.0
        assert (await http.delete(url)).status_code == 200
        assert (await http.get(url)).status_code == 404


@pytest.mark.parametrize(
    "body,words", [("[]", "JSON object"), ('{"seed": "x"}', "seed"), ('{"task": "none-1"}', "none-1")]
)
async def test_a_bad_episode_is_refused_with_the_fix(episode: Episode, body: str, words: str) -> None:
    async with served(episode) as [http]:
        refused = await http.post("/episodes", content=body)
        assert refused.status_code == 400 and words in refused.json()["error"]
