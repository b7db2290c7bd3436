"""One exchange with the model, collected for the record: received, sent, produced, delivered.

Only this room writes to it: others report to its methods what happened.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache

import msgspec

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.noise.pipeline import Noise
from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.hidden_tools import HiddenCall
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.token_capture import find_constraints, without_tokens
from crosswind.gateway.recorder.redaction import MASK, SHORTEST, Redactor
from crosswind.gateway.sessions.destroyed import Beginning
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.content import Chain, Frame, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.record import Completion, Durable, Turn, TurnFailure

_SPARED = "Withheld: the answers to equal requests were destroyed, and it may be the retry of one."


class Exchange(msgspec.Struct, eq=False):
    """Everything that the turn's row needs. Durations are in microseconds."""

    codec: Codec
    session: LiveSession
    request: Request
    place: TurnPosition
    noise: Noise
    received: View
    sent: View
    answer: AnswerReader
    captured: bool
    edited: bool
    """Whether the client gets other bytes than the upstream sent."""
    redactor: Redactor
    trace: tuple[tuple[str, str], ...] = ()
    """The client's trace context."""
    edits: dict[str, bytes | None] = msgspec.field(default_factory=dict)
    """The body's members that are not sent as they came."""
    results: list[list[tuple[HiddenCall, str]]] = msgspec.field(default_factory=list)
    """By round answered inside: its calls with their results."""
    appended: list[bytes] = msgspec.field(default_factory=list)
    """The messages that these rounds added to the history."""
    shown: bytes | None = None
    """What the client got in place of what was produced, as one plain body, where a fault was injected."""
    left: set[str] = msgspec.field(default_factory=set)
    """Tools that left the schema in this turn."""
    started_ns: int = msgspec.field(default_factory=time.time_ns)
    clock: int = msgspec.field(default_factory=time.monotonic_ns)
    queue_us: int | None = None
    first_token_us: int | None = None
    upstream_status: int | None = None
    error: TurnFailure | None = None
    attempts: tuple[UpstreamAttempt, ...] = ()
    """Failed requests to the upstream, before the one that was answered, if any was."""
    replicas: set[str] = msgspec.field(default_factory=set)
    """The base URLs that answered: several, where rounds were answered inside."""
    unread: Fitness | None = None
    """Why the answer was relayed unread."""
    turn: Turn | None = None
    """Its row, once it is submitted."""
    opens: bool = False
    """The session's own row was submitted with it."""
    hides_tokens: bool = False
    """A secret is masked in its bodies, so that they are stored without tokens, which spell it once more."""
    tokenless: bool = False
    """Token ids were wanted, and the upstream refuses requests for them."""
    idempotency: str | None = None
    """The digest of the key under which the client sent the request."""
    beginning: Beginning | None = None
    """The conversation that the request begins, where noise may destroy the answer before its client, who
    names no session, gets any.
    """

    @property
    def too_large(self) -> bool:
        return self.unread is Fitness.ANSWER_TOO_LARGE

    def elapsed_us(self) -> int:
        return (time.monotonic_ns() - self.clock) // 1000

    def begin(self, beginning: Beginning) -> None:
        """The request begins a conversation. If it must get through, its faults are withheld."""
        self.beginning = beginning
        if beginning.spared:
            self.noise.withhold_faults(_SPARED)

    def take_over(self, refused: Exchange) -> None:
        """Continue an exchange whose request for token ids was refused."""
        self.tokenless, self.attempts, self.replicas = True, refused.attempts, refused.replicas
        self.started_ns, self.clock = refused.started_ns, refused.clock
        self.beginning = refused.beginning

    def mark_sent(self) -> None:
        """The request goes to the upstream now."""
        self.queue_us = self.elapsed_us()
        self.redactor.forget_texts()

    def mark_answered(self, status: int, replica: str, attempts: tuple[UpstreamAttempt, ...]) -> None:
        """The upstream's answer began, after failed attempts."""
        self.attempts += attempts
        self.replicas.add(replica)
        self.upstream_status = status

    def mark_first_byte(self) -> None:
        """A part of the answer is there; the first call counts."""
        if self.first_token_us is None:
            self.first_token_us = self.elapsed_us() - (self.queue_us or 0)

    def fail(
        self, source: Source, kind: str, message: str, attempts: tuple[UpstreamAttempt, ...] = ()
    ) -> None:
        """Attribute a failure, which may have taken several attempts. The first failure counts."""
        self.attempts += attempts
        if source is Source.INJECTED:
            self.session.turns.mark_destroyed(self.place)
        self._leave_to_retry(source)
        self.error = self.error or TurnFailure(source, kind, self.redactor.mask_text(message)[:2000])

    def _leave_to_retry(self, source: Source) -> None:
        """Let the client's next request get through, if noise destroyed the answer to a conversation's first
        one. A client that leaves while a fault acts has lost it, too; a retry that fails is tried again.
        """
        if self.beginning is None:
            return
        given_up = source is Source.CLIENT and any(one.destroys for one in self.noise.faults.injected)
        if source is Source.INJECTED or given_up:
            self.beginning.mark_destroyed(self.session.record.id, self.place)
        elif self.beginning.retried is not None or self.beginning.spared:
            self.beginning.mark_destroyed(self.session.record.id, self.place, injected=False)

    async def announce_failure(self) -> None:
        """An injected fault is about to strike, before the answer is recorded: the client may ask again at
        once.
        """
        if self.beginning is not None:
            self._leave_to_retry(Source.INJECTED)
            await self.beginning.share()

    def inject_failure(self, operator: str, message: str, shown: bytes | None = None) -> None:
        """An injected fault struck; `shown`: the plain body that the client gets by it, if any."""
        if shown is not None:
            self.shown = shown
        self.fail(Source.INJECTED, operator, message)

    def leave_unread(self) -> None:
        """The answer's encoding can't be decoded: it is relayed as it came."""
        self.unread = self.unread or Fitness.UNDECODABLE

    def mark_too_large(self) -> None:
        self.unread = Fitness.ANSWER_TOO_LARGE

    def restart_reader(self) -> AnswerReader:
        """Drop what was read of the answer, and read on with a new reader."""
        self.answer = self.codec.answer_reader(self.request, captured=self.captured)
        return self.answer

    def forget_answer(self) -> None:
        """Record the exchange without its answer, which can't be read."""
        self.answer = self.codec.answer_reader(self.request, captured=False)
        self.noise.tools, self.upstream_status = None, None

    def build_turn(self, durable: Durable) -> Turn:
        """The turn's row. `durable`: as it will be once the row is on disk."""
        redactor, request, answer, place = self.redactor, self.request, self.answer, self.place
        produced = stored = policy_first = policy_last = None
        completions: tuple[Completion, ...] = ()
        came = self.upstream_status is not None and self.unread is not Fitness.ANSWER_TOO_LARGE
        if came:
            produced = answer.produced_body()
            stored = redactor.mask(produced)
            completions = answer.completions()
        self.hides_tokens = masked = stored is not produced or self._hides_secret()
        secret = masked or (redactor.mode == "block_training" and self._has_secret(produced or b""))
        if produced is not None and masked:
            stored = redactor.mask(without_tokens(produced))
        if completions:
            completions = tuple([self._mask_completion(one) for one in completions])
            if spans := [span for completion in completions for span in completion.versions]:
                policy_first, policy_last = spans[0].version, spans[-1].version
        if masked:
            completions = tuple(
                Completion(one.index, finish_reason=one.finish_reason, versions=one.versions)
                for one in completions
            )
        fitness, prompt_ids = self._judge(secret)
        return Turn(
            session_id=self.session.record.id,
            index=place.index,
            created_us=self.started_ns // 1000,
            attempt=place.attempt,
            parent=place.parent,
            branch=place.branch,
            fitness=fitness,
            durable=durable,
            protocol=self.codec.name,
            stream=request.stream,
            spared=self.noise.spared,
            model=self._mask_name(answer.head_text("model") or request.model),
            response_id=self._mask_name(answer.head_text("id")),
            kept=self._is_kept(),
            policy_first=policy_first,
            policy_last=policy_last,
            received=self.received,
            sent=self.sent,
            produced=None if stored is None else View.plain(stored),
            prompt_ids=None if masked else prompt_ids,
            completions=completions,
            finish_reason=completions[0].finish_reason if completions else None,
            usage=answer.usage,
            queue_us=self.queue_us,
            first_token_us=self.first_token_us,
            total_us=self.elapsed_us(),
            upstream_status=self.upstream_status,
            error=self.error,
            inner=self.attempts,
            request=request.digest().hex(),
            idempotency=self.idempotency,
        )

    def _mask_completion(self, completion: Completion) -> Completion:
        """A completion without secrets in what the upstream names: the reason of its end, and versions."""
        reason = self._mask_name(completion.finish_reason)
        if not completion.versions and reason == completion.finish_reason:
            return completion
        versions = tuple(
            replace(span, version=self.redactor.mask_name(span.version)) for span in completion.versions
        )
        return replace(completion, finish_reason=reason, versions=versions)

    def _is_kept(self) -> bool:
        """Whether the provider may keep the answer."""
        return self.codec.name == "responses" or "store" in self.request.frame.members

    def _mask_name(self, text: str | None) -> str | None:
        if text is None or (len(text) < SHORTEST and text.isascii()):
            return text
        return self.redactor.mask_name(text)

    def _judge(self, secret: bool) -> tuple[Fitness, Chain | None]:
        """The turn's fitness, and its prompt's token ids. Of several reasons against it the most serious
        counts: a failure, then noise, then what is wrong with the answer, then its content.
        """
        prompt_ids = None
        fitness = self.answer.fitness()
        if self.answer.prompt_ids is not None and not self.too_large:
            try:
                prompt_ids = self.session.tokens.chain(self.answer.prompt_ids)
            except (OverflowError, TypeError):
                fitness = Fitness.PROMPT_IDS_MALFORMED
        if fitness == Fitness.NOTHING_SAMPLED:
            return fitness, None
        if fitness == Fitness.NO_TOKEN_IDS and self.tokenless:
            fitness = Fitness.ENGINE_NO_TOKENS
        if self.error is not None:
            fitness = Fitness.of_failure(self.error.source)
        elif self.noise.unfit is not None:
            fitness = self.noise.unfit
        elif self.unread is not None:
            fitness = self.unread
        elif fitness == Fitness.FIT and secret:
            blocked = self.redactor.mode == "block_training"
            fitness = Fitness.CONTAINS_SECRET if blocked else Fitness.REDACTED_SECRET
        elif fitness == Fitness.FIT and any(find_constraints(self.request.frame, self.edits)):
            fitness = Fitness.CONSTRAINED_SAMPLING
        return fitness, prompt_ids

    def _has_secret(self, produced: bytes) -> bool:
        """Whether the bodies have a secret."""
        bodies = (self.received.bytes(), self.sent.bytes(), produced)
        return any(self.redactor.contains_secret(body) for body in bodies)

    def _hides_secret(self) -> bool:
        """Whether a secret was masked in the request."""
        if self.request.steps and self.request.steps[-1].masked:
            return True
        if _shows_mask(self.received.frame):
            return True
        return self.sent.frame is not self.received.frame and _shows_mask(self.sent.frame)


_LARGEST_KEPT = 65_536
"""Bytes of the largest frame that is cached. One without a chain is a whole body."""


def _shows_mask(frame: Frame) -> bool:
    """Whether a secret was masked in a view's frame. Most turns have one that came before."""
    size = sum([len(piece) for piece in frame if piece is not None])
    return _small_shows_mask(frame) if size <= _LARGEST_KEPT else _find_mask(frame)


def _find_mask(frame: Frame) -> bool:
    return any(MASK in piece for piece in frame if piece is not None)


_small_shows_mask = lru_cache(16)(_find_mask)
