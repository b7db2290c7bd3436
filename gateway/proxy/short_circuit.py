"""Requests that noise answers, or leaves without an answer: no upstream is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.asgi import JSON
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.provider_errors import AnswerForms
from crosswind.gateway.proxy.client_link import Outlet
from crosswind.gateway.trajectory.record import Delivered
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.recording import Recording

CUT = 0
"""The status of a request whose connection was cut."""
_SSE: Headers = [(b"content-type", b"text/event-stream; charset=utf-8")]


@dataclass(frozen=True, slots=True)
class Refusing:
    """Carries out the faults that come before an upstream is asked."""

    recording: Recording
    markers: bool = False
    """Whether an injected error says in a header that it is one."""

    async def refused(self, outlet: Outlet, exchange: Exchange) -> int | None:
        """The status that was answered in the upstream's place; None where it is to be asked."""
        faults, forms = exchange.noise.faults, exchange.codec.forms
        await faults.wait("request")
        if (hang := faults.find("request", "hang")) is not None:
            await asyncio.sleep(hang.number("hang_ms") / 1000.0)
            return await self._cut(outlet, exchange, hang)
        if (reset := faults.find("request", "reset")) is not None:
            return await self._cut(outlet, exchange, reset, reset=True)
        if (status := faults.find("request", "status")) is not None:
            return await self._error(outlet, exchange, status, _broken(int(status.number("status"))))
        if (instead := faults.instead()) is not None and forms is not None:
            if "error" in instead.settings:
                return await self._error(outlet, exchange, instead, forms.refusal(instead))
            return await self._blank(outlet, exchange, instead, forms)
        return None

    async def _cut(self, outlet: Outlet, exchange: Exchange, fault: Fault, *, reset: bool = False) -> int:
        exchange.inject_failure(fault.operator, "the connection was closed")
        settled = await self.recording.settle(exchange)
        outlet.cut(reset=reset)
        self.recording.record_delivery(exchange, settled, Delivered.NO)
        return CUT

    async def _error(self, outlet: Outlet, exchange: Exchange, fault: Fault, error: ServiceError) -> int:
        exchange.inject_failure(fault.operator, error.message)
        settled = await self.recording.settle(exchange)
        await outlet.answer(
            error.status, exchange.codec.error(error), [*JSON, *error.headers, *self._marker(fault)]
        )
        self.recording.record_delivery(exchange, settled, Delivered.YES)
        return error.status

    def _marker(self, fault: Fault) -> Headers:
        return [(b"x-crosswind-injected", fault.operator.encode())] if self.markers else []

    async def _blank(
        self, outlet: Outlet, exchange: Exchange, fault: Fault, forms: AnswerForms
    ) -> int | None:
        answer = forms.blank(exchange.request, str(fault.settings["answer"]))
        if answer is None:
            exchange.noise.withdraw(fault.operator, "the client may go on from what the upstream holds")
            return None
        shown = encode(answer)
        exchange.inject_failure(fault.operator, "answered without content", shown)
        settled = await self.recording.settle(exchange)
        if exchange.request.stream:
            await outlet.start(200, _SSE)
            await outlet.end(forms.events(answer, exchange.request))
        else:
            await outlet.answer(200, shown, JSON)
        self.recording.record_delivery(exchange, settled, Delivered.YES)
        return 200


def _broken(status: int) -> ServiceError:
    """An error as a proxy or a provider on the way gives it."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    return ServiceError(status, phrase, kind="server_error", code=phrase.lower().replace(" ", "_"))
