"""HTTP tools: requests to an API that are calls of tools, by its rules. All others are streamed untouched."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from crosswind.gateway.clock import now_us
from crosswind.gateway.http.body import RequestBody, read_body
from crosswind.gateway.http.content_encoding import ContentDecoder, encode_content
from crosswind.gateway.http.headers import Headers, drop_hop_by_hop
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.proxy.tool_route import ToolProtocol, ToolRequest, close_early
from crosswind.gateway.proxy.tool_streams import FaultyStream
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.failures import Failure, after_delivery
from crosswind.gateway.tools.http_results import LARGEST_RESULT, HttpResult, answer_failure, is_readable
from crosswind.gateway.tools.leg import Begun
from crosswind.gateway.tools.rules import HttpCall
from crosswind.gateway.upstreams.request import Body
from crosswind.gateway.upstreams.response import UpstreamResponse

_OF_THE_BODY = frozenset(
    (
        *(b"content-length", b"content-md5", b"digest", b"content-digest", b"repr-digest"),
        *(b"etag", b"last-modified", b"accept-ranges"),
    )
)
"""Headers that say something about a body's bytes, or let a client keep them: not of a changed one."""


class ToolsOverHttp(ToolProtocol):
    """Carries out what the core decides for the calls of HTTP tools."""

    async def exchange(self, request: ToolRequest) -> int:
        http, query = request.http, request.http.query.decode("latin-1")
        found = request.server.rules.find(http.method, f"{request.path}?{query}")
        if found is None:
            http.cancel_when_gone()
            return await _pass_on(request, request.stream_body())
        body = await read_body(http, request.settings.limits.body)
        http.cancel_when_gone()
        call = found.read(http.header(b"content-type") or "", body.body)
        if call is None:
            return await _pass_on(request, body.raw or None)
        return await _begin(request, call, body)


async def _pass_on(request: ToolRequest, body: Body) -> int:
    answer = await request.send(body, {})
    try:
        await _relay(request.http, answer)
    finally:
        answer.close()
    return answer.status


async def _begin(request: ToolRequest, call: HttpCall, body: RequestBody) -> int:
    http, leg, name = request.http, request.tools.leg, request.server.name
    leg.tools[name] = request.server.api.tools
    request.allow_noise()
    begun = leg.begin(name, call.tool, call.arguments, now_us(), method=http.method)
    under_way = _Call(request, begun, call, settled=begun.failure is not None)
    try:
        await request.record()
        await asyncio.sleep(begun.wait_s)
        if begun.failure is not None:
            return await _fail(http, begun.failure)
        return await under_way.carry_out(body)
    except asyncio.CancelledError:
        under_way.settle(Outcome.CANCELLED)
        raise
    finally:
        under_way.settle(Outcome.UNANSWERED)


