"""Faults that short-circuit the request before it reaches the upstream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.http.request import JSON
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.provider_errors import ProviderErrors, status_phrase
from crosswind.gateway.proxy.response_sink import ResponseSink
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.recording import Recording
from crosswind.injectors.faults import BlankAnswer, Close, ProviderRefusal, Reply, Wait

CUT = 0
"""The status of a request whose connection was cut."""
_SSE: Headers = [(b"content-type", b"text/event-stream; charset=utf-8")]


@dataclass(frozen=True, slots=True)
class ShortCircuit:
    """Carries out the faults that act before the upstream is asked, or in its place."""

    recording: Recording
    markers: bool = False
    """Whether an injected error says in a header that it is one."""

    async def answer(self, sink: ResponseSink, exchange: Exchange) -> int | None:
        """The status that was answered in the upstream's place; None where it is to be asked."""
        for operator, action in exchange.noise.faults.before_request():
            match action:
                case Wait(seconds):
                    exchange.noise.acted.add(operator)
                    await asyncio.sleep(seconds)
                case Close(how):
                    return await self._close(sink, exchange, operator, reset=how == "reset")
                case Reply():
                    return await self._reply(sink, exchange, operator, action)
        return await self._answer_as_provider(sink, exchange)

    async def _answer_as_provider(self, sink: ResponseSink, exchange: Exchange) -> int | None:
        faults, errors = exchange.noise.faults, exchange.codec.provider_errors
        if errors is None:
            return None
        if (refusal := faults.first(ProviderRefusal)) is not None:
            return await self._refuse(sink, exchange, refusal[0], errors.word_refusal(refusal[1]))
        if (blank := faults.first(BlankAnswer)) is not None:
            return await self._answer_blank(sink, exchange, *blank, errors)
        return None

    async def _close(self, sink: ResponseSink, exchange: Exchange, operator: str, *, reset: bool) -> int:
        async with self._recorded(exchange, operator, "the connection was closed", delivered=False):
            sink.cut(reset=reset)
        return CUT

    async def _reply(self, sink: ResponseSink, exchange: Exchange, operator: str, reply: Reply) -> int:
        phrase = status_phrase(reply.status)
        if reply.body is None:
            code = phrase.lower().replace(" ", "_")
            error = ServiceError(reply.status, phrase, kind="server_error", code=code)
            return await self._refuse(sink, exchange, operator, error)
        headers = [(b"content-type", reply.content_type.encode()), *self._marker(operator)]
        async with self._recorded(exchange, operator, phrase):
            await sink.answer(reply.status, reply.body, headers)
        return reply.status

    async def _refuse(
        self, sink: ResponseSink, exchange: Exchange, operator: str, error: ServiceError
    ) -> int:
        headers = [*JSON, *error.headers, *self._marker(operator)]
        async with self._recorded(exchange, operator, error.message):
            await sink.answer(error.status, exchange.codec.error_body(error), headers)
        return error.status

    def _marker(self, operator: str) -> Headers:
        return [(b"x-crosswind-injected", operator.encode())] if self.markers else []

    async def _answer_blank(
        self,
        sink: ResponseSink,
        exchange: Exchange,
        operator: str,
        fault: BlankAnswer,
        errors: ProviderErrors,
    ) -> int | None:
        answer = errors.make_blank(exchange.request, fault.answer)
        if answer is None:
            exchange.noise.withhold(operator, "the client may go on from what the upstream holds")
            return None
        shown = encode(answer)
        async with self._recorded(exchange, operator, "answered without content", shown=shown):
            if exchange.request.stream:
                await sink.start(200, _SSE)
                await sink.end(errors.write_stream(answer, exchange.request))
            else:
                await sink.answer(200, shown, JSON)
        return 200

    @asynccontextmanager
    async def _recorded(
        self,
        exchange: Exchange,
        operator: str,
        message: str,
        *,
        delivered: bool = True,
        shown: bytes | None = None,
    ) -> AsyncIterator[None]:
        """Record the turn before its answer is sent, and the delivery after."""
        exchange.noise.acted.add(operator)
        exchange.noise.withhold_rest("another fault had ended the exchange")
        exchange.inject_failure(operator, message, shown)
        settled = await self.recording.settle(exchange)
        yield
        self.recording.record_delivery(exchange, settled, delivered=delivered)
