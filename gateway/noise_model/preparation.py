"""The texts that a request's noise may want: at hand when it is decided, or known not to be.

The noise is decided twice: first to find out which texts it wants, then, by `noise_in`, with what there is of
them. Only requests of sessions whose plan has an operator for which the model writes come here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from crosswind.gateway.noise.pipeline import Circumstances, decides_anew
from crosswind.gateway.noise.system_prompt import decided
from crosswind.gateway.noise.tool_view import world_in
from crosswind.gateway.noise_model.eligibility import writes_for
from crosswind.gateway.noise_model.generation import Writing
from crosswind.gateway.noise_model.lookahead import after_answer, next_message
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.gateway.trajectory.generated_text import GeneratedText
from crosswind.gateway.turn.exchange import Exchange
from crosswind.injectors.conversation import Conversation
from crosswind.injectors.engine.decide import perturb
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.wording import Given, Prompt, written_forms

_log = structlog.get_logger("crosswind.language")

SECRET = "the material holds a secret"
MOST_PASSES = 8
"""One operator's text is another one's material: so many in a row are asked for."""


@dataclass(slots=True)
class AtHand:
    """The texts for one request: the `Texts` that its noise is decided with."""

    writing: Writing
    given: dict[str, Given] = field(default_factory=dict)
    wanted: dict[str, Prompt] = field(default_factory=dict)
    """What was asked for and isn't there."""
    shared: list[GeneratedText] = field(default_factory=list)
    """The session's own copies of texts that were written for others."""
    ahead: bool = False
    """Only what can be asked before its occasion is wanted."""

    def get(self, slot: str, prompt: Prompt) -> Given | None:
        model = self.writing.model
        if not writes_for(model, prompt.operator):
            return None
        key = prompt.key(model.model)
        if key not in self.given and (not self.ahead or written_forms()[prompt.operator].ahead):
            self.wanted[key] = prompt
        return self.given.get(key) or Given(None, why="the text was not asked for")


@dataclass(frozen=True, slots=True)
class Preparing:
    """Asks for texts ahead of the noise that wants them."""

    writing: Writing
    _foreseen: set[asyncio.Task[None]] = field(default_factory=set)

    def concerns(self, plan: Plan) -> bool:
        """Whether the plan has an operator for which the model writes."""
        forms, model = written_forms(), self.writing.model
        return any(rule.operator in forms and writes_for(model, rule.operator) for rule in plan.rules)

    async def texts(
        self,
        session: LiveSession,
        codec: Codec,
        request: Request,
        place: Place,
        now: Circumstances,
        redactor: Redactor,
    ) -> AtHand | None:
        """What there is of the texts that the request's noise may want; None where it wants none."""
        if not self.concerns(session.plan) or not decides_anew(session, request, now):
            return None
        at_hand = AtHand(self.writing)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.writing.model.wait
        try:
            for _ in range(MOST_PASSES):
                _dry_run(session, codec, request, place, replace(now, texts=at_hand))
                if not at_hand.wanted:
                    break
                await self._fetch(at_hand, session, deadline - loop.time(), redactor)
        except Exception:
            # Noise must never break traffic: by rule, then.
            _log.exception("texts can't be prepared", session=session.record.id, turn=place.index)
        return at_hand

    async def _fetch(self, at_hand: AtHand, session: LiveSession, wait_s: float, redactor: Redactor) -> None:
        """Turn what is wanted into what is given."""
        wanted, at_hand.wanted = at_hand.wanted, {}
        open_to_all = {key: prompt for key, prompt in wanted.items() if not _secret(prompt, redactor)}
        at_hand.given.update({key: Given(None, why=SECRET) for key in wanted.keys() - open_to_all.keys()})
        found = await self.writing.get(open_to_all, session, max(0.0, wait_s))
        for key, written in found.items():
            at_hand.given[key] = self.writing.given(written)
            if isinstance(written, GeneratedText) and written.session_id != session.record.id:
                at_hand.shared.append(replace(written, session_id=session.record.id))

    def decided(self, exchange: Exchange) -> None:
        """A turn's noise is decided. While the policy samples, ask for what the next message may want."""
        if isinstance(exchange.noise.texts, AtHand):
            exchange.noise.rows += exchange.noise.texts.shared
            self._foresee(exchange, next_message(exchange.request.conversation))

    def answered(self, exchange: Exchange) -> None:
        """A turn is answered. While the client calls its tools, ask for what their results may want."""
        if exchange.noise.texts is not None and exchange.answer.finished:
            delivered = exchange.answer.delivered() or exchange.answer.produced()
            self._foresee(exchange, after_answer(exchange.codec, exchange.request.conversation, delivered))

    def _foresee(self, exchange: Exchange, ahead: Conversation | None) -> None:
        forms = written_forms()
        rules = exchange.session.plan.rules
        if ahead is None or not any(rule.operator in forms and forms[rule.operator].ahead for rule in rules):
            return
        session, redactor = exchange.session, exchange.redactor
        task = asyncio.create_task(self._ask_ahead(session, ahead, redactor))
        self._foreseen.add(task)
        task.add_done_callback(self._foreseen.discard)

    async def _ask_ahead(self, session: LiveSession, ahead: Conversation, redactor: Redactor) -> None:
        at_hand = AtHand(self.writing, ahead=True)
        try:
            perturb(session.plan, ahead, session.ledger.known, texts=at_hand)
            prompts = {k: prompt for k, prompt in at_hand.wanted.items() if not _secret(prompt, redactor)}
            await self.writing.begin(prompts, session)
        except Exception:
            _log.exception("texts can't be asked for ahead", session=session.record.id)

    def under_way(self) -> list[asyncio.Task[Any]]:
        """What is being asked for, and what is being foreseen."""
        return [*self._foreseen, *self.writing.under_way()]

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._foreseen:
            task.cancel()
        await asyncio.gather(*self._foreseen, return_exceptions=True)
        await self.writing.close()


def _dry_run(session: LiveSession, codec: Codec, request: Request, place: Place, now: Circumstances) -> None:
    """Decide the request's noise for the texts that it asks for; nothing of it is kept."""
    perturb(session.plan, request.conversation, session.ledger.known, texts=now.texts)
    decided(session, codec, request, place, allow_new=True, texts=now.texts)
    world_in(
        codec,
        session.plan,
        session.ledger,
        request,
        turn=place.index,
        allow_new=True,
        duplicates=now.duplicates,
        texts=now.texts,
    )


def _secret(prompt: Prompt, redactor: Redactor) -> bool:
    """Whether the material holds what may not be stored: that isn't told to another model, either."""
    return redactor.mode != "keep" and redactor.found(prompt.user.encode("utf-8", "surrogatepass"))
