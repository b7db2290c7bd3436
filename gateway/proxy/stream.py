"""Relay one streamed answer: pass its events on at once, and hold what clients act on until its turn is
durable.
"""

from __future__ import annotations

import asyncio

from crosswind.gateway.config.sections import Durability
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.answer import UNREAD, Passage
from crosswind.gateway.proxy.response_sink import ResponseSink, edit_of
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.recording import SettledTurn

_LOOKS = 6
"""How often a chunk's events are read together again, behind one that has to be read alone."""


class StreamRelay:
    """A stream on its way to the client.

    Events keep their bytes, unless the answer is edited: the fields that token capture added are removed.
    From the completing event on (with `strict_tools` from the first tool-call delta on) everything is `held`,
    in order.
    """

    def __init__(
        self, sink: ResponseSink, exchange: Exchange, decoding: ContentDecoder, settings: Settings
    ) -> None:
        self.sink = sink
        self.exchange = exchange
        self.encoded = not decoding.plain and not exchange.edited
        """It goes out encoded, as it came; an edited answer goes out decoded."""
        self.held = bytearray()
        self.pending = b""
        """Bytes to send."""
        self.settled: SettledTurn | None = None
        self._answer = exchange.answer
        self._decoding = decoding
        self._durability = settings.durability
        self._event_limit, self._stream_limit = settings.limits.event, settings.limits.stream
        self._splitter: EventSplitter | None = None
        """For events that are read one by one, once there is one."""
        self._patience_s = settings.timeouts.after_completion
        self._patient_until: float | None = None
        self._kept = 0
        """Bytes of the stream that are kept for the record."""
        self._holding = self._released = self._completed = self._ended = False

    def take(self, chunk: bytes) -> bool:
        """Relay a chunk, at once where that is possible. False: what is pending must be sent, or the turn
        recorded, before the next chunk.
        """
        if self.exchange.first_token_us is None:
            self.exchange.mark_first_byte()
        self._kept += len(chunk)
        if self._kept > self._stream_limit:
            self._drop_kept()
        out = self.feed(chunk)
        if self._decoding.failed:
            check_readable(self.exchange, self._decoding)
        if self.pending or not self.sink.write(out):
            self.pending += out
            return False
        return not (self._completed or self._ended)

    def _drop_kept(self) -> None:
        """Keep nothing of the stream so far: it is too large. UpstreamError where the client can't get the
        rest without it.
        """
        exchange = self.exchange
        if (edit := edit_of(exchange)) is not None:
            exchange.noise.withhold(edit[0], "the answer is larger than `limits.stream`")
        exchange.mark_too_large()
        self._kept = 0
        if exchange.tools is not None:
            raise too_large("limits.stream")
        self._answer = exchange.restart_reader()

    async def send(self, more: bytes = b"") -> None:
        out, self.pending = self.pending + more, b""
        await self.sink.chunk(out)

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk as it arrived; gives the bytes to relay now."""
        rest = chunk if self._decoding.plain else self._decoding.feed(chunk)
        out: list[bytes] = []
        for _ in range(_LOOKS):
            passage = UNREAD
            between = self._splitter is None or self._splitter.between
            if between and len(rest) <= self._event_limit:
                passage = self._answer.read_events(rest)
            if read := passage.size:
                out.append(self._pass_events(rest[:read], passage))
            elif (read := rest.find(b"\n\n") + 2) >= 2:
                out += self._read_each(rest[:read])
            else:
                break
            if not (rest := rest[read:]):
                break
        out += self._read_each(rest) if rest else ()
        # An encoded stream can't be cut at its events: the chunk with the completing one is held whole.
        return self._pass_or_hold(chunk) if self.encoded else b"".join(out)

    def _pass_events(self, events: bytes, passage: Passage) -> bytes:
        """Pass on what was read together, or hold it from the completing event on."""
        self._ended |= passage.ended
        before = b""
        if passage.completing is not None:
            before = self._pass_or_hold(events[: passage.completing])
            events = events[passage.completing :]
            self._completed = True
            self._holding |= self._durability is not Durability.RELAXED
        return b"" if self.encoded else before + self._pass_or_hold(events)

    def finish(self) -> bytes:
        """The stream is over: gives what came after its last blank line."""
        rest = None if self._splitter is None else self._splitter.rest()
        return self._read(rest) if rest and not self.encoded else b""

    def patience_s(self) -> float | None:
        """How long to wait for the next chunk before the turn is recorded without it; None: without a limit.
        Chunks behind the completion don't prolong it, since keep-alives may come for ever.
        """
        if not self._completed or self._released:
            return None
        now = asyncio.get_running_loop().time()
        if self._patient_until is None:
            self._patient_until = now + self._patience_s
        return max(0.0, self._patient_until - now)

    @property
    def completed(self) -> bool:
        """Whether the event that clients act on has come, or the stream is over."""
        return self._completed or self._ended

    def is_due(self, *, idle: bool) -> bool:
        """Whether the turn must be recorded now: the end came, or nothing comes after the completion."""
        return self._ended or (self._completed and (idle or len(self.held) > self._event_limit))

    def release(self) -> bytes:
        """Everything held. From now on nothing is held."""
        held, self._released = bytes(self.held), True
        self.held.clear()
        return held

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
        return self._pass_or_hold(chunk.raw) if not self.encoded else b""

    def _pass_or_hold(self, raw: bytes) -> bytes:
        if self._holding and not self._released:
            self.held += raw
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
