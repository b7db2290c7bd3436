"""An MCP client for commands that ask a server: over HTTP and stdio, of both eras, one request at a time."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
import msgspec

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.stdio.server_process import ServerProcess
from crosswind.gateway.tools.mcp import MODERN
from crosswind.gateway.tools.mcp_results import Members, read_members
from crosswind.gateway.tools.mcp_tools import ToolListView
from crosswind.injectors.conversation import ToolSchema

LEGACY_VERSION, MODERN_VERSION = "2025-11-25", "2026-07-28"
LONGEST_S = 30.0
_CLIENT = {"name": "crosswind", "version": "1"}
_MOST_PAGES = 100
_LARGEST_EVENT = 64 << 20
_CHUNK = 1 << 16
_NO_METHOD = {"code": -32601, "message": "this client has no such method"}
Message = Mapping[str, Any]


class McpError(ValueError):
    """The server can't be asked, or gave no answer. The message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to a request: a result, or an error's message."""

    result: bytes | None
    error: str = ""


class Transport(Protocol):
    """How messages reach a server."""

    def ask(self, message: Message, version: str | None) -> bytes:
        """The answer to a request. Raises McpError."""

    def say(self, message: Message, version: str | None) -> None:
        """Send a notification. Raises McpError."""

    def close(self) -> None: ...


class HttpTransport:
    """An endpoint of MCP over HTTP. `key` is sent as a bearer token."""

    def __init__(self, url: str, *, key: str | None = None, longest_s: float = LONGEST_S) -> None:
        self._url = url
        self._longest_s = longest_s
        self._own = {"accept": "application/json, text/event-stream"}
        if key is not None:
            self._own["authorization"] = f"Bearer {key}"
        self._session: str | None = None
        self._client = httpx.Client(timeout=longest_s, trust_env=False)

    def ask(self, message: Message, version: str | None) -> bytes:
        until = time.monotonic() + self._longest_s
        try:
            headers = self._headers(message, version)
            with self._client.stream("POST", self._url, json=message, headers=headers) as answer:
                if answer.status_code in (401, 403):
                    raise McpError(f"{self._url} answers {answer.status_code}: give its key with --key-env")
                self._session = answer.headers.get("mcp-session-id", self._session)
                if answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
                    return _find_answer(answer, until)
                body = answer.read()
                if answer.status_code >= 400 and not body.lstrip().startswith(b"{"):
                    refused = {"message": f"the server answers {answer.status_code}"}
                    return json.dumps({"error": refused}).encode()
                return body
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise McpError(f"{self._url} can't be asked ({reason}); start it, or correct the URL") from None

    def say(self, message: Message, version: str | None) -> None:
        try:
            self._client.post(self._url, json=message, headers=self._headers(message, version))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise McpError(f"{self._url} can't be asked ({error}); start it, or correct the URL") from None

    def close(self) -> None:
        try:
            if self._session is not None:
                self._client.delete(self._url, headers={**self._own, "mcp-session-id": self._session})
        except httpx.HTTPError:
            pass  # It is gone, and its session with it.
        finally:
            self._client.close()

    def _headers(self, message: Message, version: str | None) -> Mapping[str, str]:
        headers = dict(self._own)
        if version is not None:
            headers["mcp-protocol-version"] = version
        if version == MODERN_VERSION:
            headers["mcp-method"] = message["method"]
            if (name := message.get("params", {}).get("name")) is not None:
                headers["mcp-name"] = name
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        return headers


def _find_answer(answer: httpx.Response, until: float) -> bytes:
    """The response among a stream's events. A server may leave the stream open behind it."""
    splitter = EventSplitter(_LARGEST_EVENT)
    for chunk in answer.iter_bytes():
        for event in splitter.feed(chunk):
            if event.data and _is_answer(event.data):
                return event.data
        if time.monotonic() > until:
            break
    raise McpError("the server's stream brought no answer")


def _is_answer(raw: bytes) -> bool:
    try:
        members = read_members(raw)
    except (msgspec.DecodeError, UnicodeError):
        return False
    return "id" in members and "method" not in members


