"""Relay one streamed answer: pass its events on at once, and hold what clients act on until its turn is
durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing

import structlog

from crosswind.gateway.config.sections import Durability
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.headers import Headers, drop_hop_by_hop
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.answer import UNREAD, Passage
from crosswind.gateway.proxy.response_sink import FaultySink, ResponseSink, edit_of
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Durable
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.inner_rounds import next_body
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.upstreams.response import UpstreamResponse

_log = structlog.get_logger("crosswind.answering")

Again = Callable[[bytes], Awaitable[UpstreamResponse]]
_LOOKS = 6
"""How often a chunk's events are read together again, behind one that has to be read alone."""


class StreamRelay:
    """A stream on its way to the client.

    Events keep their bytes, unless the answer is edited: the fields that token capture added are removed.
    From the completing event on (with `strict_tools` from the first tool-call delta on) everything is held,
    in order.
    """

    # Most streams have these values to their end.
    _pending = b""
    """Bytes to send."""
    _settled: Durable | None = None
    _splitter: EventSplitter | None = None
    """For events that are read one by one, once there is one."""
    _patient_until: float | None = None
    _kept = 0
    """Bytes of the stream that are kept for the record."""
    _holding = _released = _completed = _ended = False

    def __init__(
        self,
        sink: ResponseSink,
        exchange: Exchange,
        answer: UpstreamResponse,
        decoding: ContentDecoder,
        settings: Settings,
        recording: Recording,
    ) -> None:
        self._sink, self._exchange, self._upstream = sink, exchange, answer
        self._settings, self._recording = settings, recording
        self._answer = exchange.answer
        self._decoding = decoding
        self._encoded = not decoding.plain and not exchange.edited
        """It goes out encoded, as it came; an edited answer goes out decoded."""
        self._held = bytearray()
        self._durability, self._event_limit = settings.durability, settings.limits.event

    async def run(self, again: Again) -> None:
        """Relay the stream with its inner rounds, which `again` sends, and record the turn."""
        sink, exchange, answer = self._sink, self._exchange, self._upstream
        if self._decoding.failed:
            check_readable(exchange, self._decoding)
        await start_stream(sink, answer, edited=exchange.edited)
        cut: UpstreamError | None = None
        try:
            await self._relay(answer)
            while exchange.noise.tools is not None and (following := next_body(exchange)) is not None:
                with closing(await again(following)) as later:
                    _check_stream(later)
                    await self._relay(later)
        except UpstreamError as error:
            cut = error
            note_cut(self._recording, exchange, cut)
        settled = self._settled or await self._settle(last=cut is None)
        if cut is None:
            await sink.end(self._pending)
        else:
            await self._end_cut(cut)
        self._recording.record_delivery(exchange, settled, delivered=cut is None and not sink.broken)

    async def _relay(self, answer: UpstreamResponse) -> None:
        """Relay a round's stream to its end, and record the turn where that is due before the end."""
        over = False
        while not (over or self._completed or self._ended):
            over = await answer.pour(self.take)
            if self._pending:
                await self._send()
        over = over or answer.complete
        if self._is_due(idle=False):
            await self._settle(last=over)
        if not over:
            async for chunk in answer.chunks(idle_s=self._patience_s):
                self.take(chunk)
                if self._pending:
                    await self._send()
                if self._is_due(idle=not chunk):
                    await self._settle(last=answer.complete)
        if self._splitter is not None and (rest := self._splitter.rest()) and not self._encoded:
            # What came after the last blank line.
            await self._send(self._read(rest))

    async def _settle(self, *, last: bool) -> Durable:
        """Record the turn, wait until it is durable, and release what was held, once. Where nothing comes
        after that (`last`), it goes out with the answer's end.
        """
        if self._settled is not None:
            return self._settled
        exchange = self._exchange
        if exchange.answer.error is not None:
            exchange.fail(Source.UPSTREAM, "error_in_stream", str(exchange.answer.error.get("message", "")))
        if isinstance(self._sink, FaultySink):
            self._sink.shape_rest(bytes(self._held))
        self._settled = settled = await self._recording.settle(exchange)
        self._pending, self._released = bytes(self._held), True
        self._held.clear()
        if exchange.noise.tools is not None and exchange.answer.unanswered:
            self._pending += exchange.answer.conclude()
        if not last:
            await self._send()
        return settled

    async def _end_cut(self, cut: UpstreamError) -> None:
        """End what the upstream has broken off. Without an end the server cuts the connection, as the client
        would have seen it.
        """
        announced = not self._exchange.edited and bool(self._upstream.header("content-length"))
        if announced or self._encoded:  # no event can be added
            await self._send()
        else:
            await self._send(self._exchange.codec.error_event(cut))

    def take(self, chunk: bytes) -> bool:
        """Relay a chunk, at once where that is possible. False: what is pending must be sent, or the turn
        recorded, before the next chunk.
        """
        if self._exchange.first_token_us is None:
            self._exchange.mark_first_byte()
        self._kept += len(chunk)
        if self._kept > self._settings.limits.stream:
            self._drop_kept()
        out = self._feed(chunk)
        if self._decoding.failed:
            check_readable(self._exchange, self._decoding)
        if self._pending or not self._sink.write(out):
            self._pending += out
            return False
        return not (self._completed or self._ended)

    def _drop_kept(self) -> None:
        """Keep nothing of the stream so far: it is too large. UpstreamError where the client can't get the
        rest without it.
        """
        exchange = self._exchange
        if (edit := edit_of(exchange)) is not None:
            exchange.noise.withhold(edit[0], "the answer is larger than `limits.stream`")
        exchange.mark_too_large()
        self._kept = 0
        if exchange.noise.tools is not None:
            raise too_large("limits.stream")
        self._answer = exchange.restart_reader()

    async def _send(self, more: bytes = b"") -> None:
        out, self._pending = self._pending + more, b""
        await self._sink.chunk(out)

    def _feed(self, chunk: bytes) -> bytes:
        """Take a chunk as it arrived; gives the bytes to relay now."""
        rest = chunk if self._decoding.plain else self._decoding.feed(chunk)
        out: list[bytes] = []
        for _ in range(_LOOKS):
            passage = UNREAD
            between = self._splitter is None or self._splitter.between
            if between and len(rest) <= self._event_limit:
                passage = self._answer.read_events(rest)
            if read := passage.size:
                out.append(self._pass_events(rest if read == len(rest) else rest[:read], passage))
            elif (read := rest.find(b"\n\n") + 2) >= 2:
                out += self._read_each(rest[:read])
            else:
                break
            if read == len(rest):
                rest = b""
                break
            rest = rest[read:]
        out += self._read_each(rest) if rest else ()
        if self._encoded:  # it can't be cut at its events: the chunk with the completing one is held whole
            return self._pass_or_hold(chunk)
        return out[0] if len(out) == 1 else b"".join(out)

    def _pass_events(self, events: bytes, passage: Passage) -> bytes:
        """Pass on what was read together, or hold it from the completing event on."""
        if passage.ended:
            self._ended = True
        if passage.completing is None:
            return b"" if self._encoded else self._pass_or_hold(events) if self._holding else events
        before = self._pass_or_hold(events[: passage.completing])
        self._completed = True
        self._holding |= self._durability is not Durability.RELAXED
        return b"" if self._encoded else before + self._pass_or_hold(events[passage.completing :])

    def _patience_s(self) -> float | None:
        """How long to wait for the next chunk before the turn is recorded without it; None: without a limit.
        Chunks behind the completion don't prolong it, since keep-alives may come for ever.
        """
        if not self._completed or self._released:
            return None
        now = asyncio.get_running_loop().time()
        if self._patient_until is None:
            self._patient_until = now + self._settings.timeouts.after_completion
        return max(0.0, self._patient_until - now)

    def _is_due(self, *, idle: bool) -> bool:
        """Whether the turn must be recorded now: the end came, or nothing comes after the completion."""
        return self._ended or (self._completed and (idle or len(self._held) > self._event_limit))

    def _read_each(self, raw: bytes) -> list[bytes]:
        """Read event by event; gives what to relay of each."""
        if self._splitter is None:
            self._splitter = EventSplitter(self._event_limit)
        return [self._read(event) for event in self._splitter.feed(raw)]

    def _read(self, event: SseEvent) -> bytes:
        chunk = self._answer.read_event(event)
        if chunk.completing or chunk.calls_tools:
            strict = self._durability is Durability.STRICT and chunk.completing
            self._holding |= strict or self._durability is Durability.STRICT_TOOLS
            self._completed |= chunk.completing
        self._ended |= chunk.ended
        return self._pass_or_hold(chunk.raw) if not self._encoded else b""

    def _pass_or_hold(self, raw: bytes) -> bytes:
        if self._holding and not self._released:
            self._held += raw
            return b""
        return raw


