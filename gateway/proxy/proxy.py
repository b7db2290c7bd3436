"""The heart: one request's way. Protocol, session, noise in, upstream, noise out, protocol, record."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from itertools import count

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError, UpstreamError
from crosswind.gateway.http.asgi import JSON, ClientGone, Http, Message, Receive, Send
from crosswind.gateway.http.auth import Authenticator, Caller
from crosswind.gateway.http.body import posted
from crosswind.gateway.noise.limits import CAPPED, FaultsInFlight
from crosswind.gateway.noise_model.preparation import Preparing
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import SplitBody
from crosswind.gateway.proxy import token_fallback as tokenless
from crosswind.gateway.proxy.call import Call
from crosswind.gateway.proxy.client_link import Outlet, delivered_by
from crosswind.gateway.proxy.decisions import Deciding
from crosswind.gateway.proxy.outgoing import Composing
from crosswind.gateway.proxy.passthrough import PassThrough
from crosswind.gateway.proxy.relay import Answering
from crosswind.gateway.proxy.retries import Flights
from crosswind.gateway.proxy.routes import HEALTH, Route, claim_of, route_of
from crosswind.gateway.proxy.short_circuit import Refusing
from crosswind.gateway.proxy.websockets import WebSockets
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.inference import Traces
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.sessions.turns import Asked
from crosswind.gateway.telemetry.logs import say_also, say_with_all
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.upstreams.answer import Answer
from crosswind.gateway.upstreams.request import Outgoing
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.proxy")

_numbers = count(1)
_DEFECT = "the gateway failed; see its log"


@dataclass(slots=True)
class Proxy:
    """The data plane, as raw ASGI: no model validation of traffic, one decode, at most one encode."""

    settings: Settings
    upstreams: Upstreams
    sessions: Sessions
    authenticator: Authenticator
    redactor: Redactor
    metrics: Metrics
    recording: Recording
    answering: Answering
    passing: PassThrough
    websockets: WebSockets
    refusing: Refusing
    flights: Flights
    in_flight: FaultsInFlight
    deciding: Deciding
    composing: Composing
    preparing: Preparing | None = None
    """Where a language model writes noise."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await self.websockets(scope, receive, send)
        http = Http(scope, receive, send)
        route = route_of(http)
        status = "gone"
        say_with_all(request=next(_numbers))
        self.metrics.in_flight.inc()
        try:
            status = str(await self._serve(http, route))
        except ServiceError as error:
            status = str(error.status)
            await self._answer_error(http, route.shape, error)
        except ClientGone:
            _log.debug("the client went away", path=route.path)
        except Exception:
            status = "500"
            _log.exception("a defect of the gateway's", path=route.path)
            defect = ServiceError(500, _DEFECT, kind="server_error", code="internal")
            await self._answer_error(http, route.shape, defect)
        finally:
            http.stop_watching()
            self.metrics.in_flight.dec()
            self.metrics.answered(route.kind, status)

    async def _serve(self, http: Http, route: Route) -> int:
        if route.kind == HEALTH:
            await http.answer(200, b'{"status":"ok"}')
            return 200
        if route.path is None:
            raise ServiceError(
                404, f"no route {http.raw_path.decode('latin-1')!r}; the API is under /v1", code="not_found"
            )
        if http.head_bytes > self.settings.limits.header:
            raise ServiceError(
                431, "the request's headers are too large; raise limits.header", code="headers_too_large"
            )
        caller = self.authenticator.identify(http.first, http.query.decode("latin-1"))
        if route.codec is not None:
            return await self._turn(http, route, route.codec, caller)
        return await self.passing.forward(http, route, caller)

    async def _turn(self, http: Http, route: Route, codec: Codec, caller: Caller) -> int:
        """Protocol and session: read the body, and find whose it is."""
        body = await posted(http, self.settings.limits.body)
        claim = claim_of(http, route, caller, self.settings)
        split = codec.split(body.body, self.sessions.reader(claim, codec))
        if split is None:
            said = "a request can't be read: it is forwarded as it came"
            _log.warning(said, protocol=codec.name, bytes=len(body.raw))
            return await self.passing.forward(http, route, caller, body.raw)
        named = claim.session_id is not None or caller.session_key is not None
        if not split.converses and not named:
            return await self.passing.forward(http, route, caller, body.raw)
        call = Call(http, route, codec, caller, self.upstreams.choose(codec.name, split.model), body)
        traces = Traces() if named else call.traces(split)
        session = await self.sessions.find(claim, traces)
        say_also("session", session.record.id)
        session.busy += 1
        try:
            return await self._converse(call, session, split)
        finally:
            self.sessions.left(session)

    async def _converse(self, call: Call, session: LiveSession, split: SplitBody) -> int:
        """One turn: its place, then the exchange, which a retry may join."""
        http, codec = call.http, call.codec
        redactor = self.redactor.of_caller(call.caller.credential)
        certain = await self.sessions.recalling.recall(session, codec, split)
        request = codec.read(split, session.reader(codec), redactor.mask)
        request.certain = certain
        digest = request.digest()
        key, retry = (session.record.id, digest), call.counted_retry
        joins = retry or session.turns.repeated(call.idempotency_key, digest)
        if joins and (flight := self.flights.joinable(key)) is not None:
            http.cancel_when_gone()
            return await self.flights.join(key, flight, http)
        asked = Asked(request.chain, digest, retry, request.after, call.idempotency_key)
        place = await self.sessions.place(session, asked)
        noise = await self.deciding.noise(call, session, request, place, redactor)
        http.cancel_when_gone()
        exchange, body = self.composing.composed(call, session, request, place, redactor, noise)
        if self.preparing is not None:
            self.preparing.decided(exchange)
        if request.stream or not session.training or not self.flights.grace_s:
            return await self._exchanged(call, exchange, body, http)
        return await self.flights.fly(
            key,
            http,
            partial(self._flown, call, exchange, body),
            partial(self.recording.delivered_late, exchange),
        )

    async def _flown(self, call: Call, exchange: Exchange, body: bytes, outlet: Outlet) -> int:
        """The exchange of a call that may outlive its request."""
        exchange.session.busy += 1
        try:
            return await self._exchanged(call, exchange, body, outlet)
        finally:
            self.sessions.left(exchange.session)

    async def _exchanged(self, call: Call, exchange: Exchange, body: bytes, outlet: Outlet) -> int:
        """Upstream, and the way back, on which the turn is recorded."""
        noise = exchange.noise
        if noise.faults and not self.in_flight.admit():
            noise.withhold_faults(CAPPED)
        faulty = bool(noise.faults)
        try:
            if (status := await self.refusing.refused(outlet, exchange)) is not None:
                return status
            answer = await self._send(call, exchange, body)
            if await tokenless.refused(answer, exchange, call.upstream):
                exchange, body = self.composing.unasked(call, exchange)
                answer = await self._send(call, exchange, body)
            try:
                await exchange.noise.faults.wait("response")
                again = partial(self._send, call, exchange)
                status = await self.answering.relay(outlet, exchange, answer, again)
                if self.preparing is not None:
                    self.preparing.answered(exchange)
                return status
            finally:
                answer.close()
        except UpstreamError as error:
            return await self._upstream_failed(outlet, exchange, error)
        except asyncio.CancelledError:
            self.recording.abandoned(exchange, gone=call.http.gone)
            if not call.http.gone:
                raise
            raise ClientGone from None
        except Exception:
            self.recording.broken(exchange)
            raise
        finally:
            if faulty:
                self.in_flight.over()

    async def _send(self, call: Call, exchange: Exchange, body: bytes) -> Answer:
        http, upstream = call.http, call.upstream
        faults = exchange.noise.faults
        body, changes = call.posted.sent(body)
        if exchange.edited or faults.on_the_way_back:
            changes[b"accept-encoding"] = b"identity"
        outgoing = Outgoing(
            "POST",
            upstream.path(str(call.route.path), http.query.decode("latin-1"), call.caller),
            upstream.headers(http.headers, call.caller, changes),
            body,
        )
        exchange.queue_us = exchange.elapsed_us()
        if (twice := faults.find("request", "duplicate")) is not None:
            for _ in range(1, int(twice.number("times"))):
                (await upstream.send(outgoing, exchange.session.record.id)).close()
        answer = await upstream.send(outgoing, exchange.session.record.id)
        exchange.attempts += answer.attempts
        exchange.replicas.add(answer.replica)
        exchange.upstream_status = answer.status
        return answer

    async def _upstream_failed(self, outlet: Outlet, exchange: Exchange, error: UpstreamError) -> int:
        """The upstream gave no answer: recorded as its failure, told in the protocol's shape."""
        self.metrics.upstream_errors.labels(error.code).inc()
        exchange.failed(Source.UPSTREAM, error.code, error.message)
        exchange.attempts += error.attempts
        settled = await self.recording.settle(exchange)
        await self._answer_error(outlet, exchange.codec, error)
        self.recording.released(exchange, settled, delivered_by(outlet))
        return error.status

    async def _answer_error(self, outlet: Outlet, shape: Codec | None, error: ServiceError) -> None:
        if not outlet.started:
            _log.info("answered with an error", status=error.status, code=error.code, error=error.message)
            marker = [(b"x-crosswind-error", error.code.encode())] if self.settings.markers else []
            body = shape.error(error) if shape else error.body()
            await outlet.answer(error.status, body, [*JSON, *marker])
