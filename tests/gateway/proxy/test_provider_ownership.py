"""Tenants share the account at the provider, and nothing of what it keeps for them."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection

from crosswind.gateway.proxy.provider_objects import find_object_route, find_references
from crosswind.gateway.turn.recording import find_answer_ids
from crosswind.loopback_server import listen, make_server, run_server
from tests.gateway.proxy.test_websockets import at, speaking
from tests.gateway.servers import Running, gateway

A, B = "key-of-tenant-a-that-is-long", "key-of-tenant-b-that-is-long"
KEYS = [
    {"key_sha256": hashlib.sha256(key.encode()).hexdigest(), "tenant": name}
    for key, name in ((A, "a"), (B, "b"))
]
SHARED = {"auth": "keys", "keys": KEYS, "upstream_key": "sk-upstream"}
PREFIXES = {"files": "file-", "batches": "batch_", "conversations": "conv_", "vector_stores": "vs_"}
PAGE = 2


class Account:
    """A provider with one account, in which everybody reads everything."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.seen: list[str] = []
        self._numbers = count(1)

    def app(self) -> Starlette:
        keep = [
            Route("/v1/{collection:path}/{name}", self.one, methods=["GET", "POST", "DELETE"]),
            Route("/v1/{collection}", self.all, methods=["GET", "POST"]),
        ]
        turns = [
            Route(f"/v1/{path}", self.turn, methods=["POST"]) for path in ("responses", "chat/completions")
        ]
        stored = [Route("/v1/chat/completions", self.all, methods=["GET"])]
        return Starlette(routes=[*turns, *stored, *keep])

    def add(self, prefix: str, **members: Any) -> dict[str, Any]:
        name = f"{prefix}{next(self._numbers):06}"
        self.kept[name] = {"id": name, **members}
        return self.kept[name]

    async def all(self, request: Request) -> Response:
        collection = request.url.path.removeprefix("/v1/")
        if request.method == "POST":
            body = await request.body()
            self.seen.append(body.decode())
            made = self.add(PREFIXES[collection], of=collection)
            if collection == "batches":
                made["output_file_id"] = self.add("file-", of="outputs")["id"]
            return JSONResponse(made)
        own = [one for one in self.kept.values() if one["of"] == collection]
        after = request.query_params.get("after")
        start = next((n for n, one in enumerate(own, 1) if one["id"] == after), 0)
        page = own[start : start + PAGE]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return JSONResponse({"data": page, "has_more": start + PAGE < len(own), **ends})

    async def one(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        found = self.kept.get(request.url.path.split("/")[-1])
        return JSONResponse(found or {"error": {"message": "none"}}, 200 if found else 404)

    async def turn(self, request: Request) -> Response:
        body = await request.body()
        self.seen.append(body.decode("utf-8", "replace"))
        if request.url.path.endswith("completions"):
            message = {"role": "assistant", "content": "Hello."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            made = self.add("chatcmpl-", of="chat/completions", object="chat.completion", model="m")
            return JSONResponse({**made, "choices": [choice], "usage": {}})
        text = {"type": "output_text", "text": "Hello.", "annotations": []}
        item = self.add(
            "msg_", of="items", type="message", role="assistant", status="completed", content=[text]
        )
        made = self.add("resp_", of="responses", object="response", status="completed", model="m")
        asked = json.loads(body)
        repeated = {name: asked[name] for name in ("metadata", "tools") if name in asked}
        return JSONResponse({**made, **repeated, "output": [item], "usage": {}})


class Tenants:
    """Both tenants at the gateway."""

    def __init__(self, running: Running) -> None:
        self.running = running

    async def ask(self, key: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}"}
        return await self.running.http.request(
            method, f"{self.running.data}/v1{path}", json=body, headers=headers
        )

    async def make(self, key: str, path: str, body: Any = None) -> Any:
        given = await self.ask(key, "POST", path, body or {})
        assert given.status_code == 200, given.text
        return given.json()

    async def list(self, key: str, path: str) -> list[str]:
        given = await self.ask(key, "GET", path)
        assert given.status_code == 200, given.text
        return [one["id"] for one in given.json()["data"]]


@contextlib.asynccontextmanager
async def shared(tmp: Path, account: Account, **given: Any) -> AsyncIterator[Tenants]:
    port = listen()
    async with (
        run_server(make_server(account.app()), port) as url,
        gateway(
            tmp, url, **{"auth": "keys", "keys": KEYS, "upstream_key": "sk-upstream", **given}
        ) as running,
    ):
        yield Tenants(running)


RESPONSE = {"model": "m", "input": "Hi.", "store": True}


@pytest.mark.parametrize("record", ["full", "none"])
async def test_another_tenants_objects_do_not_exist(tmp_path: Path, record: str) -> None:
    account = Account()
    async with shared(tmp_path, account, record=record) as tenants:
        made = {path: (await tenants.make(A, f"/{path}"))["id"] for path in PREFIXES}
        response = await tenants.make(A, "/responses", RESPONSE)
        chat = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "store": True}
        completion = (await tenants.make(A, "/chat/completions", chat))["id"]
        output = account.kept[made["batches"]]["output_file_id"]
        item = response["output"][0]["id"]
        account.seen.clear()
        reads = [f"/{path}/{name}" for path, name in made.items()]
        reads += [
            f"/responses/{response['id']}",
            f"/chat/completions/{completion}",
            f"/files/{output}/content",
        ]
        reads += [
            f"/conversations/{made['conversations']}/items",
            "/files/file-unknown",
            "/files/file%2D000001",
        ]
        for path in reads:
            for method in ("GET", "DELETE"):
                refused = await tenants.ask(B, method, path)
                assert refused.status_code == 404, (method, path, refused.text)
                assert refused.json()["error"]["code"] == "not_found"
        bodies: list[tuple[str, Any]] = [
            ("/responses", {**RESPONSE, "previous_response_id": response["id"]}),
            ("/responses", {**RESPONSE, "conversation": {"id": made["conversations"]}}),
            ("/responses", {**RESPONSE, "input": [{"type": "item_reference", "id": item}]}),
            ("/responses/compact", {"model": "m", "previous_response_id": response["id"]}),
            ("/batches", {"input_file_id": made["files"], "endpoint": "/v1/responses"}),
            ("/vector_stores", {"file_ids": [made["files"]]}),
        ]
        for path, body in bodies:
            refused = await tenants.ask(B, "POST", path, body)
            assert refused.status_code == 404, (path, refused.text)
        assert not account.seen, "nothing of it reached the provider"
        for path in reads[:-2]:
            if "/items" not in path and "/content" not in path:
                assert (await tenants.ask(A, "GET", path)).status_code == 200, path
        for path, body in bodies[:3]:
            assert (await tenants.ask(A, "POST", path, body)).status_code == 200, path


async def send_raw(
    tenants: Tenants, key: str, path: str, body: bytes | None = None, kind: str = "application/json"
) -> int:
    """Send a path and a body as they are: clients rewrite them. Gives the status."""
    at = httpx.URL(tenants.running.data)
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    head += (
        f"authorization: Bearer {key}\r\ncontent-type: {kind}\r\ncontent-length: {len(body or b'')}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(at.host, at.port)
    writer.write(head.encode() + (body or b""))
    answered = await reader.read()
    writer.close()
    return int(answered.split()[1])


@pytest.mark.parametrize(
    "path",
    [
        "/v1/%66iles/{}",
        "/v1/files%2F{}",
        "/v1//files/{}",
        "/v1/files//{}",
        "/v1/files;a=b/{}",
        "/v1/FILES/{}",
        "/v1/files%5C{}",
        "/v1/x%2F..%2Ffiles%2F{}",
        "/v1/..%2fv1/files/{}",
    ],
)
async def test_a_path_leads_to_another_tenants_object_in_no_spelling(tmp_path: Path, path: str) -> None:
    account = Account()
    async with shared(tmp_path, account) as tenants:
        file = (await tenants.make(A, "/files"))["id"]
        account.seen.clear()
        assert await send_raw(tenants, B, path.format(file)) == 404
        assert not account.seen


@pytest.mark.parametrize(
    ("encoding", "encoded", "status"),
    [(charset, "", 404) for charset in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig")]
    + [("utf-8", "identity gzip", 404), ("utf-8", "gzip snappy", 415)],
)
async def test_a_body_names_another_tenants_object_in_no_encoding(
    tmp_path: Path, encoding: str, encoded: str, status: int
) -> None:
    account = Account()
    kind = "".join(["application/json", *[f"\r\ncontent-encoding: {one}" for one in encoded.split()]])
    async with shared(tmp_path, account) as tenants:
        file = (await tenants.make(A, "/files"))["id"]
        response = (await tenants.make(A, "/responses", RESPONSE))["id"]
        account.seen.clear()
        for path, body in (
            ("/v1/responses", {**RESPONSE, "previous_response_id": response}),
            ("/v1/vector_stores", {"file_ids": [file]}),
        ):
            raw = json.dumps(body).encode(encoding)
            sent = gzip.compress(raw) if encoded else raw
            assert await send_raw(tenants, B, path, sent, kind) == status, path
        assert not account.seen


async def test_an_id_that_an_answer_repeats_is_not_the_tenants(tmp_path: Path) -> None:
    account = Account()
    outside = account.add("file-", of="files")["id"]
    schema = {"type": "object", "properties": {}, "default": {"id": outside}}
    tools = [{"type": "function", "name": "look", "parameters": schema}]
    async with shared(tmp_path, account) as tenants:
        body = {**RESPONSE, "metadata": {"id": outside}, "tools": tools}
        made = await tenants.make(B, "/responses", body)
        assert made["metadata"] == {"id": outside} and made["tools"] == tools
        assert (await tenants.ask(B, "GET", f"/files/{outside}")).status_code == 404
        assert (await tenants.ask(B, "GET", f"/responses/{made['id']}")).status_code == 200


async def test_ownership_outlives_a_restart_and_holds_for_keys_of_sessions(tmp_path: Path) -> None:
    account = Account()
    async with shared(tmp_path, account) as tenants:
        file = (await tenants.make(A, "/files"))["id"]
        own = (await tenants.running.api("POST", "/api/sessions", {})).json()["api_key"]
        assert (await tenants.ask(own, "GET", f"/files/{file}")).status_code == 404
        second = (await tenants.make(own, "/files"))["id"]
        assert (await tenants.ask(own, "GET", f"/files/{second}")).status_code == 200
    async with shared(tmp_path, account) as tenants:
        assert (await tenants.ask(A, "GET", f"/files/{file}")).status_code == 200
        assert (await tenants.ask(A, "GET", f"/files/{second}")).status_code == 404
        assert (await tenants.ask(B, "GET", f"/files/{file}")).status_code == 404


async def test_a_deleted_session_of_another_tenant_is_unknown_like_any_other(tmp_path: Path) -> None:
    async with shared(tmp_path, Account(), sessions="strict") as tenants:
        api = tenants.running.api
        theirs = (await api("POST", "/api/sessions", {"tenant": "a"})).json()["id"]
        said = []
        for gone in (False, True):
            if gone:
                assert (await api("DELETE", f"/api/sessions/{theirs}")).is_success
            answered = await tenants.running.http.post(
                f"{tenants.running.data}/s/{theirs}/v1/responses",
                json=RESPONSE,
                headers={"authorization": f"Bearer {B}"},
            )
            said.append((answered.status_code, answered.text))
        assert said[0] == said[1] and said[0][0] == 404


async def test_lists_show_a_tenants_own_objects_however_many_others_lie_between(tmp_path: Path) -> None:
    account = Account()
    async with shared(tmp_path, account) as tenants:
        mine = [(await tenants.make(A, "/files"))["id"]]
        for _ in range(3 * PAGE):
            await tenants.make(B, "/files")
        mine.append((await tenants.make(A, "/files"))["id"])
        assert await tenants.list(A, "/files") == mine[:1]
        assert await tenants.list(A, f"/files?after={mine[0]}") == mine[1:]
        assert len(await tenants.list(B, f"/files?after={mine[0]}")) == PAGE
        unknown = account.add("file-", of="files")["id"]
        assert unknown not in await tenants.list(A, f"/files?after={mine[1]}")


async def test_without_tenants_nothing_is_looked_at(tmp_path: Path) -> None:
    account = Account()
    account.add("file-", of="files")
    async with shared(tmp_path, account, auth="passthrough", keys=[]) as tenants:
        assert (await tenants.ask("sk-any", "GET", "/files/file-000001")).status_code == 200
        assert await tenants.list("sk-any", "/files") == ["file-000001"]


async def test_a_web_socket_may_not_name_another_tenants_response(tmp_path: Path) -> None:
    async def respond(socket: ServerConnection) -> None:
        async for message in socket:
            asked = json.loads(message)
            await socket.send(
                json.dumps({"type": "response.completed", "response": {"id": "resp_" + asked["n"]}})
            )

    async with (
        speaking(respond) as (url, _),
        gateway(tmp_path, url, **SHARED) as running,
    ):
        for key, n, allowed in ((A, "first", True), (A, "second", True), (B, "third", False)):
            head = {"authorization": f"Bearer {key}"}
            async with connect(at(running, "/v1/responses"), additional_headers=head) as socket:
                before = {} if n == "first" else {"previous_response_id": "resp_first"}
                await socket.send(json.dumps({"type": "response.create", "n": n, **before}))
                answered = json.loads(await socket.recv())
                assert (answered["type"] == "response.completed") is allowed
                if not allowed:
                    assert answered["type"] == "error" and answered["error"]["code"] == "not_found"
                    await socket.send(json.dumps({"type": "response.create", "n": "fourth"}))
                    assert json.loads(await socket.recv())["response"]["id"] == "resp_fourth"


async def test_a_realtime_client_may_name_the_items_of_its_own_conversation(tmp_path: Path) -> None:
    async def converse(socket: ServerConnection) -> None:
        async for message in socket:
            asked = json.loads(message)
            told = {"type": "conversation.item.created", "item": asked["item"]} if "item" in asked else asked
            await socket.send(json.dumps(told))

    async with speaking(converse) as (url, _), gateway(tmp_path, url, **SHARED) as running:
        head = {"authorization": f"Bearer {A}"}
        named = json.dumps({"type": "echo", "input": [{"type": "item_reference", "id": "item_1"}]})
        async with connect(at(running, "/v1/realtime?model=m"), additional_headers=head) as socket:
            await socket.send(json.dumps({"type": "conversation.item.create", "item": {"id": "item_1"}}))
            assert json.loads(await socket.recv())["type"] == "conversation.item.created"
            await socket.send(named)
            assert await socket.recv() == named
        async with connect(at(running, "/v1/realtime?model=m"), additional_headers=head) as socket:
            await socket.send(named)
            assert json.loads(await socket.recv())["error"]["code"] == "not_found"


def test_references_are_found_however_they_are_written() -> None:
    escaped = r'{"previous\u005fresponse_id": "resp_1", "previous_response_id": "resp_2"}'
    assert find_references(escaped) == {"resp_1", "resp_2"}
    schema = {"tools": [{"parameters": {"properties": {"file_id": {"type": "string"}}}}]}
    used = {"messages": [{"content": [{"type": "tool_use", "id": "t", "input": {"file_id": "the agent's"}}]}]}
    assert not find_references(json.dumps(schema)) and not find_references(json.dumps(used))
    assert not find_references("no JSON at all")
    asked = {"type": "tool_use", "input": [{"type": "item_reference", "id": "msg_1"}]}
    assert find_references(json.dumps(asked)) == {"msg_1"}
    source = {"data_source": {"type": "jsonl", "source": {"type": "file_id", "id": "file-1"}}}
    assert find_references(json.dumps(source)) == {"file-1"}
    skills = [{"type": "anthropic", "skill_id": "pptx"}, {"type": "custom", "skill_id": "skill_1"}]
    assert find_references(json.dumps({"container": {"skills": skills}})) == {"skill_1"}


def test_answers_give_the_ids_that_the_provider_made() -> None:
    made = {
        "id": "resp_1",
        "output": [{"id": "ci_1", "container_id": "cntr_1"}],
        "conversation": {"id": "conv_1"},
    }
    made |= {"metadata": {"id": "file-1"}, "instructions": [{"id": "msg_1"}]}
    ids = {"resp_1", "ci_1", "cntr_1", "conv_1"}
    assert find_answer_ids(json.dumps(made).encode()) == ids
    assert find_answer_ids(json.dumps({"type": "response.completed", "response": made}).encode()) == ids
    claude = {"id": "msg_1", "type": "message", "container": {"id": "container_1"}}
    assert find_answer_ids(json.dumps(claude).encode()) == {"msg_1", "container_1"}
    created = {"type": "conversation.item.created", "item": {"id": "file-1"}}
    assert not find_answer_ids(json.dumps(created).encode())
    with pytest.raises(ValueError):
        find_references('{"file_id": "file-1"')


@given(st.text(max_size=60), st.binary(max_size=60))
def test_any_path_and_body_can_be_looked_at(path: str, body: bytes) -> None:
    find_object_route("/" + path)
    with contextlib.suppress(ValueError):
        find_references(body)
