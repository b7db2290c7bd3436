"""One request's way through the gateway: protocol, session, noise in, upstream, noise out, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from itertools import count
from secrets import token_hex
from typing import Any
from urllib.parse import unquote

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError, UpstreamError
from crosswind.gateway.http.auth import Authenticator, Caller
from crosswind.gateway.http.body import RequestBody, read_body
from crosswind.gateway.http.headers import VIA
from crosswind.gateway.http.request import JSON, ClientGone, HttpRequest
from crosswind.gateway.noise.limits import CAPPED, FaultsInFlight
from crosswind.gateway.noise.pipeline import Noise
from crosswind.gateway.noise_model.preparation import TextPreparation
from crosswind.gateway.protocols.codec import REQUEST_ID, Codec, api_roots
from crosswind.gateway.protocols.request import SplitBody
from crosswind.gateway.proxy.passthrough import PassThrough
from crosswind.gateway.proxy.provider_ownership import ProviderOwnership
from crosswind.gateway.proxy.relay import ResponseRelay
from crosswind.gateway.proxy.request_builder import RequestBuilder
from crosswind.gateway.proxy.response_sink import ResponseSink
from crosswind.gateway.proxy.routes import HEALTH, MCP, TOOLS, Entry, IncomingCall, read_known_claim
from crosswind.gateway.proxy.shared_calls import SharedCalls
from crosswind.gateway.proxy.short_circuit import ShortCircuit
from crosswind.gateway.proxy.tool_route import ToolRoutes
from crosswind.gateway.proxy.transparent import TransparentTurns
from crosswind.gateway.proxy.websockets import WebSockets
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.destroyed import Beginning
from crosswind.gateway.sessions.inference import SessionHints
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.sessions.turns import TurnRequest
from crosswind.gateway.telemetry.access import log_request
from crosswind.gateway.telemetry.logs import bind_log_context
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.gateway.upstreams.upstreams import Upstreams
from crosswind.injectors.faults import Resend, Wait

_log = structlog.get_logger("crosswind.proxy")

_numbers = count(1)
_MOST_MODELS, _LONGEST_MODEL = 16, 200
"""What is remembered for a client's head: a client may name any model."""
_DEFECT = "the gateway failed; see its log"
_STOPPING = "the gateway is stopping and can't wait for the upstream any longer; send the request again"


