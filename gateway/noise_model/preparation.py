"""Get a model's texts before a request's noise is decided.

The noise is decided several times: first to find out which texts it wants, and at last, by `add_noise`, with
those that are there. This concerns only sessions whose plan has an operator for which the model writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from msgspec import structs

from crosswind.gateway.noise.decide import Circumstances, decide, may_decide
from crosswind.gateway.noise_model.generation import TextGenerator, writes_for
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.record import GeneratedText
from crosswind.gateway.turn.exchange import Exchange
from crosswind.injectors.conversation import Conversation, Ref, ToolCall, ToolResult, UserText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.identity import logical_call
from crosswind.injectors.wording import Prompt, WrittenText, all_written_forms

_log = structlog.get_logger("crosswind.language")

SECRET = "the material holds a secret"
MOST_PASSES = 8
"""One operator's text may be another one's material: how many in a row are asked for."""


@dataclass(slots=True)
class PreparedTexts:
    """The `Texts` for the noise of one request."""

    generator: TextGenerator
    given: dict[str, WrittenText] = field(default_factory=dict)
    wanted: dict[str, Prompt] = field(default_factory=dict)
    """What was asked for and isn't there yet."""
    shared: list[GeneratedText] = field(default_factory=list)
    """The session's own copies of texts that were written for other sessions."""
    ahead: bool = False
    """Only texts that don't depend on what is to come are wanted."""

    def get(self, slot: str, prompt: Prompt) -> WrittenText | None:
        model = self.generator.model
        if not writes_for(model, prompt.operator):
            return None
        key = prompt.key(model.model)
        if key not in self.given and (not self.ahead or all_written_forms()[prompt.operator].ahead):
            self.wanted[key] = prompt
        return self.given.get(key) or WrittenText(None, why="the text was not asked for")


@dataclass(frozen=True, slots=True)
class TextPreparation:
    """Asks for texts before the noise that uses them is decided."""

    generator: TextGenerator
    _looking_ahead: set[asyncio.Task[None]] = field(default_factory=set)

    def concerns(self, plan: Plan) -> bool:
        """Whether the plan has an operator for which the model writes."""
        forms, model = all_written_forms(), self.generator.model
        return any(rule.operator in forms and writes_for(model, rule.operator) for rule in plan.rules)

    async def prepare(
        self,
        session: LiveSession,
        codec: Codec,
        request: Request,
        place: TurnPosition,
        now: Circumstances,
        redactor: Redactor,
    ) -> PreparedTexts | None:
        """Get the texts that the request's noise wants; None where it can't want any."""
        if not self.concerns(session.plan) or not may_decide(session, request, now):
            return None
        prepared = PreparedTexts(self.generator)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.generator.model.wait
        try:
            for _ in range(MOST_PASSES):
                decide(session, codec, request, place, structs.replace(now, texts=prepared))
                if not prepared.wanted:
                    break
                await self._fetch(prepared, session, deadline - loop.time(), redactor)
        except Exception:
            # Noise must never break traffic: the operators go by rule.
            _log.exception("texts can't be prepared", session=session.record.id, turn=place.index)
        return prepared

    async def _fetch(
        self, prepared: PreparedTexts, session: LiveSession, wait_s: float, redactor: Redactor
    ) -> None:
        wanted, prepared.wanted = prepared.wanted, {}
        open_to_all = {key: prompt for key, prompt in wanted.items() if not _secret(prompt, redactor)}
        prepared.given.update(
            {key: WrittenText(None, why=SECRET) for key in wanted.keys() - open_to_all.keys()}
        )
        found = await self.generator.get(open_to_all, session, max(0.0, wait_s))
        for key, written in found.items():
            prepared.given[key] = self.generator.offer(written)
            if isinstance(written, GeneratedText) and written.session_id != session.record.id:
                prepared.shared.append(replace(written, session_id=session.record.id))

    def look_ahead_of_message(self, exchange: Exchange) -> None:
        """While the policy samples, ask for the texts that the user's next message may want."""
        if exchange.noise.texts is not None:
            self._look_ahead(exchange, next_message(exchange.request.conversation))

    def look_ahead_of_results(self, exchange: Exchange) -> None:
        """While the client runs its tools, ask for the texts that their results may want."""
        if exchange.noise.texts is not None and exchange.answer.finished:
            delivered = exchange.answer.delivered_body() or exchange.answer.produced_body()
            self._look_ahead(exchange, next_results(exchange.codec, exchange.request.conversation, delivered))

    def _look_ahead(self, exchange: Exchange, ahead: Conversation | None) -> None:
        forms = all_written_forms()
        rules = exchange.session.plan.rules
        if ahead is None or not any(rule.operator in forms and forms[rule.operator].ahead for rule in rules):
            return
        session, redactor = exchange.session, exchange.redactor
        task = asyncio.create_task(self._ask_ahead(session, ahead, redactor))
        self._looking_ahead.add(task)
        task.add_done_callback(self._looking_ahead.discard)

    async def _ask_ahead(self, session: LiveSession, ahead: Conversation, redactor: Redactor) -> None:
        prepared = PreparedTexts(self.generator, ahead=True)
        try:
            perturb_messages(session.plan, ahead, session.ledger.known, texts=prepared)
            prompts = {k: prompt for k, prompt in prepared.wanted.items() if not _secret(prompt, redactor)}
            await self.generator.begin(prompts, session)
        except Exception:
            _log.exception("texts can't be asked for ahead", session=session.record.id)

    def running(self) -> list[asyncio.Task[Any]]:
        return [*self._looking_ahead, *self.generator.running()]

    async def close(self) -> None:
        for task in self._looking_ahead:
            task.cancel()
        await asyncio.gather(*self._looking_ahead, return_exceptions=True)
        await self.generator.close()


