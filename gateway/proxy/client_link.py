"""The way to the client as a broken link has it: cut, stalled, slow or mislabelled."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import structlog

from crosswind.gateway.http.headers import Headers
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.provider_errors import AnswerForms
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.trajectory.record import Delivered
from crosswind.gateway.turn.exchange import Exchange

_log = structlog.get_logger("crosswind.proxy")

STREAM_CUT = "stream_cut"


class Outlet(Protocol):
    """Where an answer goes."""

    @property
    def broken(self) -> bool:
        """Whether the client was cut off: nothing more reaches it."""
        ...

    @property
    def started(self) -> bool:
        """Whether the answer's head has gone."""
        ...

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        """Send the answer's head. `follows`: a part or the end comes at once, and may take it along."""
        ...

    def write(self, body: bytes) -> bool:
        """Send a part of the answer's body now; False where that would have to be waited for: `chunk` it."""
        ...

    async def chunk(self, body: bytes) -> None:
        """Send a part of the answer's body."""
        ...

    async def end(self, body: bytes = b"") -> None:
        """Send the last part of the answer's body."""
        ...

    async def answer(self, status: int, body: bytes, headers: Headers) -> None:
        """Send a whole answer."""
        ...

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection without an end, with `reset` at once and unclean."""
        ...

    def bare(self) -> Outlet:
        """The client itself, for an answer too large to be held. UpstreamError where there is none."""
        ...


class FaultyOutlet:
    """An outlet on which the faults of an exchange act. `event_limit` bounds an event, in bytes."""

    def __init__(self, outlet: Outlet, exchange: Exchange, *, event_limit: int) -> None:
        self._outlet = outlet
        self._exchange = exchange
        self._faults = exchange.noise.faults
        self._splitter = EventSplitter(event_limit)
        self._edit = edit_of(exchange)
        self._collected = bytearray()
        self._passed = 0
        self._contents = 0
        self._ended = False

    @property
    def broken(self) -> bool:
        return self._ended or self._outlet.broken

    @property
    def started(self) -> bool:
        return self._outlet.started

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        if not self._reset():
            await self._outlet.start(status, self._labelled(headers))

    def write(self, body: bytes) -> bool:
        return False

    async def chunk(self, body: bytes) -> None:
        if self._edit is not None and edit_of(self._exchange) is None:
            # It was withdrawn, since the answer is too large to be held.
            self._edit, body = None, bytes(self._collected) + body
            self._collected.clear()
        if self._edit is not None:
            # What becomes of the answer hangs on the whole of it.
            self._collected += body
            return
        for event in self._splitter.feed(body):
            await self._event(event)

    async def end(self, body: bytes = b"") -> None:
        if self._edit is not None:
            self._collected += body
            body = self._whole()
        for event in self._splitter.feed(body):
            await self._event(event)
        if (rest := self._splitter.rest()) is not None:
            await self._event(rest)
        if not self.broken:
            await self._outlet.end()

    async def answer(self, status: int, body: bytes, headers: Headers) -> None:
        if self._reset():
            return
        headers = self._labelled(headers)
        truncated, drip = self._faults.find("response", "truncate"), self._faults.find("response", "drip")
        if truncated is None and drip is None:
            return await self._outlet.answer(status, body, headers)
        await self._outlet.start(status, [*headers, (b"content-length", str(len(body)).encode())])
        kept = body if truncated is None else body[: int(len(body) * truncated.number("keep"))]
        await self._pass(kept, drip)
        if truncated is None:
            return await self._outlet.end()
        self._outlet.cut()

    def cut(self, *, reset: bool = False) -> None:
        self._outlet.cut(reset=reset)

    def bare(self) -> Outlet:
        return self._outlet.bare()

    def _reset(self) -> bool:
        """Close the connection now that the answer is there, where noise says so. A stream is still read to
        its end, for the record.
        """
        if self._faults.find("response", "reset") is None:
            return False
        self._outlet.cut(reset=True)
        return True

    def _whole(self) -> bytes:
        """A collected stream, edited where it was."""
        forms, shown = self._exchange.codec.forms, self._exchange.shown
        if shown is None or forms is None:
            return bytes(self._collected)
        return forms.events(decode(shown), self._exchange.request)

    async def _event(self, event: SseEvent) -> None:
        """Pass an event on; a stream that was cut is still read to its end, for the record."""
        if self.broken:
            return
        if self._passed == 0:
            await self._faults.wait("stream")
        stall = self._faults.find("stream", "stall")
        if stall is not None and self._passed == stall.number("after_events"):
            await asyncio.sleep(stall.number("stall_ms") / 1000.0)
        cut = self._faults.find("stream", "cut")
        if cut is not None and self._passed == cut.number("after_events"):
            await self._outlet.chunk(event.raw[: int(len(event.raw) * cut.number("keep"))])
            self._exchange.inject_failure(cut.operator, "the stream was cut")
            return self._outlet.cut()
        if await self._provider_stopped(event):
            return
        self._passed += 1
        await self._pass(event.raw, self._faults.find("stream", "drip"))

    async def _provider_stopped(self, event: SseEvent) -> bool:
        """End the stream where the provider is to have stopped, in the middle of its answer."""
        fault, forms = self._faults.edit(), self._exchange.codec.forms
        if fault is None or forms is None or fault.settings["edit"] != STREAM_CUT:
            return False
        self._contents += forms.has_content(event.data)
        if self._contents <= fault.number("after_events"):
            return False
        self._exchange.inject_failure(fault.operator, "the stream ended in its middle")
        await self._outlet.end()
        self._ended = True
        return True

    async def _pass(self, body: bytes, drip: Fault | None) -> None:
        if drip is None:
            return await self._outlet.chunk(body)
        # In pieces of a tenth of a second, as a slow line would.
        rate = drip.number("bytes_per_s")
        piece = max(1, int(rate / 10))
        for at in range(0, len(body), piece):
            await self._outlet.chunk(body[at : at + piece])
            await asyncio.sleep(len(body[at : at + piece]) / rate)

    def _labelled(self, headers: Headers) -> Headers:
        fault = self._faults.find("response", "content_type")
        if fault is None:
            return headers
        kept = [(name, value) for name, value in headers if name.lower() != b"content-type"]
        return [*kept, (b"content-type", str(fault.settings["content_type"]).encode("latin-1"))]


def delivered_by(outlet: Outlet) -> Delivered:
    """Whether what was sent reached its client."""
    return Delivered.NO if outlet.broken else Delivered.YES


def edit_of(exchange: Exchange) -> Fault | None:
    """What becomes of the whole answer on its way, where something does."""
    fault = exchange.noise.faults.edit()
    if fault is None or fault.settings["edit"] == STREAM_CUT or exchange.too_large:
        return None
    return fault


def _edited(
    request: Request, forms: AnswerForms, fault: Fault, body: bytes, *, streamed: bool
) -> dict[str, Any] | None:
    """The answer as the fault leaves it. None where it doesn't apply, or the answer isn't what its protocol
    says: noise must never break traffic.
    """
    try:
        changed = forms.edited(decode(body), fault, request)
        if changed is not None and streamed:
            forms.events(changed, request)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        _log.warning("a fault can't be written into an answer", operator=fault.operator, error=repr(error))
        return None
    return changed


def foreseen(exchange: Exchange, body: bytes, *, streamed: bool = False) -> bytes:
    """The body that the client will get, and what the record says of it: before the turn is recorded.
    `streamed`: it gets it as events, whatever it asked for.
    """
    faults = exchange.noise.faults
    if not faults.on_the_way_back:
        return body
    for kind in ("reset", "truncate", "content_type"):
        if (fault := faults.find("response", kind)) is not None:
            exchange.inject_failure(fault.operator, "the answer was lost or spoilt on its way")
    fault, forms = edit_of(exchange), exchange.codec.forms
    if fault is None or forms is None or not exchange.answer.finished:
        return body
    changed = _edited(exchange.request, forms, fault, body, streamed=streamed)
    if changed is None:
        exchange.noise.drop_events(fault.operator)
        return body
    shown = encode(changed)
    if (answered := exchange.request.answered) is not None:
        # What the client got is what it goes on from, here as where the turn is read back.
        answered(changed, decode(exchange.answer.produced()).get("id"))
    exchange.inject_failure(fault.operator, "the answer was changed on its way", shown)
    return shown
