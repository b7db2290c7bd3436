"""How a request's noise comes to be decided: with a model's texts, where one writes them, and off the event
loop, where a third party's operator has a say in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from crosswind.gateway.clock import now_us
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.noise.pipeline import Circumstances, Noise, noise_in
from crosswind.gateway.noise_model.preparation import Preparing
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.proxy.call import Call
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sandbox.confinement import Confined
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place


@dataclass(frozen=True, slots=True)
class Deciding:
    """Decides the noise of requests. `steering`: clients may ask for none by header."""

    switch: KillSwitch
    steering: bool
    preparing: Preparing | None
    """Where a language model writes noise."""
    confinement: Confined | None
    """Where third parties' operators run, if there are any."""

    async def noise(
        self, call: Call, session: LiveSession, request: Request, place: Place, redactor: Redactor
    ) -> Noise:
        """The noise of a request. Where a third party's operator is in the plan, no model is asked: what it
        would be asked hangs on what that operator does."""
        now, codec = self._circumstances(call, request), call.codec
        confinement = self.confinement
        if confinement is not None and confinement.needed(session.plan):
            return await confinement.decide(partial(noise_in, session, codec, request, place, now, redactor))
        if self.preparing is not None:
            texts = await self.preparing.texts(session, codec, request, place, now, redactor)
            now = replace(self._circumstances(call, request), texts=texts)
        return noise_in(session, codec, request, place, now, redactor)

    def _circumstances(self, call: Call, request: Request) -> Circumstances:
        spared = self.steering and call.http.header(b"x-crosswind-noise") == "off"
        duplicates = call.upstream.dialect.duplicate_tool_names
        return Circumstances(self.switch.enabled, not spared, request.stream, now_us(), duplicates)
