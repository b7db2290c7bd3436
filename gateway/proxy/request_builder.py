"""The request to the upstream: its noise decided, and written into the body with what token capture asks for.

An upstream that refuses to be asked for token ids, as hosted providers do, is asked again without. A refused
request was not processed, so that asking again costs one round trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog
from msgspec.structs import replace

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.noise.decide import Circumstances
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.noise.noise_type import choose_type
from crosswind.gateway.noise.pipeline import Noise, add_noise, roll_back
from crosswind.gateway.noise_model.preparation import TextPreparation
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.proxy.routes import IncomingCall
from crosswind.gateway.proxy.withheld_noise import WithheldNoise
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sandbox.confinement import Confined
from crosswind.gateway.sessions.drills import DRILLED, Drills
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.injectors.guard.solvability import SPENT

Edits = Mapping[str, bytes | None]
"""Members of a body with their new values; None removes one."""

_REFUSED = (400, 422)
_FIELD = b"return_token_ids"
_REFUSAL_BYTES = 1 << 16
"""How much of a refusal is read."""
_log = structlog.get_logger("crosswind.proxy")


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds what is sent to the upstream."""

    settings: Settings
    switch: KillSwitch
    preparation: TextPreparation | None
    """Where a language model writes noise."""
    confinement: Confined | None
    """Where third parties' operators run, if there are any."""
    withheld: WithheldNoise
    drills: Drills

    async def add_noise(
        self,
        call: IncomingCall,
        session: LiveSession,
        request: Request,
        place: TurnPosition,
        redactor: Redactor,
    ) -> Noise:
        """Decide the request's noise, of which there is none where its session's drill has none left."""
        noise = await self._decide(call, session, request, place, redactor)
        if DRILLED in session.record.labels:
            count = sum(event.after is not None for event in noise.events)
            if count and not await self.drills.reserve(session.record, count):
                return roll_back(noise, session, call.codec, request, place, f"Withheld: {SPENT}.")
        return noise

    def write(
        self,
        call: IncomingCall,
        session: LiveSession,
        request: Request,
        place: TurnPosition,
        redactor: Redactor,
        noise: Noise,
    ) -> tuple[Exchange, bytes]:
        """The exchange to come, and the body to send. Noise that can't be written is taken back."""
        offered = call.upstream.dialect.token_ids
        wanted = call.codec.returns_tokens and session.captures(self.settings.capture, offered)
        captured = wanted and not call.upstream.tokenless
        try:
            exchange, body = self._write(call, session, request, place, redactor, noise, captured=captured)
            exchange.tokenless = wanted and not captured
        except Exception:
            # As in `pipeline.add_noise`: the clean request goes through, and asks for no token ids either.
            _log.exception("noise can't be written; the clean request goes through", turn=place.index)
            noise = roll_back(noise, session, call.codec, request, place)
            return self._write(call, session, request, place, redactor, noise, captured=False)
        return exchange, body

    async def build_without_capture(
        self, call: IncomingCall, refused: Exchange, answer: UpstreamResponse
    ) -> tuple[Exchange, bytes] | None:
        """The same turn's exchange and body without the request for token ids, where the upstream may have
        refused that: `answer` is closed then. None where it didn't.
        """
        if not await _refuses_capture(answer, refused, call.upstream):
            return None
        turn = refused.session, refused.request, refused.place, refused.redactor, refused.noise
        exchange, body = self._write(call, *turn, captured=False)
        exchange.take_over(refused)
        return exchange, body

    async def _decide(
        self,
        call: IncomingCall,
        session: LiveSession,
        request: Request,
        place: TurnPosition,
        redactor: Redactor,
    ) -> Noise:
        """Decide the request's noise. Where the plan has a third party's operator, no model is asked for
        texts: what it would be asked depends on that operator.
        """
        if session.type_choice is not None:
            choose_type(session, call.codec, request)
        turn, now = (session, call.codec, request, place), self._circumstances(call, session, request)
        if self.confinement is not None and self.confinement.is_needed(session.plan):
            return await self.confinement.decide(partial(add_noise, *turn, now, redactor))
        if self.preparation is None:
            return add_noise(*turn, now, redactor)
        texts = await self.preparation.prepare(*turn, now, redactor)
        noise = add_noise(*turn, replace(self._circumstances(call, session, request), texts=texts), redactor)
        if texts is not None and noise.texts is texts:
            noise.rows += texts.shared
        return noise

    def _circumstances(self, call: IncomingCall, session: LiveSession, request: Request) -> Circumstances:
        spared = self.settings.steering and call.entry.spared
        if DRILLED in session.record.labels:
            spared = spared or not self.drills.allow_noise(session.record)
        duplicates = call.upstream.dialect.duplicate_tool_names
        return Circumstances(self.switch.enabled, not spared, request.stream, now_us(), duplicates)

    def _write(
        self,
        call: IncomingCall,
        session: LiveSession,
        request: Request,
        place: TurnPosition,
        redactor: Redactor,
        noise: Noise,
        *,
        captured: bool,
    ) -> tuple[Exchange, bytes]:
        codec = call.codec
        capture: Edits = {}
        if captured:
            capture, neutralised = codec.capture_edits(
                request, training=session.training, top=self.settings.capture_top
            )
            if neutralised:
                _log.info("sampling knobs neutralised", turn=place.index, knobs=neutralised)
        renamed = call.upstream.edits(request.model) if call.upstream.renames else {}
        received = request.stored_view(redactor.mask)
        body, sent, edits = request.split.body, received, dict[str, bytes | None]()
        if noise.replacements or noise.tools is not None or capture or renamed or request.edits:
            body, sent, edits = write_body(request, noise, redactor.mask, capture, renamed)
        answer = (
            codec.answer_reader(request, captured=captured)
            if noise.tools is None
            else noise.tools.mapping.answer_reader(request, noise.tools, captured=captured)
        )
        exchange = Exchange(
            codec,
            session,
            request,
            place,
            noise,
            received,
            sent,
            answer,
            captured,
            captured or noise.tools is not None or bool(request.edits),
            redactor,
            trace=call.trace if self.settings.telemetry.endpoint else (),
            edits=edits,
            idempotency=call.entry.idempotency_key,
        )
        return exchange, body


def write_body(
    request: Request, noise: Noise, mask: Mask, capture: Edits, renamed: Edits
) -> tuple[bytes, View, dict[str, bytes | None]]:
    """Write noise, what token capture asks for, and the upstream's name of the model into a request's body.

    Gives the body, what is recorded of it, and its edited members. Without any of these it is the client's
    own, byte for byte.
    """
    edits = {**capture, **renamed, **request.edits, **noise.members}
    if noise.replacements or edits or noise.forward:
        return *request.write(noise.replacements, edits, mask, noise.forward, noise.clean), edits
    return request.split.body, request.stored_view(mask), edits


async def _refuses_capture(answer: UpstreamResponse, exchange: Exchange, upstream: Upstream) -> bool:
    """Whether the upstream may have refused the request for its capture fields; the answer is closed then.

    An upstream whose refusal names our field isn't asked for token ids again. UpstreamError where the refusal
    breaks off.
    """
    if answer.status not in _REFUSED or not exchange.captured or upstream.dialect.token_ids:
        return False
    try:
        refusal = await answer.read_up_to(_REFUSAL_BYTES)
    finally:
        answer.close()
    if _FIELD in refusal and _FIELD.decode() not in exchange.request.frame.members:
        upstream.tokenless = True
        _log.warning("an upstream refuses to be asked for token ids", upstream=upstream.name)
    return True
