"""The trajectory record: sessions, turns, events, rewards and settings. What a session was shown is in
`ledger_rows`.

Plain data. Times are microseconds since the epoch, UTC. JSON-valued fields hold Python data, not text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from crosswind.gateway.errors import Attempt
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.ledger_rows import DeliveredId, LedgerTextsErased, NameMap, Shown

Json = Mapping[str, Any]


class Arm(StrEnum):
    """Which half of a group a rollout belongs to."""

    CLEAN = "clean"
    NOISY = "noisy"


class SessionStatus(StrEnum):
    """Where a session is in its life."""

    OPEN = "open"
    CLOSED = "closed"


class RewardState(StrEnum):
    """A missing reward is pending and then expired: never 0."""

    PENDING = "pending"
    GIVEN = "given"
    EXPIRED = "expired"
    NOT_APPLICABLE = "not_applicable"


class Delivered(StrEnum):
    """Whether the turn's last byte reached the client."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Durable(StrEnum):
    """Whether the turn was on disk before its completing event was released."""

    YES = "yes"
    LATE = "late"
    LOST = "lost"


class Session(msgspec.Struct, frozen=True):
    """A session as it was opened, with what was said of it since. `plan` is frozen at the start."""

    id: str
    created_us: int
    plan: Json
    arm: Arm = Arm.CLEAN
    task_id: str | None = None
    group_id: str | None = None
    group_size: int | None = None
    rollout_index: int | None = None
    labels: Json = msgspec.field(default_factory=dict)
    policy: str | None = None
    tenant: str | None = None
    identity: str = "api"
    """How the session was identified: api, path, header, key or inferred."""
    confidence: float = 1.0
    quarantine: str | None = None
    """Why the session may not train (uncertain identity, say); None where it may."""
    noise_stopped: bool = False
    status: SessionStatus = SessionStatus.OPEN
    closed_us: int | None = None
    reward_state: RewardState = RewardState.PENDING
    reward: float | None = None
    reward_components: Json = msgspec.field(default_factory=dict)
    reward_source: str | None = None


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """Which policy version sampled the tokens [start, end) of a completion."""

    version: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One choice as the policy sampled it: the engine's own ids and log-probabilities (natural logarithm)."""

    index: int
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    finish_reason: str | None = None
    versions: tuple[VersionSpan, ...] = ()
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """Per token the likeliest ones at its place, where asked for: see
    `crosswind.gateway.trajectory.likelihood`.
    """


class TurnFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a turn failed, and whose fault it was."""

    source: Source
    kind: str = msgspec.field(name="type")
    message: str | None = None
    """None where content is not recorded."""


class AnsweredCall(msgspec.Struct, frozen=True):
    """A call of a tool that only noise put there, with the result that the gateway gave."""

    id: str
    name: str
    arguments: str
    result: str


class InnerRound(msgspec.Struct, frozen=True, omit_defaults=True):
    """An exchange with the policy that was answered inside the gateway, before the turn's own.

    Where a secret was masked, the tokens are None: masked text has other ones.
    """

    produced: str
    calls: tuple[AnsweredCall, ...]
    fitness: Fitness
    usage: Json
    prompt_ids: list[int] | None = None
    token_ids: list[list[int]] | None = None
    """By choice, as are the next two."""
    logprobs: list[list[float]] | None = None
    versions: list[list[VersionSpan]] | None = None


class Turn(msgspec.Struct, frozen=True):
    """One exchange with the policy. (session_id, index, attempt) identify it; `parent` is a turn's index."""

    session_id: str
    index: int
    created_us: int
    attempt: int = 0
    parent: int | None = None
    branch: str = ""
    fitness: Fitness = Fitness.NO_TOKEN_IDS
    durable: Durable = Durable.YES
    delivered: Delivered = Delivered.UNKNOWN
    protocol: str = "chat"
    stream: bool = False
    spared: bool = False
    """Whether the request's header spared it new noise."""
    model: str | None = None
    response_id: str | None = None
    policy_first: str | None = None
    policy_last: str | None = None
    received: View | None = None
    sent: View | None = None
    produced: View | None = None
    delivered_view: View | None = None
    """None where the body delivered is the one produced."""
    prompt_ids: Chain | None = None
    """Segments of little-endian int32 token ids."""
    completions: tuple[Completion, ...] = ()
    finish_reason: str | None = None
    usage: Json = msgspec.field(default_factory=dict)
    usage_injected: Json = msgspec.field(default_factory=dict)
    queue_us: int | None = None
    first_token_us: int | None = None
    total_us: int | None = None
    upstream_status: int | None = None
    error: TurnFailure | None = None
    inner: tuple[InnerRound | Attempt, ...] = ()
    """The rounds answered inside the gateway, and failed requests to the upstream."""
    request: str | None = None
    """The digest of its body as it came, in hexadecimal: a retry has the same, and that of the key below."""
    idempotency: str | None = None

    @property
    def rounds(self) -> list[InnerRound]:
        """The rounds answered inside the gateway: exchanges with the policy that the agent never saw."""
        return [entry for entry in self.inner if isinstance(entry, InnerRound)]


