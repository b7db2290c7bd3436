"""MCP over HTTP: a request, or a stream of the server's messages, between a client and a server.

Bytes pass as they came. Only tool calls and tool lists are read, and only what noise changes is rewritten: a
message of a stream, or a plain body. A client cancels a request by closing its connection, so the
upstream's connection is closed at once.
"""

from __future__ import annotations

import asyncio
import base64
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass, field

from crosswind.gateway.clock import now_us
from crosswind.gateway.http.body import RequestBody, read_body
from crosswind.gateway.http.headers import Headers, drop_hop_by_hop
from crosswind.gateway.http.request import JSON
from crosswind.gateway.http.sse import EventSplitter, SseEvent, replace_event_data
from crosswind.gateway.proxy.tool_route import ToolProtocol, ToolRequest, close_early
from crosswind.gateway.proxy.tool_streams import FaultyStream
from crosswind.gateway.tools.decision import PASS, Act, Decision
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.gate import may_cancel, may_concern_client
from crosswind.gateway.tools.mcp import McpLink
from crosswind.gateway.upstreams.response import UpstreamResponse

_EVENTS: Headers = [(b"content-type", b"text/event-stream")]
_PLAIN_ENCODINGS = ("", "identity")
_NAME = b"mcp-name"


class _Cut(Exception):
    """A fault has closed the client's connection."""


