"""The addon in mitmproxy's process: carries out what the core decides for each call of a tool.

What no rule matches is streamed as it comes, and connections to hosts that no rule is for aren't opened. If
the addon fails, the message is passed on as it was.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from mitmproxy import ctx, http, tls
from mitmproxy.proxy import mode_specs

from crosswind.gateway.forward.calls import Calls, CallUnderWay
from crosswind.gateway.forward.event_streams import EventStream
from crosswind.gateway.forward.legs import freeze_heap
from crosswind.gateway.forward.settings import CANARY_HOST, ProxySettings, Status, Tally
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.failures import Failure
from crosswind.gateway.tools.http_results import answer_failure
from crosswind.gateway.tools.rules import Found

SESSION_HEADER = "x-crosswind-session"
_OF_THE_BODY = (
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
    "etag",
    "last-modified",
    "accept-ranges",
)
"""Headers that say something about a body's bytes: not of a changed one."""
_UNUSED = (
    *("anticache", "anticomp", "blocklist", "browser", "commandhistory", "comment", "cut", "dumper"),
    *("export", "maplocal", "mapremote", "modifybody", "modifyheaders", "onboarding", "proxyauth", "save"),
    *("savehar", "serverplayback", "stickyauth", "stickycookie"),
)
"""mitmproxy's own addons whose options nobody gave. It asks each of them at each step of each request, which
takes longer than all that we do."""
_LINGER_NOT = struct.pack("ii", 1, 0)


def load_addon(settings_file: str) -> CrosswindAddon:
    path = Path(settings_file)
    settings = msgspec.json.decode(path.read_bytes(), type=ProxySettings)
    path.unlink()  # It has the key for the gateway, and the client's variables lead to its folder.
    return CrosswindAddon(settings)