class Event(msgspec.Struct, frozen=True):
    """One application of an operator, or its withdrawal by the guard (`after` is None, `note` says why)."""

    session_id: str
    turn_index: int
    ordinal: int
    """Position within the turn, from 0: (session, turn, ordinal) identifies the event."""
    operator: str
    site: str
    slot: str
    anchor: str
    logical_call: str | None
    severity: float
    draw: Json
    clean_hash: str
    before: str
    after: str | None
    recovery: str
    note: str
    tool: str | None = None
    tool_class: str | None = None
    attempt: int = 0
    created_us: int = 0


class Reward(msgspec.Struct, frozen=True):
    """A reward as it was posted. Appended, never overwritten: the latest counts."""

    session_id: str
    created_us: int
    reward: float
    components: Json = msgspec.field(default_factory=dict)
    source: str = "agent"


class SessionClosed(msgspec.Struct, frozen=True):
    """A session's end."""

    session_id: str
    closed_us: int


class SessionMarked(msgspec.Struct, frozen=True):
    """Something that befell a session: noise stopped, quarantine and why, labels, a reward that won't come.

    None leaves a field as it is. `reward_state` is for expired and not_applicable; a reward that was given
    stays given.
    """

    session_id: str
    noise_stopped: bool | None = None
    quarantine: str | None = None
    reward_state: RewardState | None = None
    labels: Json | None = None
    """Labels that are added."""


class SessionDeleted(msgspec.Struct, frozen=True):
    """A session that is to go with all its rows; `sweep` then takes what content no other session uses."""

    session_id: str


class Delivery(msgspec.Struct, frozen=True):
    """What became of a turn after it was released."""

    session_id: str
    turn_index: int
    attempt: int
    delivered: Delivered
    durable: Durable | None = None
    total_us: int | None = None


class Setting(msgspec.Struct, frozen=True):
    """A named JSON document of the control plane: a profile, the curriculum, the kill switch."""

    kind: str
    name: str
    value: Json
    updated_us: int


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """What a model wrote for an operator, in a session that asked for it or was shown it."""

    session_id: str
    key: str
    """The content of what was asked, and of which model."""
    operator: str
    model: str
    text: str
    score: float | None
    """A judge's, from 1 to 5; None where none judged it."""
    created_us: int


Row = (
    Session
    | SessionClosed
    | SessionMarked
    | SessionDeleted
    | Turn
    | Delivery
    | Event
    | Shown
    | NameMap
    | GeneratedText
    | DeliveredId
    | LedgerTextsErased
    | Reward
    | Setting
)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A session with all that hangs on it, turns and events in order."""

    session: Session
    turns: tuple[Turn, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class TrainStep:
    """The write-ahead row of one optimiser step: written before the step, completed after its checkpoint."""

    run: str
    step: int
    group_ids: tuple[str, ...]
    seeds: Json
    created_us: int
    policy_version: str | None = None
    metrics: Json | None = None
    completed_us: int | None = None


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session is, as the store has it. A row is the newest one's number, 0 where there is none."""

    turn_row: int
    shown_row: int
    name_row: int
    status: SessionStatus
    noise_stopped: bool
    quarantine: str | None


@dataclass(frozen=True, slots=True)
class TurnHead:
    """Where a turn stands in its session, without its bodies: what the places of later turns depend on."""

    row: int
    index: int
    attempt: int
    parent: int | None
    branch: str
    received: bytes | None
    """The key of the chain of messages that the agent sent, `Chain.key`; None where none is stored."""
    response_id: str | None
    request: bytes | None = None
    """The digest of its body."""
    idempotency: str | None = None
    """The digest of the key under which its client sent it."""
    destroyed: bool = False
    """Noise destroyed its answer."""
    met: int = 0
    """What befell its exchange: noise on the link and of the provider, whether or not it destroyed."""