def check_readable(exchange: Exchange, decoding: ContentDecoder) -> None:
    """Note an answer that can't be decoded. UpstreamError where it must be: the client would see what noise
    and token capture added.
    """
    if decoding.failed:
        exchange.leave_unread()
        if exchange.edited:
            raise UpstreamError(
                502,
                "the upstream encoded its answer although it was asked not to, and it can't be decoded; "
                "switch its compression off (or raise limits.decoded, where the answer is larger)",
                "upstream_undecodable",
            )


def too_large(limit: str) -> UpstreamError:
    return UpstreamError(
        502,
        f"the upstream's answer is larger than {limit}, and it has to be read whole; raise it",
        "upstream_too_large",
    )


def note_cut(recording: Recording, exchange: Exchange, error: UpstreamError) -> None:
    """Note that the upstream broke off its answer."""
    recording.metrics.count_failure(error)
    exchange.fail(Source.UPSTREAM, error.code, error.message)
    _log.warning("the upstream broke off its answer", turn=exchange.place.index, error=error.message)


def start_stream(sink: ResponseSink, answer: UpstreamResponse, *, edited: bool) -> Awaitable[None]:
    """Send the head of a stream."""
    head, follows = answer.head, bool(answer.parts)
    if head is not None and head.template.length_at < 0 and isinstance(sink, HttpRequest):
        return sink.start(answer.status, head.write(edited=edited), follows=follows)
    return sink.start(answer.status, select_headers(answer, edited=edited), follows=follows)


def select_headers(answer: UpstreamResponse, *, edited: bool) -> Headers:
    """The answer's headers. An edited body goes out decoded, and with another length."""
    headers = drop_hop_by_hop(answer.headers)
    return without(headers, b"content-length", b"content-encoding") if edited else headers


def without(headers: Headers, *names: bytes) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]


def _check_stream(answer: UpstreamResponse) -> None:
    """Check that an inner round's answer is a stream, too. The client doesn't learn that there was one."""
    if answer.status >= 400 or not answer.streams:
        raise UpstreamError(502, f"the upstream answered with status {answer.status}", "upstream_refused")