class CrosswindAddon:
    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._tally = Tally()
        self._calls = Calls(settings, self._tally)
        self._sessions: dict[str, str] = {}
        """By client connection: those that a CONNECT named."""
        self._found: dict[str, tuple[str, Found]] = {}
        """By flow: the rules of requests whose bodies are awaited."""
        self._under_way: dict[str, CallUnderWay] = {}
        """By flow."""

    # The process

    def running(self) -> None:
        for name in _UNUSED:
            if (unused := ctx.master.addons.get(name)) is not None:
                ctx.master.addons.remove(unused)
        freeze_heap()
        asyncio.get_running_loop().add_reader(self._settings.lifeline_fd, self._lose_parent)
        servers = ctx.master.addons.get("proxyserver").servers
        self._say(Status(ports=tuple(server.listen_addrs[0][1] for server in servers)))

    def _lose_parent(self) -> None:
        asyncio.get_running_loop().remove_reader(self._settings.lifeline_fd)
        ctx.master.shutdown()
        shutil.rmtree(self._settings.folder, ignore_errors=True)

    def done(self) -> None:
        for call in self._under_way.values():
            self._end(call, Outcome.UNANSWERED)
        self._under_way.clear()
        with _Care(self._tally):
            self._calls.close()
        self._say(Status(tally=self._tally))

    def _say(self, status: Status) -> None:
        with contextlib.suppress(OSError):  # Its reader may be gone; so are we, soon.
            os.write(self._settings.status_fd, msgspec.json.encode(status) + b"\n")

    # Connections

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        if not isinstance(data.context.client.proxy_mode, mode_specs.RegularMode):
            return
        address = data.context.server.address
        name, port = data.client_hello.sni or (address and address[0]) or "", address[1] if address else 443
        host = name if port == 443 else f"{name}:{port}"
        if not self._calls.rules.concern(host) or host in self._tally.distrusted:
            self._tally.unopened[host] = self._tally.unopened.get(host, 0) + 1
            data.ignore_connection = True

    def tls_failed_client(self, data: tls.TlsData) -> None:
        if "not trust" not in (data.conn.error or ""):
            return
        address = data.context.server.address
        name, port = data.conn.sni or (address and address[0]) or "", address[1] if address else 443
        host = name if port == 443 else f"{name}:{port}"
        self._tally.distrusted[host] = self._tally.distrusted.get(host, 0) + 1

    def http_connect(self, flow: http.HTTPFlow) -> None:
        if (session := self._session_of(flow)) is None:
            flow.response = _ask_for_session()
            return
        self._sessions[flow.client_conn.id] = session
        if flow.request.host == CANARY_HOST:
            flow.response = http.Response.make(200)  # There is no such host to connect to.

    def client_disconnected(self, client: Any) -> None:
        self._sessions.pop(client.id, None)

    def _session_of(self, flow: http.HTTPFlow) -> str | None:
        """The session that a request names, or the one for all others; what names it is for us alone."""
        headers = flow.request.headers
        named = headers.pop(SESSION_HEADER, None)
        if not isinstance(flow.client_conn.proxy_mode, mode_specs.RegularMode):
            return named or self._settings.session
        user = _read_user(headers.pop("proxy-authorization", ""))
        named = named or user or self._sessions.get(flow.client_conn.id)
        return named or (None if self._settings.require_session else self._settings.session)

    # Requests

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.is_replay:
            flow.request.stream = True
            return
        if (session := self._session_of(flow)) is None:
            flow.response = _ask_for_session()
            return
        if flow.request.pretty_host == CANARY_HOST:
            self._say(Status(canary=flow.request.path.rpartition("/")[2]))
            flow.response = http.Response.make(204)
            return
        if not self._tally.requests:
            self._say(Status(used=True))
        client = flow.request.headers.get("user-agent", "unknown").partition("/")[0][:60]
        self._tally.requests[client] = self._tally.requests.get(client, 0) + 1
        found = None
        with _Care(self._tally):
            upgrade = "upgrade" in flow.request.headers
            found = None if upgrade else self._calls.rules.find(flow.request.method, flow.request.url)
        if found is None:
            flow.request.stream = True
        else:
            self._found[flow.id] = session, found

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None or (awaited := self._found.pop(flow.id, None)) is None:
            return
        session, found = awaited
        call = None
        with _Care(self._tally):
            request = flow.request
            call = await self._calls.begin(
                session,
                request.pretty_host if request.port in (80, 443) else f"{request.pretty_host}:{request.port}",
                found,
                request.method,
                request.headers.get("content-type", ""),
                request.get_content(strict=False) or b"",
            )
        if call is None:
            return
        self._under_way[flow.id] = call
        await asyncio.sleep(call.wait_s)
        if call.failure is not None:
            del self._under_way[flow.id]
            self._fail(flow, call.failure)
            return
        for _ in range(call.copies):
            ctx.master.commands.call("replay.client", [flow.copy()])

    def _fail(self, flow: http.HTTPFlow, failure: Failure) -> None:
        if failure.kind == "close":
            self._close(flow, failure.close)
            flow.kill()
            return
        answer = answer_failure(failure)
        flow.response = http.Response.make(answer.status, answer.body, answer.headers)

    # Answers

    async def responseheaders(self, flow: http.HTTPFlow) -> None:
        call, answer = self._under_way.get(flow.id), flow.response
        if answer is None or (call is None and answer.raw_content is not None):
            return  # It is ours.
        kind = answer.headers.get("content-type", "").lower()
        if call is not None and flow.request.method != "HEAD":
            length = answer.headers.get("content-length", "")
            streams = kind.startswith("text/event-stream") and not answer.headers.get("content-encoding")
            if streams and answer.status_code < 400:
                await self._open_stream(flow, call, answer)
                return
            if call.wants_body(answer.status_code, kind, int(length) if length.isdecimal() else None):
                return
        answer.stream = True

    async def _open_stream(self, flow: http.HTTPFlow, call: CallUnderWay, answer: http.Response) -> None:
        """Begin an answer that is a stream of events."""
        wait_s, failure = 0.0, None
        with _Care(self._tally):
            wait_s, failure = call.open_stream()
        await asyncio.sleep(wait_s)
        if failure is None:
            answer.stream = EventStream(call, partial(self._close, flow), partial(_Care, self._tally))
        else:
            self._close(flow, failure.close)
            flow.kill()

    async def event_pause(self, flow: http.HTTPFlow) -> None:
        """A fault stalls a stream."""
        stream = flow.response.stream if flow.response is not None else None
        if isinstance(stream, EventStream):
            await asyncio.sleep(stream.wait_s)

    async def response(self, flow: http.HTTPFlow) -> None:
        call, answer = self._under_way.pop(flow.id, None), flow.response
        if call is None or answer is None:
            return
        if answer.stream:
            self._end(call, Outcome.TOOL_ERROR if answer.status_code >= 400 else Outcome.ANSWERED)
            return
        finished = body = None
        with _Care(self._tally):
            content, raw = answer.get_content(strict=True) or b"", answer.raw_content or b""
            finished, body = call.finish(answer.headers.get("content-type", ""), content, raw)
        if finished is None:
            self._end(call, Outcome.ANSWERED)
            return
        await asyncio.sleep(finished.wait_s)
        if finished.failure is not None:
            self._cut(flow, answer, finished.failure.close, finished.sent)
        elif body is not None:
            answer.content = body
            for name in _OF_THE_BODY:
                answer.headers.pop(name, None)

    def error(self, flow: http.HTTPFlow) -> None:
        self._found.pop(flow.id, None)
        if (call := self._under_way.pop(flow.id, None)) is not None:
            left = flow.error is not None and flow.error.msg.startswith("Client")
            self._end(call, Outcome.CANCELLED if left else Outcome.UNANSWERED)

    def _end(self, call: CallUnderWay, outcome: Outcome) -> None:
        with _Care(self._tally):
            call.end(outcome)

    def _cut(self, flow: http.HTTPFlow, answer: http.Response, how: str, sent: bytes) -> None:
        """Send a part of the answer, and close the connection in the middle of it."""
        raw = answer.raw_content or b""
        if how == "reset" or not sent:
            self._close(flow, how)
            flow.kill()
            return
        answer.raw_content = sent
        if how == "end":
            answer.headers["content-length"] = str(len(answer.raw_content))
            return
        answer.headers.pop("transfer-encoding", None)
        answer.headers["content-length"] = str(max(len(raw), len(answer.raw_content) + 1))
        # When this hook is through, mitmproxy writes the answer before the loop turns.
        asyncio.get_running_loop().call_soon(self._close, flow, "end")

    def _close(self, flow: http.HTTPFlow, how: str) -> None:
        """Close the client's connection: `reset` at once, otherwise after what is written."""
        connections = ctx.master.addons.get("proxyserver").connections
        handler = connections.get(flow.client_conn.id)
        writer = handler.transports[handler.client].writer if handler is not None else None
        if writer is None:
            return
        if how == "reset":
            raw = writer.get_extra_info("socket")
            if raw is not None:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            writer.transport.abort()
        elif how == "end":
            writer.close()


class _Care:
    """What fails inside must never break traffic: it is counted, and said once in a while."""

    def __init__(self, tally: Tally, say: Callable[[str], object] = sys.stderr.write) -> None:
        self._tally = tally
        self._say = say

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._tally.failures += 1
        if self._tally.failures <= 10:
            self._say(f"crosswind http: noise failed, the message is passed on: {error!r:.300}\n")
        return True


def _read_user(credentials: str) -> str:
    """The user's name of basic credentials; empty where there is none."""
    scheme, _, encoded = credentials.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeError):
        return ""


def _ask_for_session() -> http.Response:
    said = b"Name the session as the user of the proxy's credentials: http://SESSION:x@HOST:PORT\n"
    headers = {"Proxy-Authenticate": 'Basic realm="crosswind"', "Content-Type": "text/plain"}
    return http.Response.make(407, said, headers)