@dataclass(slots=True)
class McpOverHttp(ToolProtocol):
    """Carries out what the core decides for the messages of MCP."""

    _waiting: dict[tuple[int, object], asyncio.Future[None]] = field(default_factory=dict)
    """By link and call: waits that a client's cancellation ends."""
    _streams: MutableMapping[McpLink, dict[_Relay, None]] = field(default_factory=weakref.WeakKeyDictionary)
    """Streams on which a client can be told that noise has changed the list of tools."""

    async def exchange(self, request: ToolRequest) -> int:
        link = request.legs.link(request.tools, request.server)
        session = request.http.header(b"mcp-session-id")
        if not session:
            request.tools.exchanges += 1
        scope = session or str(request.tools.exchanges)
        if request.http.method == "POST":
            return await self._post(request, link, scope)
        request.http.cancel_when_gone()
        answer = await request.send(request.stream_body(), {})
        try:
            await self._relay(link, _Relay(request, link, scope, answer, bool(session)))
            if request.http.method == "DELETE" and session and answer.status < 300:
                link.close(now_us(), scope=scope)
        finally:
            answer.close()
        return answer.status

    async def _post(self, request: ToolRequest, link: McpLink, scope: str) -> int:
        http = request.http
        body = await read_body(http, request.settings.limits.body)
        http.cancel_when_gone()
        concerns, decision = may_concern_client(body.body), PASS
        outcome = Outcome.UNANSWERED
        resumes = False
        try:
            if concerns:
                request.allow_noise()
                decision = link.from_client(body.body, now_us(), scope=scope)
            elif may_cancel(body.body):
                self._end_wait(link, link.cancel(body.body, now_us(), scope=scope))
            if decision is not PASS:
                await request.record()
                if (status := await self._answer_here(request, link, decision)) is not None:
                    return status
            answer = await self._send(request, link, body, decision)
            try:
                session = http.header(b"mcp-session-id") is not None
                relay = _Relay(request, link, scope, answer, session, learns=link.tells and _opens(body.body))
                if answer.streams and (begun := link.find_begun(body.body, scope=scope)) is not None:
                    relay.faults = FaultyStream(http, request.tools.leg, begun, request.record)
                await self._relay(link, relay)
                if relay.cut:
                    outcome = Outcome.INJECTED
                    resumes = relay.resumes
                    return answer.status
                resumes = relay.resumes
                outcome = Outcome.UNANSWERED if answer.status < 400 else Outcome.TOOL_ERROR
                return answer.status
            finally:
                answer.close()
        except asyncio.CancelledError:
            outcome = Outcome.CANCELLED
            raise
        finally:
            if concerns and not resumes:
                link.abandon(body.body, outcome, now_us(), scope=scope)

    async def _relay(self, link: McpLink, relay: _Relay) -> None:
        """Relay an answer, and tell all clients of the link what became due by it."""
        streams = self._streams.setdefault(link, {})
        if link.tells and relay.answer.streams:
            streams[relay] = None
        try:
            await relay.run()
        finally:
            streams.pop(relay, None)
        await self._tell(link)

    async def _tell(self, link: McpLink) -> None:
        """Send the notifications that are due to clients whose streams are open."""
        for relay in list(self._streams.get(link, ())):
            await relay.tell()

    async def _answer_here(self, request: ToolRequest, link: McpLink, decision: Decision) -> int | None:
        """Wait, and answer in the server's place where noise does; gives the status then."""
        http = request.http
        await self._tell(link)
        if decision.wait_s and not await self._wait(link, decision):
            await http.start(200, _EVENTS)
            await http.end()
            return 200
        if decision.act is Act.ANSWER:
            retry = decision.retry_after_s
            headers = JSON if retry is None else [*JSON, (b"retry-after", str(retry).encode())]
            await http.answer(decision.status, decision.body, headers)
            return decision.status
        if decision.act is Act.CLOSE:
            await close_early(http, decision.close, b"", _EVENTS)
            return 200
        return None

    async def _wait(self, link: McpLink, decision: Decision) -> bool:
        """Wait as long as the decision says; False where the client gave the call up."""
        key = (id(link), decision.key)
        waiter = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            done, _ = await asyncio.wait([waiter], timeout=decision.wait_s)
            return not done
        finally:
            del self._waiting[key]

    def _end_wait(self, link: McpLink, key: object) -> None:
        waiter = self._waiting.get((id(link), key)) if key is not None else None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def _send(
        self, request: ToolRequest, link: McpLink, body: RequestBody, decision: Decision
    ) -> UpstreamResponse:
        sent, changes = body.to_send(decision.body if decision.act is Act.REPLACE else body.body)
        if decision.name is not None and request.http.header(_NAME) is not None:
            changes[_NAME] = mirror(decision.name)
        if (link.waits or (link.tells and _opens(body.body))) and request.session.plan.rules:
            changes[b"accept-encoding"] = b"identity"
        if decision.copy:
            await self._send_copy(request, decision.copy, changes)
        return await request.send(sent, changes)

    async def _send_copy(self, request: ToolRequest, copy: bytes, changes: dict[bytes, bytes | None]) -> None:
        """Deliver a call once more, to its end: closing its stream would cancel it. Its answer is dropped."""
        length = str(len(copy)).encode()
        answer = await request.send(copy, {**changes, b"content-length": length, b"content-encoding": None})
        try:
            async for _ in answer.chunks():
                pass
        finally:
            answer.close()


