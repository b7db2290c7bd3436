"""The link to the client, with the faults that act on the answer that goes over it."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol

import structlog

from crosswind.gateway.http.headers import Headers
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.noise.fault_runner import Faults, PassedEvent
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.protocols.provider_errors import ProviderErrors
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.turn.exchange import Exchange
from crosswind.injectors.faults import Action, AnswerContent, AnswerEdit, Close, Send, StreamEvent, Wait

_log = structlog.get_logger("crosswind.proxy")

_SPOILED = {
    None: "the stream was changed on its way",
    "cut": "the stream was cut",
    "reset": "the stream was cut",
    "end": "the stream ended in its middle",
}
"""What the record says of a stream that a fault spoiled, by how the fault closed it."""
_NOTHING_TO_ACT_ON = "the answer had nothing that it could act on"


class ResponseSink(Protocol):
    """Where an answer goes."""

    @property
    def broken(self) -> bool:
        """Whether the client was cut off: nothing more reaches it."""

    @property
    def started(self) -> bool:
        """Whether the answer's head has gone."""

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        """Send the answer's head. `follows`: a part or the end comes at once, and may take it along."""

    def write(self, body: bytes) -> bool:
        """Send a part of the answer's body now; False where that would have to be waited for: `chunk` it."""

    async def chunk(self, body: bytes) -> None:
        """Send a part of the answer's body."""

    async def end(self, body: bytes = b"") -> None:
        """Send the last part of the answer's body."""

    async def answer(self, status: int, body: bytes, headers: Headers) -> None:
        """Send a whole answer."""

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection without an end, with `reset` at once and unclean."""

    def bare(self) -> ResponseSink:
        """The client itself, for an answer too large to be held. UpstreamError where there is none."""


class FaultySink:
    """An sink on which the faults of an exchange act. `event_limit` bounds an event, in bytes."""

    def __init__(self, sink: ResponseSink, exchange: Exchange, *, event_limit: int) -> None:
        self._sink = sink
        self._exchange = exchange
        self._splitter = EventSplitter(event_limit)
        self._edit = edit_of(exchange)
        self._collected = bytearray()
        self._events = 0
        self._contents = 0
        self._ended = False

    @property
    def _faults(self) -> Faults:
        """Those that were not withheld."""
        return self._exchange.noise.faults

    @property
    def broken(self) -> bool:
        return self._ended or self._sink.broken

    @property
    def started(self) -> bool:
        return self._sink.started

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        acting = self._faults.find_faults_on_head(headers)
        self._exchange.noise.acted |= acting
        if any(one.destroys and one.operator in acting for one in self._faults.at("response")):
            await self._exchange.announce_failure()
        if not await self._close_early():
            await self._sink.start(status, self._faults.change_headers(headers))

    def write(self, body: bytes) -> bool:
        return False

    async def chunk(self, body: bytes) -> None:
        if self._edit is not None and edit_of(self._exchange) is None:
            # The edit was withheld, since the answer is too large to be held.
            self._edit, body = None, bytes(self._collected) + body
            self._collected.clear()
        if self._edit is not None:
            # An edit needs the whole answer.
            self._collected += body
            return
        for event in self._splitter.feed(body):
            await self._pass_event(event)

    async def end(self, body: bytes = b"") -> None:
        if self._edit is not None:
            self._collected += body
            body = self._write_edited_stream()
        for event in self._splitter.feed(body):
            await self._pass_event(event)
        if (rest := self._splitter.rest()) is not None:
            await self._pass_event(rest)
        if not self.broken:
            await self._sink.end()

    async def answer(self, status: int, body: bytes, headers: Headers) -> None:
        if await self._close_early():
            return
        headers = self._faults.change_headers(headers)
        actions = self._faults.pass_body(body)
        if actions == [Send(body)]:
            return await self._sink.answer(status, body, headers)
        whole = any(isinstance(action, Close) for action in actions)
        # A body that is cut keeps the Content-Length of the whole, so that its client sees the cut.
        length = len(body) if whole else sum(len(one.body) for one in actions if isinstance(one, Send))
        await self._sink.start(status, [*headers, (b"content-length", str(length).encode())])
        if not await self._play(actions):
            await self._sink.end()

    def cut(self, *, reset: bool = False) -> None:
        self._sink.cut(reset=reset)

    def bare(self) -> ResponseSink:
        return self._sink.bare()

    def _write_edited_stream(self) -> bytes:
        """The collected stream, or that of the edited answer."""
        errors, shown = self._exchange.codec.provider_errors, self._exchange.shown
        if shown is None or errors is None:
            return bytes(self._collected)
        return errors.write_stream(decode(shown), self._exchange.request)

    def shape_rest(self, held: bytes) -> None:
        """Before the turn is recorded: edit the answer to a stream, of which this is still to be passed on,
        and withhold the faults that find no event in it to act on.
        """
        exchange, answer = self._exchange, self._exchange.answer
        if exchange.noise.faults.on_answer:
            _shape_head(exchange)
            _shape_whole(exchange, answer.delivered_body() or answer.produced_body(), streamed=True)
            if not self.broken:
                self._foresee(held)
        exchange.noise.withhold_rest(_NOTHING_TO_ACT_ON, unable=True)

    def _foresee(self, rest: bytes) -> None:
        """Note what faults will do to the rest of a stream."""
        rest = bytes(self._collected) + rest
        if self._edit is not None and self._exchange.shown is not None:
            rest = self._write_edited_stream()
        splitter, contents = deepcopy(self._splitter), self._contents
        events = splitter.feed(rest)
        if (last := splitter.rest()) is not None:
            events.append(last)
        for number, event in enumerate(events, self._events):
            contents += self._has_content(event)
            passed = self._faults.pass_event(StreamEvent(event.raw, number, contents))
            self._note(passed)
            if any(isinstance(one, Close) for one in passed.actions):
                return

    def _note(self, passed: PassedEvent) -> None:
        """Note what faults do to an event, and the failure where they spoil the stream."""
        self._exchange.noise.acted |= passed.acting
        if passed.spoiled_by is not None:
            how = next((one.how for one in passed.actions if isinstance(one, Close)), None)
            self._exchange.inject_failure(passed.spoiled_by, _SPOILED[how])

    def _has_content(self, event: SseEvent) -> bool:
        errors = self._exchange.codec.provider_errors
        return errors is not None and errors.has_content(event.data)

    async def _pass_event(self, event: SseEvent) -> None:
        """Pass an event on. Of a stream that was closed the rest is still read, for the record."""
        if self.broken:
            return
        self._contents += self._has_content(event)
        passed = self._faults.pass_event(StreamEvent(event.raw, self._events, self._contents))
        self._events += 1
        self._note(passed)
        if passed.spoiled_by is not None:
            await self._exchange.announce_failure()
        await self._play(passed.actions)

    async def _close_early(self) -> bool:
        """Close the connection now that the answer has begun, where a fault does. The waits were before."""
        return await self._play(one for _, one in self._faults.before_answer() if isinstance(one, Close))

    async def _play(self, actions: Iterable[Action]) -> bool:
        """Carry out what faults do; True where nothing more is to be sent."""
        for action in actions:
            match action:
                case Wait(seconds):
                    await sleep(seconds)
                case Send(body):
                    await self._sink.chunk(body)
                case Close("end"):
                    await self._sink.end()
                    self._ended = True
                    return True
                case Close(how):
                    self._sink.cut(reset=how == "reset")
                    return True
        return False


class _JudgedEdit(AnswerEdit):
    """An edit that is told which calls may lose their results."""

    edit_by: AnswerEdit
    may_replace: Callable[[str], bool]

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        calls = tuple(replace(call, repeatable=self.may_replace(call.name)) for call in answer.calls)
        return self.edit_by.edit(replace(answer, calls=calls))


def edit_of(exchange: Exchange) -> tuple[str, AnswerEdit] | None:
    """The edit of the whole answer, if there is one and the answer can be held, and its operator."""
    return None if exchange.too_large else exchange.noise.faults.first(AnswerEdit)


def shape_answer(exchange: Exchange, body: bytes, headers: Headers) -> bytes:
    """The plain body as the client will get it, and the failure that the record attributes to noise: before
    the turn is recorded.
    """
    noise = exchange.noise
    if not noise.faults.on_answer:
        return body
    for one in noise.faults.in_streams_only:
        noise.withhold(one.operator, "the upstream's answer was no stream", unable=True)
    noise.acted |= noise.faults.find_faults_on_body(body, headers)
    _shape_head(exchange)
    body = _shape_whole(exchange, body, streamed=False)
    noise.withhold_rest(_NOTHING_TO_ACT_ON, unable=True)
    return body


def _shape_head(exchange: Exchange) -> None:
    """Attribute the failure to the faults that act once the answer has begun."""
    for one in exchange.noise.faults.at("response"):
        if one.destroys and one.operator in exchange.noise.acted:
            exchange.inject_failure(one.operator, "the answer was lost or spoilt on its way")


def _shape_whole(exchange: Exchange, body: bytes, *, streamed: bool) -> bytes:
    """The body as noise edits it. `streamed`: the client gets it as events."""
    edit, errors = edit_of(exchange), exchange.codec.provider_errors
    if edit is None or errors is None:
        return body
    operator, fault = edit
    if not exchange.answer.finished:
        exchange.noise.withhold(operator, "the upstream gave no whole answer")
        return body
    judged = _JudgedEdit(fault, exchange.noise.may_replace)
    edited = _edit(exchange.request, errors, judged, body, streamed=streamed)
    if edited is None:
        exchange.noise.withhold(operator, "the answer has nothing that it may change", unable=True)
        return body
    exchange.noise.acted.add(operator)
    shown = encode(edited)
    if (answered := exchange.request.on_answer) is not None:
        # The client goes on from what it got, here as where the turn is read back.
        answered(edited, decode(exchange.answer.produced_body()).get("id"))
    exchange.inject_failure(operator, "the answer was changed on its way", shown)
    return shown


def _edit(
    request: Request, errors: ProviderErrors, fault: _JudgedEdit, body: bytes, *, streamed: bool
) -> dict[str, Any] | None:
    """The edited answer. None where the edit doesn't apply, or fails on an answer that isn't as its protocol
    says: noise must never break traffic.
    """
    try:
        edited = errors.edit(decode(body), fault, request)
        if edited is not None and streamed:
            errors.write_stream(edited, request)
    except Exception as error:
        _log.warning("an answer can't be edited", fault=fault.edit_by.kind, error=repr(error))
        return None
    return edited
