"""The heart: one request's way. Protocol, session, noise in, upstream, noise out, protocol, record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars

from gateway import faults
from gateway.asgi import ClientGone, Http, Message, Receive, Send
from gateway.auth import Authenticator, Caller
from gateway.config import Durability, Settings
from gateway.errors import ServiceError, UpstreamError
from gateway.exchange import Exchange
from gateway.metrics import Metrics
from gateway.noise import Circumstances, noise_in
from gateway.protocols.chat import ChatBody, ChatRequest, capture_edits, read_request, split_body
from gateway.protocols.chat_answer import ChatAnswer
from gateway.recorder import Recorder, Ticket
from gateway.redaction import Redactor
from gateway.routes import CHAT, HEALTH, Route, claim_of, route_of
from gateway.safety import KillSwitch
from gateway.sessions import LiveSession, Sessions, now_us
from gateway.sse import READABLE_ENCODINGS, Inflater
from gateway.streaming import StreamRelay
from gateway.trajectory.content import content_key
from gateway.trajectory.record import Delivered, Delivery, Durable, Row, Turn
from gateway.upstream import Answer, Headers, Upstream, end_to_end, forwarded

_log = structlog.get_logger("crosswind.proxy")

_numbers = count(1)
_DEFECT = "the gateway failed; see its log"


@dataclass(slots=True)
class Proxy:
    """The data plane, as raw ASGI: no model validation of traffic, one decode, at most one encode."""

    settings: Settings
    upstream: Upstream
    sessions: Sessions
    authenticator: Authenticator
    recorder: Recorder
    switch: KillSwitch
    redactor: Redactor
    metrics: Metrics

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await _refuse(scope, send)
        http = Http(scope, receive, send)
        route = route_of(http)
        status = "gone"
        bind_contextvars(request=next(_numbers))
        self.metrics.in_flight.inc()
        try:
            status = str(await self._serve(http, route))
        except ServiceError as error:
            status = str(error.status)
            await self._answer_error(http, error)
        except ClientGone:
            _log.debug("the client went away", path=route.path)
        except Exception:
            status = "500"
            _log.exception("a defect of the gateway's", path=route.path)
            await self._answer_error(http, ServiceError(500, _DEFECT, kind="server_error", code="internal"))
        finally:
            http.stop_watching()
            self.metrics.in_flight.dec()
            self.metrics.requests.labels(route.kind, status).inc()

    async def _serve(self, http: Http, route: Route) -> int:
        if route.kind == HEALTH:
            await http.answer(200, b'{"status":"ok"}')
            return 200
        if route.path is None:
            raise ServiceError(
                404, f"no route {http.raw_path.decode('latin-1')!r}; the API is under /v1", code="not_found"
            )
        if sum(len(name) + len(value) for name, value in http.headers) > self.settings.limits.header:
            raise ServiceError(
                431, "the request's headers are too large; raise limits.header", code="headers_too_large"
            )
        caller = self.authenticator.identify(http.headers)
        if route.kind == CHAT:
            return await self._chat(http, route, caller)
        return await self._pass_through(http, route, caller, http.chunks())

    # ---- chat completions -------------------------------------------------------------------

    async def _chat(self, http: Http, route: Route, caller: Caller) -> int:
        body = await http.body(self.settings.limits.body)
        chat = split_body(body)
        claim = claim_of(http, route, caller, self.settings)
        if chat is None:
            _log.warning(
                "a chat request can't be read: it is forwarded as it came",
                session=claim.session_id,
                bytes=len(body),
            )
            return await self._pass_through(http, route, caller, body)
        session = await self.sessions.find(
            claim, first_user_turn="" if claim.session_id else chat.first_user_turn()
        )
        session.busy += 1
        bind_contextvars(session=session.record.id)
        try:
            return await self._converse(http, route, caller, session, chat)
        finally:
            session.busy -= 1

    async def _converse(
        self, http: Http, route: Route, caller: Caller, session: LiveSession, chat: ChatBody
    ) -> int:
        """One turn of a session, from the request that was read to the answer that was released."""
        http.cancel_when_gone()
        redactor = self.redactor.of_caller(caller.credential)
        request = read_request(chat, session.histories, session.tools, redactor.mask)
        exchange, body = self._prepare(http, session, request, redactor)
        try:
            await faults.wait(exchange.noise.transport, "request")
            answer = await self._send(http, route, caller, exchange, body)
            try:
                await faults.wait(exchange.noise.transport, "response")
                return await self._return(http, exchange, answer)
            finally:
                answer.close()
        except UpstreamError as error:
            return await self._upstream_failed(http, exchange, error)
        except asyncio.CancelledError:
            self._abandoned(http, exchange)
            if not http.gone:
                raise
            raise ClientGone from None

    def _prepare(
        self, http: Http, session: LiveSession, request: ChatRequest, redactor: Redactor
    ) -> tuple[Exchange, bytes]:
        """Place the turn, decide its noise and capture, and write both into the body to send."""
        raw = request.document.body
        retries = http.header(b"x-stainless-retry-count") or "0"
        place = session.turns.place(
            request.chain, content_key(raw), retry=retries.isdigit() and int(retries) > 0
        )
        noise = noise_in(
            session,
            request.conversation,
            place,
            Circumstances(
                enabled=self.switch.enabled,
                allow_new=not (self.settings.steering and http.header(b"x-crosswind-noise") == "off"),
                streaming=request.stream,
                now_us=now_us(),
            ),
            redactor,
        )
        captured = self._captures(session)
        edits, neutralised = capture_edits(request, training=session.training) if captured else ({}, ())
        if neutralised:
            _log.info(
                "sampling knobs neutralised", session=session.record.id, turn=place.index, knobs=neutralised
            )
        received = request.received(redactor.mask)
        body, sent = raw, received
        if noise.replacements or edits:
            body, sent = request.rewritten(noise.replacements, edits, redactor.mask)
        exchange = Exchange(
            session=session,
            request=request,
            place=place,
            noise=noise,
            received=received,
            sent=sent,
            answer=ChatAnswer(choices=request.choices, captured=captured, asked=request.asked),
            captured=captured,
            redactor=redactor,
        )
        return exchange, body

    def _captures(self, session: LiveSession) -> bool:
        mode = self.settings.capture
        return mode == "on" or (mode == "auto" and (self.settings.token_ids or session.training))

    async def _send(
        self, http: Http, route: Route, caller: Caller, exchange: Exchange, body: bytes
    ) -> Answer:
        changes = self.authenticator.upstream_headers(caller) | _readable(http, exchange.captured)
        changes[b"content-length"] = str(len(body)).encode()
        exchange.queue_us = exchange.elapsed_us()
        answer = await self.upstream.send("POST", _path(http, route), forwarded(http.headers, changes), body)
        exchange.upstream_status = answer.status
        return answer

    async def _return(self, http: Http, exchange: Exchange, answer: Answer) -> int:
        if answer.status >= 400:
            exchange.failed("upstream", f"status_{answer.status}", "the upstream answered with an error")
        if answer.header("content-type").startswith("text/event-stream"):
            await self._relay_stream(http, exchange, answer)
        else:
            await self._relay_plain(http, exchange, answer)
        return answer.status

    async def _relay_plain(self, http: Http, exchange: Exchange, answer: Answer) -> None:
        """A plain body is released once its turn is durable: its last byte is what clients act on."""
        raw = await answer.body()
        exchange.first_token_us = exchange.elapsed_us() - (exchange.queue_us or 0)
        inflated = Inflater(answer.header("content-encoding")).feed(raw)
        read = exchange.answer.read_body(inflated)
        body = read if exchange.captured else raw
        turn, ticket = self._record(exchange)
        durable = await self._durable(ticket)
        headers = _answer_headers(answer, edited=exchange.captured, keep_length=False)
        await http.start(answer.status, [*headers, (b"content-length", str(len(body)).encode())])
        await http.end(body)
        self._released(exchange, turn, durable, Delivered.YES)

    async def _relay_stream(self, http: Http, exchange: Exchange, answer: Answer) -> None:
        """Event by event; the completing event is held until its turn is durable, and released with what
        follows.
        """
        relay = StreamRelay(
            exchange.answer,
            captured=exchange.captured,
            encoding=answer.header("content-encoding"),
            durability=self.settings.durability,
            limit=self.settings.limits.event,
            patience_s=self.settings.timeouts.after_completion,
        )
        await http.start(answer.status, _answer_headers(answer, edited=exchange.captured, keep_length=True))
        settled: tuple[Turn, Durable] | None = None
        cut: UpstreamError | None = None
        try:
            async for chunk in answer.chunks(idle_s=relay.patience_s):
                if exchange.first_token_us is None:
                    exchange.first_token_us = exchange.elapsed_us() - (exchange.queue_us or 0)
                await http.chunk(relay.feed(chunk))
                if relay.settles(idle=not chunk) and settled is None:
                    settled = await self._settle(http, exchange, relay)
        except UpstreamError as error:
            cut = error
            self.metrics.upstream_errors.labels(error.code).inc()
            exchange.failed("upstream", error.code, error.message)
        await http.chunk(relay.finish())
        turn, durable = settled or await self._settle(http, exchange, relay)
        if cut is None:
            await http.end()
        else:
            # No end is sent, so the server cuts the connection, as the client would have seen it directly.
            _log.warning(
                "the upstream broke off a stream", session=turn.session_id, turn=turn.index, error=cut.message
            )
        self._released(exchange, turn, durable, Delivered.YES if cut is None else Delivered.NO)

    async def _settle(self, http: Http, exchange: Exchange, relay: StreamRelay) -> tuple[Turn, Durable]:
        """Record the turn, wait for it to be durable, and release what was held."""
        if exchange.answer.error is not None:
            exchange.failed("upstream", "error_in_stream", str(exchange.answer.error.get("message", "")))
        turn, ticket = self._record(exchange)
        durable = await self._durable(ticket)
        await http.chunk(relay.release())
        return turn, durable

    # ---- what is recorded -------------------------------------------------------------------

    def _record(self, exchange: Exchange) -> tuple[Turn, Ticket]:
        """Submit the turn with its events and ledger rows, and the session's row with its first turn."""
        relaxed = self.settings.durability is Durability.RELAXED
        turn = exchange.turn(Durable.LATE if relaxed else Durable.YES)
        rows: list[Row] = [*exchange.noise.rows, turn, *exchange.noise.events]
        if exchange.session.unwritten:
            exchange.session.unwritten = False
            rows.insert(0, exchange.session.record)
        exchange.recorded = True
        self.metrics.recorded(turn, exchange.noise.events)
        _log.debug(
            "turn",
            session=turn.session_id,
            turn=turn.index,
            status=turn.upstream_status,
            fitness=turn.fitness,
        )
        return turn, self.recorder.submit(rows)

    async def _durable(self, ticket: Ticket) -> Durable:
        if self.settings.durability is Durability.RELAXED:
            return Durable.YES
        return await self.recorder.durable(ticket)

    def _released(self, exchange: Exchange, turn: Turn, durable: Durable, delivered: Delivered) -> None:
        """The second row of a turn: what became of it after it was released."""
        self.metrics.released(durable, exchange.elapsed_us() / 1e6)
        if durable is not Durable.YES:
            # Its rows may not be in the store yet, so the session must not be read back from there.
            exchange.session.busy += 1
            exchange.session.unwritten |= durable is Durable.LOST
            _log.warning(
                "released before it was durable",
                session=turn.session_id,
                turn=turn.index,
                durable=durable.value,
            )
        self.recorder.offer(
            [
                Delivery(
                    session_id=turn.session_id,
                    turn_index=turn.index,
                    attempt=turn.attempt,
                    delivered=delivered,
                    durable=None if durable is Durable.YES else durable,
                    total_us=exchange.elapsed_us(),
                )
            ]
        )

    async def _upstream_failed(self, http: Http, exchange: Exchange, error: UpstreamError) -> int:
        """The upstream gave no answer: recorded as its failure, told in the protocol's shape."""
        self.metrics.upstream_errors.labels(error.code).inc()
        exchange.failed("upstream", error.code, error.message)
        turn, ticket = self._record(exchange)
        durable = await self._durable(ticket)
        await self._answer_error(http, error)
        self._released(exchange, turn, durable, Delivered.YES)
        return error.status

    def _abandoned(self, http: Http, exchange: Exchange) -> None:
        """The client went away, or we are shutting down, before the answer was complete."""
        if exchange.recorded:
            place, session_id = exchange.place, exchange.session.record.id
            self.recorder.offer([Delivery(session_id, place.index, place.attempt, Delivered.NO)])
            return
        source, message = (
            ("client", "the client closed the connection") if http.gone else ("ours", "shutting down")
        )
        exchange.failed(source, "disconnected" if http.gone else "shutdown", message)
        turn, _ = self._record(exchange)
        self.recorder.offer([Delivery(turn.session_id, turn.index, turn.attempt, Delivered.NO)])

    # ---- everything else under /v1 ----------------------------------------------------------

    async def _pass_through(self, http: Http, route: Route, caller: Caller, body: Any) -> int:
        """Raw bytes both ways, streamed. Sessions are checked where one is named; nothing is recorded."""
        claim = claim_of(http, route, caller, self.settings)
        if claim.session_id is not None or caller.session_key is not None:
            await self.sessions.check(claim)
        length = http.header(b"content-length")
        bodiless = (
            not isinstance(body, bytes)
            and length in (None, "0")
            and http.header(b"transfer-encoding") is None
        )
        headers = forwarded(http.headers, self.authenticator.upstream_headers(caller))
        try:
            answer = await self.upstream.send(
                http.method, _path(http, route), headers, None if bodiless else body
            )
        except UpstreamError as error:
            self.metrics.upstream_errors.labels(error.code).inc()
            raise
        if bodiless or http.read:
            http.cancel_when_gone()
        try:
            await http.start(answer.status, end_to_end(answer.headers))
            async for chunk in answer.chunks():
                await http.chunk(chunk)
            await http.end()
        except UpstreamError as error:
            self.metrics.upstream_errors.labels(error.code).inc()
            _log.warning("the upstream broke off an answer", path=route.path, error=error.message)
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        finally:
            answer.close()
        return answer.status

    async def _answer_error(self, http: Http, error: ServiceError) -> None:
        if not http.started:
            _log.info("answered with an error", status=error.status, code=error.code, error=error.message)
            await http.answer(error.status, error.body())


def _path(http: Http, route: Route) -> str:
    query = http.query.decode("latin-1")
    return f"{route.path}?{query}" if query else str(route.path)


def _readable(http: Http, captured: bool) -> dict[bytes, bytes | None]:
    """The content encodings that we can look into; a captured answer has to be edited, so it comes plain."""
    offered = http.header(b"accept-encoding")
    if captured:
        return {b"accept-encoding": b"identity"}
    if offered is None:
        return {}
    kept = [
        one.strip() for one in offered.split(",") if one.split(";")[0].strip().lower() in READABLE_ENCODINGS
    ]
    if len(kept) == len(offered.split(",")):
        return {}
    return {b"accept-encoding": ", ".join(kept or ["identity"]).encode()}


def _answer_headers(answer: Answer, *, edited: bool, keep_length: bool) -> Headers:
    dropped: Sequence[bytes] = (b"content-length", b"content-encoding") if edited else (b"content-length",)
    if keep_length and not edited:
        return end_to_end(answer.headers)
    return [(name, value) for name, value in end_to_end(answer.headers) if name.lower() not in dropped]


async def _refuse(scope: Message, send: Send) -> None:
    """WebSockets are not relayed; the lifespan is the application's own."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "WebSockets are not relayed"})
