"""A gateway that runs for a whole module's examples, and an upstream that answers with any bytes at all."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import structlog

from tests.gateway.servers import Running, gateway

SECRET = "Zq7vT3wXk9LmN2pR8sYb4"
"""Stands in every credential that a request carries, and has no business anywhere else."""
CREDENTIALS = {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET, "api-key": SECRET}
PATIENCE_S = 60.0
"""After that an answer is taken to hang; the gateway's own timeouts are well below."""
NOISY = ("texts", "tools", "answers")
PROFILES = {
    "texts": "user.redundant user.typos user.ambiguous tool.timeout tool.incomplete tool.misleading",
    "tools": "schema.*",
    "answers": "model.malformed_arguments model.unknown_tool model.duplicated_call_id schema.redundant_tool "
    "schema.ghost_tool",
}
OK = b'{"id":"x","object":"x","choices":[],"data":[],"output":[],"content":[],"usage":{}}'


def http_answer(body: bytes, *headers: str, status: int = 200, kind: str = "application/json") -> bytes:
    """An answer as an upstream writes it."""
    head = [
        f"HTTP/1.1 {status} X",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def streamed(*parts: bytes, complete: bool = True) -> bytes:
    """A stream as an upstream writes it, in chunks; not `complete`: the connection breaks after the last."""
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n"
    return head + chunks + (b"0\r\n\r\n" if complete else b"")


@dataclass
class Anything:
    """An upstream that answers each request with the bytes that come next, the last ones again and again."""

    answers: list[bytes] = field(default_factory=lambda: [http_answer(OK)])
    bodies: list[bytes] = field(default_factory=list)
    """The bodies of the requests, as they came."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            self.bodies.append(await _body(head, reader))
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
        writer.close()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    if b"transfer-encoding: chunked" in head:
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(parts)
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return await reader.readexactly(int(length or 0))


@dataclass
class Stage:
    """What a test has at hand: requests to send, what the upstream says and saw, what was logged."""

    running: Running
    upstream: Anything
    http: httpx.Client
    store: Path
    log: io.StringIO
    profiles: dict[str, str]
    loop: asyncio.AbstractEventLoop
    said: str = ""
    """What was logged lately."""
    _sessions: Iterator[int] = field(default_factory=count)

    def session(self) -> str:
        """A name that no session has yet."""
        return f"f{next(self._sessions)}"

    def send(
        self,
        path: str,
        body: bytes | None,
        *answers: bytes,
        noise: str = "off",
        method: str = "POST",
        **headers: str,
    ) -> httpx.Response | None:
        """Send a request of which nothing is too odd; None where its answer broke off."""
        self.upstream.answers = list(answers) or [http_answer(OK)]
        self.upstream.bodies.clear()
        answer = self._ask(method, path, body, noise, {"content-type": "application/json"} | headers)
        assert answer is None or answer.status_code != 500, answer.text
        return answer

    def upstream_says(self, path: str, body: bytes, answer: bytes, noise: str) -> httpx.Response | None:
        """Send a request to an upstream that may well answer with a 500 of its own."""
        self.upstream.answers = [answer]
        return self._ask("POST", path, body, noise, {})

    def _ask(
        self, method: str, path: str, body: bytes | None, noise: str, headers: dict[str, str]
    ) -> httpx.Response | None:
        named = {"x-crosswind-profile": self.profiles[noise], **CREDENTIALS} | headers
        answer = None
        with contextlib.suppress(httpx.RemoteProtocolError, httpx.DecodingError):
            answer = self.http.request(method, self.running.data + path, content=body, headers=named)
        self.check_log()
        return answer

    def check_log(self) -> None:
        """Nothing that is a defect was logged, and no secret."""
        said = self.said = self.log.getvalue()
        self.log.seek(0)
        self.log.truncate()
        assert "Traceback" not in said, said.replace("\\n", "\n")
        assert SECRET not in said, said

    def raw(self, request: bytes) -> bytes:
        """Send bytes as they are, and nothing after them; gives what comes back until the connection ends."""
        port = int(self.running.data.rpartition(":")[2])
        self.upstream.answers = [http_answer(OK)]
        self.upstream.bodies.clear()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            out = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(1 << 16):
                    out += data
        self.check_log()
        return out

    def still_serves(self) -> None:
        """It answers as before, and the secret is nowhere."""
        body = b'{"model":"m","messages":[{"role":"user","content":"Where is order W17?"}]}'
        answer = self.send("/v1/chat/completions", body)
        assert answer is not None and answer.status_code == 200 and answer.content == OK
        assert self.upstream.bodies == [body]
        metrics = self.http.get(f"{self.running.control}/metrics")
        assert metrics.status_code == 200 and SECRET not in metrics.text
        asyncio.run_coroutine_threadsafe(self.running.flush(), self.loop).result(PATIENCE_S)
        for file in self.store.parent.glob(f"{self.store.name}*"):
            assert SECRET.encode() not in file.read_bytes(), file


@contextlib.contextmanager
def stage(tmp: Path) -> Iterator[Stage]:
    """A stage that stands within the block, its servers in a thread of their own."""
    profiles = {"off": "off"}
    for name, operators in PROFILES.items():
        rules = [
            {"operator": one, "severity": 1.0, "when": {"probability": 1.0}} for one in operators.split()
        ]
        bounds = {"faults_per_call": 9, "faults_per_session": 99, "events_per_session": 999}
        (tmp / f"{name}.yaml").write_text(
            json.dumps({"name": name, "version": 1, "bounds": bounds, "rules": rules})
        )
        profiles[name] = str(tmp / f"{name}.yaml")
    log, ready, over = (
        io.StringIO(),
        Future[tuple[Running, Anything, asyncio.AbstractEventLoop]](),
        asyncio.Event(),
    )
    with _logged(log):
        thread = threading.Thread(target=lambda: asyncio.run(_serve(tmp, profiles, ready, over)))
        thread.start()
        try:
            running, app, loop = ready.result(PATIENCE_S)
            with httpx.Client(trust_env=False, timeout=PATIENCE_S, limits=httpx.Limits()) as http:
                built = Stage(running, app, http, tmp / "store.db", log, profiles, loop)
                yield built
                built.still_serves()
        finally:
            if ready.done() and ready.exception() is None:
                loop.call_soon_threadsafe(over.set)
            thread.join()


async def _serve(tmp: Path, profiles: dict[str, str], ready: Future[Any], over: asyncio.Event) -> None:
    given: dict[str, Any] = {
        "steering": True,
        "steering_cap": {"profiles": list(profiles.values())},
        "timeouts": {
            "connect": 20,
            "first_byte": 40,
            "between_chunks": 20,
            "total": 50,
            "after_completion": 0.2,
        },
        "health": {"failures": 10**9},
        "limits": {"body": 4 << 20, "event": 1 << 20, "decoded": 4 << 20},
        "retry_grace": 0,
    }
    app = Anything()
    server = await asyncio.start_server(app, "127.0.0.1", 0, limit=1 << 20)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            async with gateway(tmp, url, **given) as running:
                ready.set_result((running, app, asyncio.get_running_loop()))
                await over.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise


@contextlib.contextmanager
def _logged(log: io.StringIO) -> Iterator[None]:
    """Everything that is logged, by whatever library, goes there."""
    handler = logging.StreamHandler(log)
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(log),
        cache_logger_on_first_use=False,
    )
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        structlog.configure(**before)  # the suite's own: the default one spends seconds on a traceback
