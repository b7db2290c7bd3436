"""What goes to the upstream for a request: its noise, and what capture asks for, written into its body."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.noise.pipeline import Noise, taken_back
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.proxy.call import Call
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.gateway.turn.exchange import Exchange

_log = structlog.get_logger("crosswind.proxy")


@dataclass(frozen=True, slots=True)
class Composing:
    """Writes bodies, by the configuration in force."""

    settings: Settings

    def composed(
        self,
        call: Call,
        session: LiveSession,
        request: Request,
        place: Place,
        redactor: Redactor,
        noise: Noise,
    ) -> tuple[Exchange, bytes]:
        """The exchange as it is to be, and the body to send; noise that can't be written is taken back."""
        offered = call.upstream.dialect.token_ids
        wanted = call.codec.tokens and session.captures(self.settings.capture, offered)
        captured = wanted and not call.upstream.tokenless
        try:
            written = self._written(call, session, request, place, redactor, noise, captured=captured)
            written[0].tokenless = wanted and not captured
            return written
        except Exception:
            # As in `noise_in`: the clean request goes through, and asks for no token ids either.
            _log.exception("noise can't be written; the clean request goes through", turn=place.index)
            noise = taken_back(noise, session, request, place)
            return self._written(call, session, request, place, redactor, noise, captured=False)

    def unasked(self, call: Call, asked: Exchange) -> tuple[Exchange, bytes]:
        """The same turn's exchange and body with no token ids asked for, where the upstream refused those."""
        parts = asked.session, asked.request, asked.place, asked.redactor, asked.noise
        exchange, body = self._written(call, *parts, captured=False)
        exchange.tokenless, exchange.attempts = True, asked.attempts
        exchange.started_us, exchange.clock, exchange.replicas = asked.started_us, asked.clock, asked.replicas
        return exchange, body

    def _written(
        self,
        call: Call,
        session: LiveSession,
        request: Request,
        place: Place,
        redactor: Redactor,
        noise: Noise,
        *,
        captured: bool,
    ) -> tuple[Exchange, bytes]:
        """Write what is captured, and the turn's noise, into the body to send."""
        codec, upstream, raw = call.codec, call.upstream, request.document.body
        training, top = session.training, self.settings.capture_top
        edits, neutralised = (
            codec.capture_edits(request, training=training, top=top) if captured else ({}, ())
        )
        if neutralised:
            _log.info("sampling knobs neutralised", turn=place.index, knobs=neutralised)
        edits |= upstream.edits(request.model)
        edits |= request.edits
        edits |= noise.members
        received = request.received(redactor.mask)
        body, sent = raw, received
        if noise.replacements or edits or noise.forward:
            body, sent = request.rewritten(noise.replacements, edits, redactor.mask, noise.forward)
        answer = (
            codec.answer(request, captured=captured)
            if noise.world is None
            else noise.world.closing.answer(request, noise.world, captured=captured)
        )
        trace = call.trace if self.settings.telemetry.endpoint else ()
        exchange = Exchange(
            codec, session, request, place, noise, received, sent, answer, captured, redactor, trace, edits
        )
        exchange.idempotency = call.idempotency_key
        return exchange, body
