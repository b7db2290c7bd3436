"""Relay the upstream's answer to the client; its completion is held until the turn is recorded."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.headers import drop_hop_by_hop
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.proxy.response_sink import FaultySink, ResponseSink, shape_answer
from crosswind.gateway.proxy.stream import (
    Again,
    StreamRelay,
    check_readable,
    note_cut,
    select_headers,
    too_large,
    without,
)
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.inner_rounds import next_body
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.upstreams.response import UpstreamResponse

_PLAIN = ContentDecoder("", 0)


@dataclass(frozen=True, slots=True)
class ResponseRelay:
    """Relays answers, plain and streamed."""

    settings: Settings
    recording: Recording

    def relay(
        self, client: ResponseSink, exchange: Exchange, answer: UpstreamResponse, again: Again
    ) -> Coroutine[Any, Any, None]:
        """Relay an answer, and record its turn. UpstreamError where a plain one breaks off.

        `again` sends inner rounds; the client gets one answer.
        """
        if answer.status >= 400:
            exchange.fail(Source.UPSTREAM, f"status_{answer.status}", "the upstream answered with an error")
        sink = client
        if exchange.noise.faults.injected and exchange.noise.faults.on_answer:
            sink = FaultySink(client, exchange, event_limit=self.settings.limits.event)
        if answer.streams:
            decoding = self._decoder(answer)
            return StreamRelay(sink, exchange, answer, decoding, self.settings, self.recording).run(again)
        return self._relay_plain(sink, exchange, answer, again)

    def _decoder(self, answer: UpstreamResponse) -> ContentDecoder:
        encoding = answer.encoding
        return ContentDecoder(encoding, self.settings.limits.decoded) if encoding else _PLAIN

    async def _relay_plain(
        self, sink: ResponseSink, exchange: Exchange, answer: UpstreamResponse, again: Again
    ) -> None:
        """A plain body is released once its turn is durable: its last byte is what clients act on."""
        limit = self.settings.limits.answer
        raw = answer.take_whole()
        if raw is None:
            raw = await answer.read_up_to(limit)
        exchange.mark_first_byte()
        if len(raw) > limit:
            exchange.mark_too_large()
            return await self._relay_unread(sink.bare(), exchange, answer, raw)
        decoded = raw
        if answer.encoding:
            decoding = self._decoder(answer)
            decoded = decoding.feed(raw)
            check_readable(exchange, decoding)
        read = exchange.answer.read_body(decoded)
        while exchange.noise.tools is not None and (following := next_body(exchange)) is not None:
            # The round is over; its answer stays the caller's to close.
            answer = await again(following)
            with closing(answer):
                read = exchange.answer.read_body(await answer.read_all(limit))
        if exchange.noise.tools is not None and exchange.answer.unanswered:
            read = exchange.answer.conclude()
        edited = exchange.edited
        body = read if edited else raw
        if answer.head is not None and isinstance(sink, HttpRequest):
            settled = await self.recording.settle(exchange)
            head = answer.head.write(edited=edited)
            if not sink.answer_at_once(answer.status, body, head):
                await sink.answer_in_parts(answer.status, body, head)
        else:
            headers = without(select_headers(answer, edited=edited), b"content-length")
            body = shape_answer(exchange, body, headers)
            settled = await self.recording.settle(exchange)
            await sink.answer(answer.status, body, headers)
        self.recording.record_delivery(exchange, settled, delivered=not sink.broken)

    async def _relay_unread(
        self, sink: ResponseSink, exchange: Exchange, answer: UpstreamResponse, begun: bytes
    ) -> None:
        """Relay a plain body unread, its last part once the turn is durable. UpstreamError where it must be
        read, since noise changed the tools.
        """
        tools = exchange.noise.tools
        if tools is not None and (tools.shown.declared_of or tools.hides_calls):
            raise too_large("limits.answer")
        exchange.noise.withhold_rest("the answer is larger than `limits.answer`")
        await sink.start(answer.status, drop_hop_by_hop(answer.headers))
        cut: UpstreamError | None = None
        last = begun
        try:
            async for chunk in answer.chunks():
                await sink.chunk(last)
                last = chunk
        except UpstreamError as error:
            cut = error
            note_cut(self.recording, exchange, error)
        settled = await self.recording.settle(exchange)
        # Without an end the server cuts the connection, as the client would have seen it.
        await (sink.end(last) if cut is None else sink.chunk(last))
        self.recording.record_delivery(exchange, settled, delivered=cut is None and not sink.broken)
