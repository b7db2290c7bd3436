"""The trajectory record: sessions, turns, events, rewards, settings and training steps. The rows of the
ledger are in `ledger_rows`.

Plain data. Times are microseconds since the epoch, UTC. JSON-valued fields hold Python data, not text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.ledger_rows import (
    DeliveredId,
    DestroyedAnswer,
    LedgerTextsErased,
    NameMap,
    Shown,
)

Json = Mapping[str, Any]
WIRE = "wire:"
"""Begins the anchors of events of tool legs. They belong to no turn: their turn index is -1."""
LEG = "crosswind.leg."
"""Begins the label of a leg outside the gateway that ends with its session: whether all its events came."""
OPEN, ENDED = "open", "ended"


class Arm(StrEnum):
    """Which half of a group a rollout belongs to."""

    CLEAN = "clean"
    NOISY = "noisy"


class SessionStatus(StrEnum):
    """Whether a session is open or closed."""

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
    """A session and its later updates. `plan` never changes."""

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
    """Why the session may not be used for training (an uncertain identity, for example), or None."""
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
    """One choice: the token ids and log-probabilities (natural logarithm) as the engine reported them."""

    index: int
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    finish_reason: str | None = None
    versions: tuple[VersionSpan, ...] = ()
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()
    """The likeliest tokens at each position, if requested: see `crosswind.gateway.trajectory.likelihood`."""


class TurnFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a turn failed, and who caused it."""

    source: Source
    kind: str = msgspec.field(name="type")
    message: str | None = None
    """None if content is not recorded."""


class AnsweredCall(msgspec.Struct, frozen=True):
    """A call of a tool that noise added, with the result the gateway gave."""

    id: str
    name: str
    arguments: str
    result: str


class InnerRound(msgspec.Struct, frozen=True, omit_defaults=True):
    """An exchange with the policy that the gateway answered itself, before the turn's own exchange.

    The tokens are None if a secret was masked, because masked text has other tokens.
    """

    produced: str
    calls: tuple[AnsweredCall, ...]
    fitness: Fitness
    usage: Json
    prompt_ids: list[int] | None = None
    token_ids: list[list[int]] | None = None
    """One list per choice, as in the next two fields."""
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
    """Whether a request header asked for no new noise."""
    model: str | None = None
    response_id: str | None = None
    kept: bool = False
    """Whether the provider keeps the response, so that a later request may name it."""
    policy_first: str | None = None
    policy_last: str | None = None
    received: View | None = None
    sent: View | None = None
    produced: View | None = None
    delivered_view: View | None = None
    """None if the delivered body is the produced one."""
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
    inner: tuple[InnerRound | UpstreamAttempt, ...] = ()
    """Rounds answered inside the gateway, and failed requests to the upstream."""
    request: str | None = None
    """The hexadecimal digest of the request body. A retry has the same one."""
    idempotency: str | None = None
    """The digest of the idempotency key. A retry has the same one."""

    @property
    def rounds(self) -> list[InnerRound]:
        """The rounds answered inside the gateway: exchanges with the policy that the agent never saw."""
        return [entry for entry in self.inner if isinstance(entry, InnerRound)] if self.inner else []


class Event(msgspec.Struct, frozen=True):
    """What an operator did. If it was withheld, `after` is None, and `note` says why."""

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
    version: int = 1
    """The operator's."""

    @property
    def withheld(self) -> bool:
        """Whether an operator drew it and it did not act. Without a slot an event is about no operator: it
        says why a request had no noise."""
        return self.after is None and self.slot != ""


class Reward(msgspec.Struct, frozen=True):
    """A posted reward. Rewards are appended, never overwritten; the latest counts."""

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
    """An update of a session: noise stopped, the reason for a quarantine with its confidence, labels, or a
    reward that won't come.

    None leaves a field unchanged. `reward_state` is for expired and not_applicable; it never replaces a given
    reward.
    """

    session_id: str
    noise_stopped: bool | None = None
    quarantine: str | None = None
    reward_state: RewardState | None = None
    labels: Json | None = None
    confidence: float | None = None
    """Labels to add."""


class SessionDeleted(msgspec.Struct, frozen=True):
    """Delete a session with all its rows. `Store.sweep` then deletes what is left of a long one."""

    session_id: str


class Delivery(msgspec.Struct, frozen=True):
    """The outcome of a turn after its release to the client."""

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


class ProviderObject(msgspec.Struct, frozen=True):
    """Something that a provider keeps, and the tenant that made it."""

    id: str
    tenant: str
    """Empty: a session without a tenant, which the operator opened."""
    created_us: int


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A text that a noise model wrote for an operator in a session that requested or was shown it."""

    session_id: str
    key: str
    """A hash of the prompt and the model."""
    operator: str
    model: str
    text: str
    score: float | None
    """The judge's score, from 1 to 5; None if no judge scored it."""
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
    | DestroyedAnswer
    | LedgerTextsErased
    | Reward
    | Setting
    | ProviderObject
)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A session with its turns and events, in order."""

    session: Session
    turns: tuple[Turn, ...]
    events: tuple[Event, ...]
    items: Mapping[str, int] | None = None
    """Of a noisy session, what noise was decided on, by site: message parts, declared tools, exchanges. None:
    not counted."""


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group's rollouts are. Times are the store's."""

    key: str
    """What it is called for good."""
    name: str
    """What `Store.group` knows it by: its id, and its tenant where another tenant used that id before."""
    opened: int
    """When its first session came."""
    touched: int
    """When a session of it was last opened, closed, or rewarded for the first time."""
    completed: int
    """When its last rollout settled, of those that have."""
    settled: bool
    """Whether all `group_size` rollouts are closed, and rewarded or never to be. One that was opened again
    counts as soon as one of its sessions is rewarded, or none of them waits."""
    rewarded: bool
    """Whether at least one of them is closed and rewarded."""


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
    rewards: Json | None = None
    """Of the sessions that it trains on, by id, as they stood when it was planned. None: an older row."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """What a process compares before the next turn of a session it holds in memory: did others add rows?

    Row numbers grow within a session. `row` is that of the newest turn, which its ledger rows share; 0 if
    there is none. A process reads the rows between its own number and this one; its own rows come along, and
    applying a row twice is harmless.
    """

    row: int
    status: SessionStatus
    noise_stopped: bool
    quarantine: str | None
    labels: str = ""
    """JSON text: tool legs may have added some."""


@dataclass(frozen=True, slots=True)
class TurnHead:
    """A turn's position in its session without its bodies: what the positions of later turns depend on."""

    row: int
    index: int
    attempt: int
    parent: int | None
    branch: str
    received: bytes | None
    """The `Chain.key` of the messages that the agent sent; None if they are not stored."""
    response_id: str | None
    request: bytes | None = None
    """The digest of the request body."""
    idempotency: str | None = None
    """The digest of the client's idempotency key."""
    destroyed: bool = False
    """Whether noise destroyed the answer."""
    met: int = 0
    """How many link and provider faults were injected into the exchange."""
