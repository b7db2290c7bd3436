"""Relays a streamed answer event by event, and holds back what clients act on until its turn is durable."""

from __future__ import annotations

import asyncio

from crosswind.gateway.config.sections import Durability
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.answer import AnswerReader

_LOOKS = 6
"""How often what has come is looked at for events that may be read later, behind one that may not."""


class StreamRelay:
    """What of a stream goes out at once, and what is `held`.

    Events keep their bytes, unless the answer is edited: what token capture added is taken out again.
    From the completing event on (with `strict_tools` from the first tool-call delta on) everything is held,
    in order.
    """

    def __init__(
        self,
        answer: AnswerReader,
        *,
        edited: bool,
        decoding: ContentDecoder,
        durability: Durability,
        limit: int,
        patience_s: float,
    ) -> None:
        self._answer = answer
        self._durability = durability
        self._decoding = decoding
        # An answer that is edited goes out decoded.
        self.encoded = not decoding.plain and not edited
        self._splitter = EventSplitter(limit)
        self._limit = limit
        self._holding = False
        self._released = False
        self._patience_s = patience_s
        self._patient_until: float | None = None
        self.held = bytearray()
        self._completed = False
        self._ended = False

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk as it arrived; gives the bytes to relay now."""
        rest = decoded = self._decoding.feed(chunk)
        out: list[bytes] = []
        for _ in range(_LOOKS):
            read = 0
            if self._splitter.between and len(rest) <= self._limit:
                read = self._answer.defer(rest)
            if read:
                if read == len(decoded) and not self._holding:
                    return chunk
                out.append(b"" if self.encoded else self._passed(rest[:read]))
            elif (read := rest.find(b"\n\n") + 2) >= 2:
                out += [self._read(event) for event in self._splitter.feed(rest[:read])]
            else:
                break
            rest = rest[read:]
        out += [self._read(event) for event in self._splitter.feed(rest)] if rest else []
        # An encoded stream can't be cut at its events: the chunk with the completing one is held whole.
        return self._passed(chunk) if self.encoded else b"".join(out)

    def read_on_with(self, answer: AnswerReader) -> None:
        """Have what comes from now on read by another reader."""
        self._answer = answer

    def finish(self) -> bytes:
        """The stream is over: what stood after the last blank line."""
        rest = self._splitter.rest()
        return self._read(rest) if rest and not self.encoded else b""

    def patience_s(self) -> float | None:
        """How long to wait for the next chunk before settling without it; None: as long as it takes. What
        comes behind the completion doesn't prolong it: keep-alives may come for ever.
        """
        if not self._completed or self._released:
            return None
        now = asyncio.get_running_loop().time()
        if self._patient_until is None:
            self._patient_until = now + self._patience_s
        return max(0.0, self._patient_until - now)

    @property
    def completed(self) -> bool:
        """Whether what clients act on has come, or nothing comes any more."""
        return self._completed or self._ended

    def settles(self, *, idle: bool) -> bool:
        """Whether the turn is to be recorded now: its end came, or nothing comes after its completion."""
        return self._ended or (self._completed and (idle or len(self.held) > self._limit))

    def release(self) -> bytes:
        """Everything that was held. From now on nothing is."""
        held, self._released = bytes(self.held), True
        self.held.clear()
        return held

    def _read(self, event: SseEvent) -> bytes:
        chunk = self._answer.read_event(event)
        if chunk.completing or chunk.calls_tools:
            self._holding |= self._holds(completing=chunk.completing)
            self._completed |= chunk.completing
        self._ended |= chunk.ended
        return self._passed(chunk.raw) if not self.encoded else b""

    def _holds(self, *, completing: bool) -> bool:
        """Whether what completes the answer, or calls a tool, and all behind it are held."""
        if self._durability is Durability.RELAXED:
            return False
        return completing or self._durability is Durability.STRICT_TOOLS

    def _passed(self, raw: bytes) -> bytes:
        if self._holding and not self._released:
            self.held += raw
            return b""
        return raw
