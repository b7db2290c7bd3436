"""Raw routes: bodies of any size, streamed both ways in bounded memory; methods, lengths and errors kept."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.loopback_server import listen, run_server
from crosswind.testing.replies import CUT, Part, ReceivedRequest, chunks, plain
from tests import ROOT
from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.servers import Running, answer, connection, gateway, upstream

MEGABYTE = 1 << 20
LARGE = 200
"""Megabytes that go through."""
BOUND_KB = 24 * 1024
"""How much the process may grow while they do."""


class Stream:
    """An upstream that takes a body as it comes, or gives one, and counts; nothing is kept of either."""

    def __init__(self) -> None:
        self.taken = 0
        self.given = 0
        self.go = asyncio.Event()
        self.headers: dict[str, str] = {}

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        self.headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["method"] == "POST":
            await self.go.wait()
            more = True
            while more:
                message = await receive()
                self.taken += len(message.get("body", b""))
                more = message.get("more_body", False)
            await send({"type": "http.response.start", "status": 201, "headers": []})
            return await send({"type": "http.response.body", "body": b"taken"})
        size = LARGE * MEGABYTE
        head = [(b"content-length", str(size).encode()), (b"content-type", b"audio/wav")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        while self.given < size:
            await send({"type": "http.response.body", "body": bytes(MEGABYTE), "more_body": True})
            self.given += MEGABYTE
        await send({"type": "http.response.body", "body": b""})


def serving(app: Any) -> AbstractAsyncContextManager[str]:
    """An ASGI application that serves within the block; gives its address."""
    config = uvicorn.Config(app, loop="none", lifespan="off", log_config=None, ws="none")
    return run_server(uvicorn.Server(config), listen())


@contextlib.asynccontextmanager
async def process(tmp_path: Path, url: str) -> AsyncIterator[tuple[str, int]]:
    """`crosswind serve` as a process of its own; gives its address and its id."""
    serve = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "crosswind.gateway.cli", "serve", "--upstream", f"{url}/v1"),
        *("--port", "0", "--control-port", "0"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )
    assert serve.stderr is not None
    try:
        said = ""
        while "secrets in texts" not in said:
            line = await asyncio.wait_for(serve.stderr.readline(), 60)
            assert line, said
            said += line.decode()
        yield re.findall(r"(http://127.0.0.1:\d+)", said)[0], serve.pid
    finally:
        serve.send_signal(signal.SIGTERM)
        await serve.communicate()


def memory_kb(pid: int, what: str) -> int:
    """VmRSS (now) or VmHWM (at most) of a process."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


async def standstill(count: list[int]) -> None:
    """Wait until a count has stopped to rise."""
    before = -1
    while count[0] != before:
        before = count[0]
        await asyncio.sleep(0.3)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads a process's memory from /proc")
async def test_large_bodies_go_through_in_bounded_memory(tmp_path: Path) -> None:
    sent = [0]

    async def body() -> AsyncIterator[bytes]:
        for _ in range(LARGE):
            yield bytes(MEGABYTE)
            sent[0] += 1

    app = Stream()
    async with serving(app) as url, process(tmp_path, url) as (data, pid):
        async with httpx.AsyncClient(trust_env=False, timeout=120) as http:
            await http.get(f"{data}/healthz")
            before = memory_kb(pid, "VmRSS")
            head = {"content-length": str(LARGE * MEGABYTE)}
            upload = asyncio.create_task(http.post(f"{data}/v1/files", content=body(), headers=head))
            # The upstream takes nothing yet: neither does the gateway, beyond what its buffers hold.
            await standstill(sent)
            assert sent[0] < LARGE // 4 and app.taken == 0
            app.go.set()
            given = await upload
            assert (given.status_code, given.content, app.taken) == (201, b"taken", LARGE * MEGABYTE)
            assert app.headers["content-length"] == head["content-length"]
            assert "transfer-encoding" not in app.headers
            async with http.stream("GET", f"{data}/v1/files/x/content") as answer:
                assert answer.headers["content-length"] == str(LARGE * MEGABYTE)
                parts = answer.aiter_raw(MEGABYTE)
                got = len(await anext(parts))
                # The client takes nothing more for now: the upstream is held back.
                given_mb = [0]
                watching = asyncio.create_task(watch(app, given_mb))
                await standstill(given_mb)
                assert app.given < LARGE * MEGABYTE // 4
                watching.cancel()
                async for part in parts:
                    got += len(part)
            assert got == LARGE * MEGABYTE
        assert memory_kb(pid, "VmHWM") - before < BOUND_KB


