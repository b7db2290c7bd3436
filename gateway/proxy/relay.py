"""Relay the upstream's answer to the client; its completion is held until the turn is recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.headers import Headers, drop_hop_by_hop
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.proxy.response_sink import FaultySink, ResponseSink, judge_delivery, shape_answer
from crosswind.gateway.proxy.stream import StreamRelay, check_readable, too_large
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Delivered
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.inner_rounds import next_body
from crosswind.gateway.turn.recording import Recording, SettledTurn
from crosswind.gateway.upstreams.response import UpstreamResponse

_log = structlog.get_logger("crosswind.answering")


_PLAIN = ContentDecoder("", 0)
Again = Callable[[bytes], Awaitable[UpstreamResponse]]


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
        relay = self._relay_streamed if answer.streams else self._relay_plain
        return relay(sink, exchange, answer, again)

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
        decoding = self._decoder(answer)
        read = exchange.answer.read_body(decoding.feed(raw))
        if decoding.failed:
            check_readable(exchange, decoding)
        while exchange.noise.tools is not None and (following := next_body(exchange)) is not None:
            # The round is over; its answer stays the caller's to close.
            answer = await again(following)
            with closing(answer):
                read = exchange.answer.read_body(await answer.read_all(limit))
        if exchange.answer.unanswered:
            read = exchange.answer.conclude()
        edited = exchange.edited
        body = read if edited else raw
        if answer.head is not None and isinstance(sink, HttpRequest):
            settled = await self.recording.settle(exchange)
            await sink.answer(answer.status, body, answer.head.write(edited=edited))
        else:
            headers = _without(_headers(answer, edited=edited), b"content-length")
            body = shape_answer(exchange, body, headers)
            settled = await self.recording.settle(exchange)
            await sink.answer(answer.status, body, headers)
        self.recording.record_delivery(exchange, settled, judge_delivery(sink))

    async def _relay_unread(
        self, sink: ResponseSink, exchange: Exchange, answer: UpstreamResponse, begun: bytes
    ) -> None:
        """Relay a plain body unread, its last part once the turn is durable. UpstreamError where it must be
        read, since noise changed the tools.
        """
        tools = exchange.tools
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
            self._note_cut(exchange, error)
        settled = await self.recording.settle(exchange)
        # Without an end the server cuts the connection, as the client would have seen it.
        await (sink.end(last) if cut is None else sink.chunk(last))
        self.recording.record_delivery(exchange, settled, Delivered.NO if cut else judge_delivery(sink))

    def _note_cut(self, exchange: Exchange, error: UpstreamError) -> None:
        self.recording.metrics.count_failure(error)
        exchange.fail(Source.UPSTREAM, error.code, error.message)
        _log.warning("the upstream broke off its answer", turn=exchange.place.index, error=error.message)

    async def _relay_streamed(
        self, sink: ResponseSink, exchange: Exchange, answer: UpstreamResponse, again: Again
    ) -> None:
        """Relay a stream event by event, with its inner rounds; the completing event waits for the record."""
        decoding = self._decoder(answer)
        if decoding.failed:
            check_readable(exchange, decoding)
        stream = StreamRelay(sink, exchange, decoding, self.settings)
        edited, head = exchange.edited, answer.head
        if head is not None and head.template.length_at < 0 and isinstance(sink, HttpRequest):
            await sink.start(answer.status, head.write(edited=edited), follows=answer.arrived)
        else:
            await sink.start(answer.status, _headers(answer, edited=edited), follows=answer.arrived)
        cut: UpstreamError | None = None
        try:
            await self._relay_stream(stream, answer)
            while exchange.noise.tools is not None and (following := next_body(exchange)) is not None:
                with closing(await again(following)) as later:
                    _check_stream(later)
                    await self._relay_stream(stream, later)
        except UpstreamError as error:
            cut = error
        announced = cut is not None and not exchange.edited and bool(answer.header("content-length"))
        await self._finish(stream, cut, announced=announced)

    async def _relay_stream(self, stream: StreamRelay, answer: UpstreamResponse) -> None:
        """Relay a round's stream to its end, and record the turn where that is due before the end."""
        while not (stream.completed or answer.complete):
            await answer.pour(stream.take)
            if stream.pending:
                await stream.send()
        if stream.is_due(idle=False):
            await self._settle(stream, last=answer.complete)
        if not answer.complete:
            async for chunk in answer.chunks(idle_s=stream.patience_s):
                stream.take(chunk)
                if stream.pending:
                    await stream.send()
                if stream.is_due(idle=not chunk):
                    await self._settle(stream, last=answer.complete)
        if rest := stream.finish():
            await stream.send(rest)

    async def _finish(self, stream: StreamRelay, cut: UpstreamError | None, *, announced: bool) -> None:
        """The upstream's stream is over, or was `cut`. `announced`: the client knows the length, so that no
        error event can be added.
        """
        exchange, sink = stream.exchange, stream.sink
        if cut is not None:
            self._note_cut(exchange, cut)
        settled = stream.settled or await self._settle(stream, last=cut is None)
        if cut is None:
            await sink.end(stream.pending)
        elif not (announced or stream.encoded):
            # No end is sent after it, so the server cuts the connection, as the client would have seen it.
            await stream.send(exchange.codec.error_event(cut))
        else:
            await stream.send()
        self.recording.record_delivery(exchange, settled, Delivered.NO if cut else judge_delivery(sink))

    async def _settle(self, stream: StreamRelay, *, last: bool) -> SettledTurn:
        """Record the turn, wait until it is durable, and release what was held, once. Where nothing comes
        after that (`last`), it goes out with the answer's end.
        """
        if stream.settled is not None:
            return stream.settled
        exchange = stream.exchange
        if exchange.answer.error is not None:
            exchange.fail(Source.UPSTREAM, "error_in_stream", str(exchange.answer.error.get("message", "")))
        if isinstance(stream.sink, FaultySink):
            stream.sink.shape_rest(bytes(stream.held))
        stream.settled = settled = await self.recording.settle(exchange)
        stream.pending = stream.release()
        if exchange.answer.unanswered:
            stream.pending += exchange.answer.conclude()
        if not last:
            await stream.send()
        return settled


def _check_stream(answer: UpstreamResponse) -> None:
    """Check that an inner round's answer is a stream, too. The client doesn't learn that there was one."""
    if answer.status >= 400 or not answer.header("content-type").startswith("text/event-stream"):
        raise UpstreamError(502, f"the upstream answered with status {answer.status}", "upstream_refused")


def _headers(answer: UpstreamResponse, *, edited: bool) -> Headers:
    """The answer's headers. An edited body goes out decoded, and with another length."""
    headers = drop_hop_by_hop(answer.headers)
    return _without(headers, b"content-length", b"content-encoding") if edited else headers


def _without(headers: Headers, *names: bytes) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]