def _secret(prompt: Prompt, redactor: Redactor) -> bool:
    """Whether the material holds a secret: what may not be stored isn't sent to another model, either."""
    return redactor.mode != "keep" and redactor.contains_secret(prompt.user.encode("utf-8", "surrogatepass"))


# The conversation as it may continue. Its next texts aren't known; model-written texts that don't depend on
# them can be asked for before they are needed.
_ANY_RESULT = '{"result": "ok"}'


def next_message(conversation: Conversation) -> Conversation | None:
    """The conversation with a further user message; None where the user hasn't spoken yet."""
    said = [item for item in conversation.items if isinstance(item, UserText)]
    if not said:
        return None
    text = UserText(_after_answer(conversation), said[0].text, "foreseen:message", said[-1].ordinal + 1)
    return replace(conversation, items=(*conversation.items, text))


def next_results(codec: Codec, conversation: Conversation, delivered: bytes) -> Conversation | None:
    """The conversation with results of the calls in an answer; None where it has none."""
    if codec.tool_mapping is None:
        return None
    calls = [
        call
        for raw in codec.tool_mapping.history_messages(delivered)
        for call in codec.message_format.read(raw).calls
    ]
    results = tuple(_results(conversation, calls))
    return replace(conversation, items=(*conversation.items, *results)) if results else None


def _results(conversation: Conversation, calls: Iterable[ToolCall]) -> Iterable[ToolResult]:
    ordinals = [item.ordinal for item in conversation.items if isinstance(item, ToolResult)]
    first, place = ordinals[-1] + 1 if ordinals else 0, _after_answer(conversation)
    for at, call in enumerate(calls):
        logical = logical_call(call.name, call.arguments)
        ref = Ref(place.message + at)
        yield ToolResult(ref, _ANY_RESULT, f"foreseen:{at}", first + at, call, logical)


def _after_answer(conversation: Conversation) -> Ref:
    """The place behind the policy's next message."""
    return Ref(conversation.items[-1].ref.message + 2 if conversation.items else 1)