@dataclass(slots=True)
class Proxy:
    """The data plane: no model validation of traffic, one decode, at most one encode."""

    settings: Settings
    upstreams: Upstreams
    sessions: Sessions
    authenticator: Authenticator
    redactor: Redactor
    metrics: Metrics
    recording: Recording
    relay: ResponseRelay
    passthrough: PassThrough
    websockets: WebSockets
    short_circuit: ShortCircuit
    shared: SharedCalls
    in_flight: FaultsInFlight
    builder: RequestBuilder
    tools: ToolRoutes
    transparent: TransparentTurns | None = None
    """Where nothing is recorded."""
    ownership: ProviderOwnership | None = None
    """Where tenants share a provider's account."""
    preparation: TextPreparation | None = None
    """Where a language model writes noise."""

    async def serve(self, http: HttpRequest) -> None:
        """Answer a request."""
        template = http.head.template
        if template.offers_websocket and http.offers_websocket:
            return await self.websockets.serve(http)
        entry = template.entry
        if entry is None or entry.owner is not self:
            entry = template.entry = Entry.read(http, self)
        route = entry.route
        status: int | str | None = "gone"
        started = time.monotonic()
        logged = bind_log_context(request=next(_numbers))
        self.metrics.in_flight += 1
        try:
            if route.codec is not None:
                status = await self._turn(http, entry, route.codec, logged)
            else:
                status = await self._forward(http, entry)
        except ServiceError as error:
            status = error.status
            self.metrics.count_failure(error)
            error.message = self._mask(entry, error.message)
            await self._answer_error(http, route.shape, error)
        except ClientGone:
            _log.debug("the client went away", path=self._mask(entry, route.path or ""))
        except asyncio.CancelledError:
            # The server cuts the requests that last longer than its drain, and waits for this answer.
            if not http.gone:
                status = 503
                await self._answer_cut(http, route.shape)
        except Exception:
            status = 500
            _log.exception("a defect of the gateway", path=self._mask(entry, route.path or ""))
            defect = ServiceError(500, _DEFECT, kind="server_error", code="internal")
            await self._answer_error(http, route.shape, defect)
        finally:
            self.metrics.in_flight -= 1
            if status is not None:  # else another process answers
                self.metrics.count_request(entry.route.kind, str(status))
                if self.settings.log.access:
                    log_request("data", http.method, entry.route.kind, str(status), started)

    async def _forward(self, http: HttpRequest, entry: Entry) -> int | None:
        """Answer or forward what is no request to a model."""
        if entry.route.kind == HEALTH:
            await http.answer(200, b'{"status":"ok"}')
            return 200
        if entry.route.kind in (MCP, TOOLS):
            return await self.tools.serve(http, entry, self._admit)
        return await self.passthrough.forward(http, entry.route, self._admit(http, entry))

    async def _answer_cut(self, http: HttpRequest, shape: Codec | None) -> None:
        """Answer a request that is cut. An answer that has begun ends early, so that its client sees it."""
        if http.started:
            return http.cut()
        cut = ServiceError(503, _STOPPING, kind="server_error", code="stopping")
        self.metrics.count_failure(cut)
        await self._answer_error(http, shape, cut)

    def _mask(self, entry: Entry, text: str) -> str:
        """A text without secrets, the request's own credentials among them."""
        return self.redactor.of_turn(entry.secrets).mask_name(text)

    def _admit(self, http: HttpRequest, entry: Entry) -> Caller:
        """The caller. ServiceError where the request isn't let in."""
        if entry.caller is None:
            if entry.route.path is None:
                roots = ", ".join(sorted(api_roots()))
                path = unquote(http.raw_path.decode("latin-1"))
                raise ServiceError(404, f"no route {path!r}; the API is under {roots}", code="not_found")
            first = http.first
            self.upstreams.refuse_own(first.get(VIA))
            entry.caller = self.authenticator.identify(first, http.query.decode("latin-1"))
        return entry.caller

    async def _turn(self, http: HttpRequest, entry: Entry, codec: Codec, logged: dict[str, Any]) -> int:
        """Read the body, find its session, and make the turn. `logged`: what its log lines say of it."""
        route, caller = entry.route, entry.caller or self._admit(http, entry)
        claim = read_known_claim(http, entry, caller, self.settings)
        if (raw := http.take_whole(self.settings.limits.body)) is not None:
            body = RequestBody(raw, raw)
        else:
            in_use = partial(self.sessions.is_in_use, claim)
            body = await read_body(http, self.settings.limits.body, in_use)
        named = claim.session_id is not None or caller.session_key is not None
        split = None
        if not (named and self.transparent is not None and self.upstreams.ignore_model(codec.name)):
            split = codec.split(body.body, self.sessions.reader(claim, codec), route.parameters)
            if split is None or not (split.converses or named):
                return await self._pass_on(http, entry, caller, body, readable=split is not None)
        model = None if split is None else split.model
        upstream = entry.upstreams.get(model) or self._choose_upstream(entry, codec, model)
        call = IncomingCall(http, entry, codec, caller, upstream, body)
        beginning = None
        session = self.sessions.find_live(claim)
        if session is None:
            hints = SessionHints() if named or split is None else call.hints(split)
            session, beginning = await self.sessions.find_or_open(claim, hints)
        logged["session"] = session.record.id
        if self.ownership is not None:
            await self.ownership.check_request(body, session.record.tenant or "")
        session.busy += 1
        try:
            if self.transparent is not None and self.transparent.applies(call, session, model):
                return await self.transparent.forward(call, session)
            split = split or codec.split(body.body, session.readers.get(codec.name), route.parameters)
            if split is None:
                return await self._pass_on(http, entry, caller, body, readable=False)
            made = await self._prepare(call, session, split, beginning)
            return made if isinstance(made, int) else await self._exchange(call, *made, http)
        finally:
            self.sessions.release(session)

    def _choose_upstream(self, entry: Entry, codec: Codec, model: str | None) -> Upstream:
        upstream = self.upstreams.choose(codec.name, model)
        if len(entry.upstreams) < _MOST_MODELS and len(model or "") <= _LONGEST_MODEL:
            entry.upstreams[model] = upstream
        return upstream

    async def _pass_on(
        self, http: HttpRequest, entry: Entry, caller: Caller, body: RequestBody, *, readable: bool
    ) -> int:
        """Forward what is no turn as it came."""
        if not readable:
            _log.warning(
                "a request can't be read: it is forwarded as it came",
                protocol=entry.route.kind,
                bytes=len(body.raw),
            )
        return await self.passthrough.forward(http, entry.route, caller, body)

    async def _prepare(
        self, call: IncomingCall, session: LiveSession, split: SplitBody, beginning: Beginning | None
    ) -> tuple[Exchange, bytes] | int:
        """Find the turn's place, and build its exchange and the body to send. The status, where it was shared
        with a retry and is over.
        """
        http, codec = call.http, call.codec
        redactor = self.redactor.of_turn(call.entry.secrets, session.remains)
        certain = True
        if split.held_by is not None or split.refers:
            certain = await self.sessions.histories.restore(session, codec, split)
        request = codec.read(split, session.reader(codec), redactor.mask)
        request.certain = certain
        digest = request.digest()
        key, retry, named = (session.record.id, digest), call.entry.counted_retry, call.entry.idempotency_key
        joins = retry or (named is not None and session.turns.is_repeat(named, digest))
        if joins and (shared := self.shared.find(key)) is not None:
            http.cancel_when_gone()
            return await self.shared.join(key, shared, http)
        retry = retry or (beginning is not None and beginning.retried is not None)
        turn = TurnRequest(request.chain, digest, retry, request.previous_response, named)
        alone = not self.sessions.shared
        place = session.turns.place(turn) if alone else await self.sessions.place(session, turn)
        noise = Noise()
        if session.plan.rules:
            noise = await self.builder.add_noise(call, session, request, place, redactor)
        exchange, body = self.builder.write(call, session, request, place, redactor, noise)
        if beginning is not None:
            exchange.begin(beginning)
        http.cancel_when_gone()
        if self.preparation is not None:
            self.preparation.look_ahead_of_message(exchange)
        if request.stream or not session.training or not self.shared.grace_s:
            return exchange, body
        return await self.shared.start(
            key,
            http,
            partial(self._exchange_shared, call, exchange, body),
            partial(self.recording.record_late_delivery, exchange),
        )

    async def _exchange_shared(
        self, call: IncomingCall, exchange: Exchange, body: bytes, sink: ResponseSink
    ) -> int:
        exchange.session.busy += 1
        try:
            return await self._exchange(call, exchange, body, sink)
        finally:
            self.sessions.release(exchange.session)

    async def _exchange(self, call: IncomingCall, exchange: Exchange, body: bytes, sink: ResponseSink) -> int:
        """Send the request, relay the answer, and record the turn."""
        noise = exchange.noise
        faulty = bool(noise.faults.injected) and self._admit_faults(noise)
        try:
            try:
                if faulty and (status := await self.short_circuit.answer(sink, exchange)) is not None:
                    return status
                answer = await self._send(call, exchange, body)
                again = exchange.captured and await self.builder.build_without_capture(call, exchange, answer)
                if again:
                    exchange, body = again
                    answer = await self._send(call, exchange, body)
                try:
                    if faulty:
                        await self._hold_back(exchange)
                    await self.relay.relay(sink, exchange, answer, partial(self._send, call, exchange))
                    if self.preparation is not None:
                        self.preparation.look_ahead_of_results(exchange)
                    return answer.status
                finally:
                    answer.close()
            except UpstreamError as error:
                return await self._answer_upstream_failure(sink, exchange, error)
        except asyncio.CancelledError:
            await self.recording.record_abandoned(exchange, gone=call.http.gone)
            if not call.http.gone:
                raise
            raise ClientGone from None
        except Exception:
            self.recording.record_defect(exchange)
            raise
        finally:
            if exchange.noise.events or exchange.noise.withheld:
                self.builder.withheld.count(exchange.noise, exchange.redactor)
            if faulty:
                self.in_flight.end()

    def _admit_faults(self, noise: Noise) -> bool:
        """Whether the faults may act: not too many exchanges with faults are in flight."""
        if not self.in_flight.admit():
            noise.withhold_faults(CAPPED)
        return bool(noise.faults.injected)

    async def _hold_back(self, exchange: Exchange) -> None:
        """Wait as long as faults delay the answer, which has begun."""
        for operator, action in exchange.noise.faults.before_answer():
            if isinstance(action, Wait):
                exchange.noise.acted.add(operator)
                await asyncio.sleep(action.seconds)

    async def _send(self, call: IncomingCall, exchange: Exchange, body: bytes) -> UpstreamResponse:
        upstream, faults = call.upstream, exchange.noise.faults
        plain = exchange.edited or bool(faults.injected and faults.on_answer)
        outgoing = call.write(body, plain=plain)
        exchange.mark_sent()
        for operator, action in faults.before_request() if faults.injected else ():
            if isinstance(action, Resend):
                exchange.noise.acted.add(operator)
                (await upstream.send(outgoing, exchange.session.record.id)).close()
        answer = await upstream.send(outgoing, exchange.session.record.id)
        upstream.note_refusal(answer.status, call.caller)
        exchange.mark_answered(answer.status, answer.replica, answer.attempts)
        return answer

    async def _answer_upstream_failure(
        self, sink: ResponseSink, exchange: Exchange, error: UpstreamError
    ) -> int:
        """Record that the upstream gave no answer, and answer with an error in the protocol's shape."""
        self.metrics.count_failure(error)
        exchange.fail(Source.UPSTREAM, error.code, error.message, error.attempts)
        exchange.noise.withhold_rest("the upstream gave no answer")
        settled = await self.recording.settle(exchange)
        error.message = exchange.redactor.mask_name(error.message)
        await self._answer_error(sink, exchange.codec, error)
        self.recording.record_delivery(exchange, settled, delivered=not sink.broken)
        return error.status

    async def _answer_error(self, sink: ResponseSink, shape: Codec | None, error: ServiceError) -> None:
        if not sink.started:
            request_id = f"req_{token_hex(12)}"
            _log.info(
                "answered with an error",
                status=error.status,
                error_code=error.code,
                error=error.message,
                request_id=request_id,
            )
            marker = [(b"x-crosswind-error", error.code.encode())] if self.settings.markers else []
            name = shape.request_id_header if shape else REQUEST_ID
            body = shape.error_body(error) if shape else error.body()
            await sink.answer(
                error.status, body, [*JSON, (name, request_id.encode()), *marker, *error.headers]
            )


class DataPlane:
    """Serves requests with a proxy that can be exchanged for one of another configuration; requests in flight
    stay with the proxy that took them.
    """

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    def serve(self, http: HttpRequest) -> Coroutine[Any, Any, None]:
        return self.proxy.serve(http)