@dataclass(slots=True)
class _Call:
    """A call that is delivered."""

    request: ToolRequest
    begun: Begun
    call: HttpCall
    settled: bool

    def settle(self, outcome: Outcome) -> None:
        if not self.settled:
            self.settled = True
            self.request.tools.leg.end(self.begun.call, outcome, now_us())

    async def carry_out(self, body: RequestBody) -> int:
        request, sent = self.request, body.raw or None
        for _ in range(self.begun.copies):
            (await request.send(sent, {})).close()
        answer = await request.send(sent, {})
        try:
            await self._relay(answer)
            return answer.status
        finally:
            answer.close()

    async def _relay(self, answer: UpstreamResponse) -> None:
        http = self.request.http
        if answer.status >= 400:
            self.settle(Outcome.TOOL_ERROR)
            await _relay(http, answer)
        elif self._may_change and answer.status not in (204, 304) and _is_text(answer):
            await self._relay_text(answer)
        elif answer.streams and not answer.encoding and http.method != "HEAD":
            await self._relay_stream(answer)
        elif (
            not self.begun.later or await self._finish(b"", None, drop_hop_by_hop(answer.headers)) is not None
        ):
            await _relay(http, answer)
            self.settle(Outcome.ANSWERED)

    @property
    def _may_change(self) -> bool:
        """Whether noise may act on the answer's text: only then is it held until it is whole."""
        return self.request.http.method != "HEAD" and bool(self.request.session.plan.rules)

    async def _relay_text(self, answer: UpstreamResponse) -> None:
        http, limit = self.request.http, self.request.settings.limits.answer
        raw, headers = await answer.read_up_to(limit), drop_hop_by_hop(answer.headers)
        if len(raw) > limit:
            await http.start(answer.status, headers)
            await http.chunk(raw)
            await _relay_rest(http, answer)
            return self.settle(Outcome.ANSWERED)
        result = self._read(raw, answer)
        texts = await self._finish(raw, result, headers)
        if texts is None:
            return None
        plain = [field for field in headers if field[0].lower() != b"content-length"]
        if result is None or texts[0] is None:
            return await http.answer(answer.status, raw, plain)
        changed, kept = _write_body(result.write(texts), answer, plain)
        return await http.answer(answer.status, changed, kept)

    async def _relay_stream(self, answer: UpstreamResponse) -> None:
        """A stream of events, on which faults of the link act."""
        request, http = self.request, self.request.http
        headers = [
            field for field in drop_hop_by_hop(answer.headers) if field[0].lower() != b"content-length"
        ]
        wait_s, failure, _ = after_delivery(self.begun.later, b"")
        await asyncio.sleep(wait_s)
        if failure is not None:
            self.settle(Outcome.INJECTED)
            return await close_early(http, failure.close, b"", headers)
        request.allow_noise()
        faults = FaultyStream(http, request.tools.leg, self.begun, request.record)
        await http.start(answer.status, headers)
        splitter = EventSplitter(request.settings.limits.event)
        try:
            async for chunk in answer.chunks():
                for event in splitter.feed(chunk):
                    if await faults.send(event.raw):
                        return self.settle(Outcome.INJECTED)
            if (rest := splitter.rest()) is not None and await faults.send(rest.raw):
                return self.settle(Outcome.INJECTED)
        finally:
            faults.end()
        await http.end()
        self.settle(Outcome.ANSWERED)

    def _read(self, raw: bytes, answer: UpstreamResponse) -> HttpResult | None:
        """The result that a body is; None where noise can't read it."""
        decoding = ContentDecoder(answer.encoding, LARGEST_RESULT + 1)
        body = decoding.feed(raw)
        if decoding.failed:
            return None
        outputs = self.request.server.api.outputs
        kind, at = answer.header("content-type"), self.call.result_at
        return HttpResult.read(kind, body, at, outputs.get(self.call.tool))

    async def _finish(
        self, raw: bytes, result: HttpResult | None, headers: Headers
    ) -> tuple[str | None, ...] | None:
        """Settle the call by its result; gives the texts to show, or None where the connection was closed."""
        request = self.request
        request.allow_noise()
        self.settled = True
        leg = request.tools.leg
        if result is None:
            finished = leg.finish(self.begun, (), now_us(), body=raw)
        else:
            # A pointer leaves the rest of the body, which would tell the truth all the same.
            whole, texts = not self.call.result_at, result.texts
            finished = leg.finish(self.begun, texts, now_us(), body=raw, whole=whole, accept=result.accept)
        await request.record()
        await asyncio.sleep(finished.wait_s)
        if finished.failure is None:
            return finished.texts
        await close_early(request.http, finished.failure.close, finished.sent, drop_hop_by_hop(headers))
        return None


async def _fail(http: HttpRequest, failure: Failure) -> int:
    """Answer in the API's place, as HTTP says it: with a status, and a body that tells the reason."""
    if failure.kind == "close":
        await close_early(http, failure.close, b"", [])
        return 200
    answer = answer_failure(failure)
    headers = [field for field in answer.headers if field[0] != b"content-length"]
    await http.answer(answer.status, answer.body, headers)
    return answer.status


async def _relay(http: HttpRequest, answer: UpstreamResponse) -> None:
    """Relay an answer as it comes."""
    await http.start(answer.status, drop_hop_by_hop(answer.headers))
    await _relay_rest(http, answer)


async def _relay_rest(http: HttpRequest, answer: UpstreamResponse) -> None:
    async for chunk in answer.chunks():
        await http.chunk(chunk)
    await http.end()


def _is_text(answer: UpstreamResponse) -> bool:
    """Whether noise looks at a body: it is a text, and no part of something larger."""
    return is_readable(answer.header("content-type")) and not answer.streams and answer.status != 206


def _write_body(body: bytes, answer: UpstreamResponse, headers: Headers) -> tuple[bytes, Headers]:
    """A changed body in the encoding that it came in, with its headers."""
    kept = [field for field in headers if field[0].lower() not in _OF_THE_BODY]
    if not answer.encoding:
        return body, kept
    encoded = encode_content(answer.encoding, body)
    if encoded is not None:
        return encoded, kept
    return body, [field for field in kept if field[0].lower() != b"content-encoding"]