class StdioTransport:
    """A server that is started here, and ended with us."""

    def __init__(self, command: Sequence[str], *, longest_s: float = LONGEST_S) -> None:
        """Raises McpError where it can't be started."""
        self._longest_s = longest_s
        self._buffer = bytearray()
        self._name = command[0]
        try:
            self._process = ServerProcess(command)
        except OSError as error:
            raise McpError(f"{self._name}: {error.strerror}; give the server's command behind `--`") from None

    def ask(self, message: Message, version: str | None) -> bytes:
        self.say(message, version)
        until = time.monotonic() + self._longest_s
        while True:
            line = self._read_line(until)
            try:
                members = read_members(line)
            except (msgspec.DecodeError, UnicodeError):
                continue  # Servers print to stdout what doesn't belong there.
            if "id" not in members:
                continue
            if "method" in members:
                self._refuse(members)
            elif json.loads(bytes(members["id"])) == message["id"]:
                return line

    def say(self, message: Message, version: str | None) -> None:
        rest = memoryview(json.dumps(message).encode() + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._process.stdin, rest) :]
        except OSError:
            raise McpError(f"{self._name} has ended: see what it wrote above") from None

    def close(self) -> None:
        os.close(self._process.stdin)
        self._process.end()
        self._process.wait()
        self._process.release()
        os.close(self._process.stdout)

    def _refuse(self, members: Members) -> None:
        """Answer a request of the server's: this client only calls tools."""
        known = json.loads(bytes(members["method"])) == "ping"
        said = {"result": {}} if known else {"error": _NO_METHOD}
        self.say({"jsonrpc": "2.0", "id": json.loads(bytes(members["id"])), **said}, None)

    def _read_line(self, until: float) -> bytes:
        looked = 0
        while (end := self._buffer.find(b"\n", looked)) < 0:
            looked = len(self._buffer)
            if looked > _LARGEST_EVENT:
                raise McpError(f"{self._name} wrote {looked} bytes without a line end")
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise McpError(f"{self._name} gave no answer in {self._longest_s:g} s")
            if not (chunk := os.read(self._process.stdout, _CHUNK)):
                raise McpError(f"{self._name} has ended: see what it wrote above")
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


@dataclass(slots=True)
class McpClient:
    """Opens a server with a handshake, else as the modern era does."""

    transport: Transport
    _version: str | None = None
    _meta: dict[str, Any] = field(default_factory=dict)
    _asked: int = 0

    def __enter__(self) -> McpClient:
        try:
            self._open()
        except BaseException:
            self.transport.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()

    def tools(self) -> Iterator[ToolSchema]:
        """The tools that the server lists. Raises McpError."""
        params: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            page = self.ask("tools/list", params)
            if page.result is None:
                raise McpError(f"tools/list was refused: {page.error}")
            try:
                members = read_members(page.result)
                yield from ToolListView.read(members).declared
            except (msgspec.DecodeError, UnicodeError, KeyError, TypeError) as error:
                raise McpError(f"the server gives no list of tools ({error})") from None
            if "nextCursor" not in members:
                return
            params = {"cursor": json.loads(bytes(members["nextCursor"]))}

    def ask(self, method: str, params: Message) -> Answer:
        """Send a request, under an id of its own. Raises McpError."""
        self._asked += 1
        given = {**params, "_meta": self._meta} if self._meta else params
        said = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": given}
        raw = self.transport.ask(said, self._version)
        try:
            members = read_members(raw)
            if "result" in members:
                read_members(members["result"])
                return Answer(bytes(members["result"]))
            error = json.loads(bytes(members.get("error", msgspec.Raw(b"{}"))))
            return Answer(None, str(error.get("message", "an error without a message")))
        except (msgspec.DecodeError, ValueError, AttributeError):
            raise McpError(f"the server's answer to {method} isn't JSON-RPC") from None

    def _open(self) -> None:
        opening = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": _CLIENT}
        opened = self.ask("initialize", opening)
        if opened.result is None:
            prefix = MODERN.rpartition("/")[0]
            self._version = MODERN_VERSION
            self._meta = {
                MODERN: MODERN_VERSION,
                f"{prefix}/clientInfo": _CLIENT,
                f"{prefix}/clientCapabilities": {},
            }
            return
        try:
            self._version = str(json.loads(opened.result)["protocolVersion"])
        except (ValueError, KeyError, TypeError):
            raise McpError("the server's answer to initialize names no protocolVersion") from None
        self.transport.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, self._version)