async def watch(app: Stream, given: list[int]) -> None:
    while True:
        given[0] = app.given
        await asyncio.sleep(0.05)


async def test_methods_statuses_and_lengths_are_kept(tmp_path: Path) -> None:
    zipped = gzip.compress(b"hello")

    async def head(seen: ReceivedRequest) -> AsyncIterator[Part]:
        status = {"HEAD": 200, "DELETE": 204, "OPTIONS": 200, "PATCH": 304}.get(seen.method, 206)
        length = [] if status in (204, 304) else [(b"content-length", str(len(zipped)).encode())]
        yield (
            status,
            [*length, (b"content-encoding", b"gzip"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")],
        )
        if status in (200, 206) and seen.method != "HEAD":
            yield zipped

    async with upstream(head) as app, gateway(tmp_path, app) as running:
        for method in ("GET", "HEAD", "DELETE", "OPTIONS", "PATCH", "PROPFIND"):
            answers = []
            for base in (app.url, running.data):
                request = running.http.build_request(
                    method, f"{base}/v1/files/a", headers={"range": "bytes=0-"}
                )
                answer = await running.http.send(request, stream=True)
                answers.append((answer, b"".join([part async for part in answer.aiter_raw()])))
            (direct, raw), (through, same) = answers
            assert (through.status_code, same) == (direct.status_code, raw)
            assert through.headers.multi_items() == direct.headers.multi_items()
            assert app.requests[-1].method == method and app.requests[-1].headers["range"] == "bytes=0-"


async def test_an_upstream_is_not_asked_to_repeat_what_it_was_sent(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, upstream_key="the-upstreams-own") as running:
        refused = await running.http.request("TRACE", f"{running.data}/v1/models")
        assert refused.status_code == 405 and not app.requests


async def test_chunked_bodies_stay_chunked(tmp_path: Path) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"a" * 1000
        yield b"b" * 1000

    reply = chunks(b"one", b"two")
    async with upstream(reply) as app, gateway(tmp_path, app) as running:
        given = await running.http.post(f"{running.data}/v1/audio/transcriptions", content=parts())
        assert app.requests[0].body == b"a" * 1000 + b"b" * 1000
        assert app.requests[0].headers["transfer-encoding"] == "chunked"
        assert "content-length" not in app.requests[0].headers
        assert given.content == b"onetwo" and given.headers["transfer-encoding"] == "chunked"


async def test_a_client_that_waits_for_100_is_told_to_go_on(tmp_path: Path) -> None:
    async with (
        upstream(plain(b"{}")) as app,
        gateway(tmp_path, app) as running,
        connection(running) as (reader, writer),
    ):
        writer.write(
            b"POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"
        )
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"hello")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert app.requests[0].body == b"hello" and "expect" not in app.requests[0].headers


async def test_an_upstream_may_refuse_before_it_has_read_the_body(tmp_path: Path) -> None:
    async def refuse(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        await receive()
        await send({"type": "http.response.start", "status": 413, "headers": [(b"x-why", b"size")]})
        await send({"type": "http.response.body", "body": b"too large"})

    async with (
        serving(refuse) as url,
        gateway(tmp_path, url) as running,
        connection(running) as (reader, writer),
    ):
        writer.write(
            b"POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\n" + bytes(1 << 16)
        )
        answer = await reader.readuntil(b"too large")
        assert answer.startswith(b"HTTP/1.1 413") and b"x-why: size" in answer


async def test_an_upstream_that_breaks_off_is_told_as_such(tmp_path: Path) -> None:
    async def broken(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [(b"content-length", b"100")]
        yield b"half of it"
        yield CUT

    async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with upstream(broken) as app, gateway(tmp_path, app) as running:
        with pytest.raises(httpx.RemoteProtocolError):
            await running.http.get(f"{running.data}/v1/files/x")
    async with await asyncio.start_server(closes, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with gateway(tmp_path, f"http://127.0.0.1:{port}") as running:
            given = await running.http.post(f"{running.data}/v1/files", content=b"x")
            assert (given.status_code, given.json()["error"]["code"]) == (502, "upstream_broken")


async def test_a_client_that_goes_away_frees_the_upstream(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def hold(number: int) -> None:
        if number:
            await never.wait()

    async with upstream(chunks(b"first", b"second", before=hold)) as app, gateway(tmp_path, app) as running:
        async with running.http.stream("GET", f"{running.data}/v1/files/x/content") as answer:
            assert await anext(answer.aiter_raw()) == b"first"
        await asyncio.wait_for(app.client_left.wait(), 60)


@pytest.mark.parametrize("sent", [b"GET /v1/images/x", b"POST /v1/images", b"POST /v1/embeddings"])
@pytest.mark.parametrize("behind", [False, True], ids=["alone", "behind another"])
async def test_a_client_that_does_not_await_the_head_frees_the_upstream(
    tmp_path: Path, sent: bytes, behind: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What is computed for it is to end: making an image takes long. `behind`: its request was sent together
    with another one's, and the answer to a third isn't awaited either.
    """
    came, never = asyncio.Event(), asyncio.Event()

    async def computing(_: ReceivedRequest) -> AsyncIterator[Part]:
        came.set()
        await never.wait()
        yield 200, []

    plainly = b"GET /v1/models/x HTTP/1.1\r\nhost: x\r\n\r\n"
    request = b"%b HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}" % sent
    replies = [plain(b"first"), computing] if behind else [computing]
    async with upstream(*replies) as app, gateway(tmp_path, app) as running:
        async with connection(running) as (reader, writer):
            writer.write(plainly + request + plainly if behind else request)
            if behind:
                await reader.readuntil(b"first")
            await asyncio.wait_for(came.wait(), 60)
        await asyncio.wait_for(app.client_left.wait(), 60)
    assert "without starting response" not in caplog.text


BATCH = b'{ "input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h" }'
BODY = {"model": "m", "messages": [{"role": "user", "content": "What did ACME order?"}], "tools": [tool()]}


async def run(running: Running, session: str, method: str = "POST") -> bytes:
    path = f"{running.data}/s/{session}/v1/batches"
    return (await running.http.request(method, path, content=BATCH if method == "POST" else None)).content


async def test_a_session_says_that_its_batches_run_without_noise(tmp_path: Path) -> None:
    made = {"id": "batch_1", "object": "batch"}
    async with upstream(plain(answer()), plain(made)) as app:
        async with gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
            await running.chat(BODY, "one")
            for method in ("POST", "GET", "POST"):
                await run(running, "one", method)
                assert (app.requests[-1].method, app.requests[-1].path) == (method, "/v1/batches")
            assert app.requests[-1].body == BATCH
            told = await running.trajectory("one")
            events = [one for one in told["events"] if "batch" in one["note"]]
            assert [(one["turn_index"], one["after"]) for one in events] == [(-1, None)] * 2
            opened = await running.api("POST", "/api/sessions", {"profile": "off"})
            await run(running, opened.json()["id"])
            assert (await running.trajectory(opened.json()["id"]))["events"] == []
        store = f"sqlite:///{tmp_path}/store.db"
        page = tmp_path / "page.html"
    for command in (["report", "--store", store, "--out", str(page)], ["store", "verify", "--store", store]):
        result = CliRunner().invoke(root, command)
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("status", [400, 500])
async def test_a_batch_that_was_refused_leaves_no_event(tmp_path: Path, status: int) -> None:
    replies = plain(answer()), plain({"error": {"message": "no"}}, status)
    async with upstream(*replies) as app, gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
        await running.chat(BODY, "one")
        await run(running, "one")
        events = (await running.trajectory("one"))["events"]
        assert events and not [one for one in events if "batch" in one["note"]]