@dataclass(slots=True, eq=False)
class _Relay:
    """Relays one answer."""

    request: ToolRequest
    link: McpLink
    scope: str
    answer: UpstreamResponse
    session: bool
    """MCP has a session, in which a client may resume a stream."""
    learns: bool = False
    """It is the server's answer to `initialize`."""
    faults: FaultyStream | None = None
    """Those of the link, on the events of a call's answer."""
    cut: bool = False
    """A fault closed the connection in the middle of the events."""
    _numbered: bool = False
    """An event had an id."""
    _open: bool = False
    """Events of ours may go between the server's."""

    @property
    def resumes(self) -> bool:
        """Whether what is unanswered may still be answered on another stream."""
        return self.session and self._numbered

    async def run(self) -> None:
        answer, http = self.answer, self.request.http
        plain = answer.encoding in _PLAIN_ENCODINGS
        told = answer.streams and self.link.tells_on(self.scope)
        readable = plain and (self.link.waits or self.learns or told or self._may_bring_results)
        try:
            if answer.streams and readable:
                await self._relay_events()
            elif readable and answer.header("content-type").lower().startswith("application/json"):
                await self._relay_body()
            else:
                await http.start(answer.status, drop_hop_by_hop(answer.headers))
                await self._relay_rest()
        except _Cut:
            pass
        finally:
            if self.faults is not None:
                self.faults.end()

    @property
    def _may_bring_results(self) -> bool:
        """Whether it is a stream of the server's own messages, which may bring the results of tasks."""
        noisy = bool(self.request.session.plan.rules)
        return noisy and self.answer.streams and self.request.http.method == "GET"

    async def tell(self) -> None:
        """Send the notifications of ours that are due on this stream."""
        if self._open and self.link.tells_on(self.scope):
            for message in self.link.take_notifications(scope=self.scope):
                await self.request.http.chunk(b"event: message\ndata: %b\n\n" % message)

    async def _relay_rest(self) -> None:
        async for chunk in self.answer.chunks():
            await self.request.http.chunk(chunk)
        await self.request.http.end()

    async def _relay_body(self) -> None:
        """A plain body: one message."""
        http, answer = self.request.http, self.answer
        limit = self.request.settings.limits.answer
        headers = drop_hop_by_hop(answer.headers)
        body = await answer.read_up_to(limit)
        if len(body) > limit:
            await http.start(answer.status, headers)
            await http.chunk(body)
            return await self._relay_rest()
        decision = await self._decide(body)
        counted = [one for one in headers if one[0].lower() != b"content-length"]
        if decision.act is Act.CLOSE:
            await close_early(http, decision.close, decision.sent, headers)
        else:
            changed = decision.body if decision.act in (Act.REPLACE, Act.ANSWER) else body
            await http.answer(answer.status, changed, counted)

    async def _relay_events(self) -> None:
        http, answer = self.request.http, self.answer
        headers = [one for one in drop_hop_by_hop(answer.headers) if one[0].lower() != b"content-length"]
        await http.start(answer.status, headers)
        splitter = EventSplitter(self.request.settings.limits.event)
        self._open = True
        try:
            async for chunk in answer.chunks():
                for event in splitter.feed(chunk):
                    await self._relay_event(event)
        finally:
            self._open = False
        if (rest := splitter.rest()) is not None:
            await self._relay_event(rest)
        await http.end()

    async def _relay_event(self, event: SseEvent) -> None:
        http = self.request.http
        self._numbered |= event.raw.startswith(b"id:") or b"\nid:" in event.raw
        if self.faults is not None and self.faults.will_close(event.raw):
            # The call has no result then, so that what the event says is not decided about.
            self.cut = True
            await self.faults.send(event.raw)
            raise _Cut
        decision = await self._decide(event.data) if event.data else PASS
        await self.tell()
        send = http.chunk if self.faults is None else self.faults.send
        if decision.act is Act.PASS:
            await send(event.raw)
        elif decision.act in (Act.REPLACE, Act.ANSWER):
            await send(replace_event_data(event, decision.body))
        elif decision.act is Act.CLOSE:
            sent = b"data: " + decision.sent if decision.sent else b""
            await close_early(http, decision.close, sent, headers=[])
            raise _Cut

    async def _decide(self, raw: bytes) -> Decision:
        """What becomes of a message of the server. It is on record before the client gets it."""
        if self.learns and (session := self.answer.header("mcp-session-id")):
            self.link.learn(raw, scope=session)
        if not self.link.waits:
            return PASS
        self.request.allow_noise()
        decision = self.link.from_server(raw, now_us(), scope=self.scope)
        if self.request.tools.leg.has_events:
            await self.request.record()
        if decision.wait_s:
            await asyncio.sleep(decision.wait_s)
        return decision


def _opens(body: bytes) -> bool:
    return b'"initialize"' in body


def mirror(value: str) -> bytes:
    """A value as a header mirrors it: in Base64 where it can't stand there as it is."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value.encode()
    return b"=?base64?%b?=" % base64.b64encode(value.encode())
