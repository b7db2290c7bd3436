"""A live session, what a request claims about its session, and how a session is made with a frozen plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog
from msgspec import structs

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.sections import Dose
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.recorder.queue import Submission
from crosswind.gateway.recorder.remains import Remains
from crosswind.gateway.sessions.caps import apply_caps, may_be_noisy
from crosswind.gateway.sessions.ledger import Ledger
from crosswind.gateway.sessions.profiles import Profiles, UnreadableProfileError
from crosswind.gateway.sessions.turns import TokenChains, TurnIndex
from crosswind.gateway.trajectory.record import Arm, Row, Session, SessionMarked, SessionState
from crosswind.injectors.engine.faults import FaultMemory
from crosswind.injectors.engine.noise_type import is_type_open
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.engine.resume import Walks
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.targets import Half, ToolClass

_log = structlog.get_logger("crosswind.sessions")

_SESSION_BYTES = 10_000
"""What a session takes besides its turns and histories."""
_TURN_BYTES = 5_000
"""What a turn takes besides its texts: messages as they were read, its position, decisions, and caches."""


@dataclass(slots=True)
class Seen:
    """How much of the store's rows the copy of a session in memory includes."""

    stored: bool = False
    """It is known to be in the store; if it is no longer there, it was deleted."""
    compared: bool = False
    """It was compared with the store: another worker may have opened it at the same moment."""
    row: int = 0

    def covers(self, state: SessionState) -> bool:
        return self.compared and self.row >= state.row

    def up_to(self, state: SessionState) -> None:
        """Record that everything up to this state is known."""
        self.stored = self.compared = True
        self.row = max(self.row, state.row)


@dataclass(slots=True, eq=False)
class LiveSession:
    """A session in memory."""

    record: Session
    plan: Plan
    ledger: Ledger = field(default_factory=Ledger)
    turns: TurnIndex = field(default_factory=TurnIndex)
    tokens: TokenChains = field(default_factory=TokenChains)
    readers: dict[str, SessionReader] = field(default_factory=dict)
    walks: Walks = field(default_factory=Walks)
    """Walks along its conversation; later turns continue from their ends."""
    fault_memory: FaultMemory = field(default_factory=dict)
    remains: Remains = field(default_factory=Remains)
    """The secrets that it has shown, to mask what noise leaves of them."""
    pending: list[Row] = field(default_factory=list)
    """Rows that go to the store along with the next turn."""
    first_user_turn: str = ""
    """The first user turn of the last request that named no session."""
    unwritten: bool = False
    """Its row goes to the store with its first turn."""
    busy: int = 0
    """Turns that are in flight."""
    rows: Submission | None = None
    """The last rows that the recorder got of it."""
    weighed: int = 0
    """Its size in bytes when it was last measured."""
    seen: Seen = field(default_factory=Seen)
    stands_in: bool = False
    """For a session that can't be read: nothing of it is known, nor shown."""
    type_choice: TypeChoice | None = None
    """Its noise type may still be chosen, when its first request is known."""
    behind: bool = False
    """Other workers may have shown the policy things unknown here, so nothing new is decided."""

    def reader(self, codec: Codec) -> SessionReader:
        reader = self.readers.get(codec.name)
        if reader is None:
            reader = self.readers[codec.name] = SessionReader(codec)
        return reader

    @property
    def dispensable(self) -> bool:
        """Whether it may leave memory: the store has it, or was never meant to."""
        if self.busy:
            return False
        return not self.unwritten if self.rows is None else self.rows.out

    def size(self) -> int:
        """Its approximate memory in bytes: its turns, and its histories as received and as stored."""
        size = _SESSION_BYTES + _TURN_BYTES * self.turns.count + self.walks.size
        for reader in self.readers.values():
            size += 2 * reader.histories.size
        return size

    @property
    def training(self) -> bool:
        """Whether it is a rollout of a group, so that its turns may train."""
        return self.record.group_id is not None

    def captures(self, mode: str, offered: bool) -> bool:
        """Whether its token ids are requested. `mode` is the setting `capture`; `offered` says that the
        upstream is configured to have them.
        """
        return mode == "on" or (mode == "auto" and (offered or self.training))

    def mark(self, **changes: Any) -> None:
        """Change the record in memory. The caller writes the row."""
        self.record = structs.replace(self.record, **changes)

    def put_in_doubt(self, why: str, confidence: float) -> None:
        """Quarantine it, since its identity is uncertain. The first reason counts."""
        if self.record.quarantine is None:
            self.mark(quarantine=why, confidence=confidence)
            self.pending.append(SessionMarked(self.record.id, quarantine=why, confidence=confidence))


class SessionClaim(msgspec.Struct, frozen=True):
    """What a request says about its session."""

    session_id: str | None
    identity: str
    caller: Caller
    profile: str | None = None
    seed: int | None = None
    task_id: str | None = None
    group_id: str | None = None


class Opening(msgspec.Struct, frozen=True):
    """Everything that a new session is made from. `arm` None: noisy if the profile has rules."""

    record: Session
    """The session's row, as yet without its arm and plan."""
    profile: str
    seed: int
    name: str
    """Seeds the session's draws if it has neither task nor group. Never a random id."""
    arm: str | None = None
    level: int | None = None
    noise_type: str | None = None
    scope: str = "session"
    curriculum_version: int | None = None
    at_least_one: bool = False
    """Whether its noise acts at the first place that it has, also where the profile doesn't say so."""
    user_can_answer: bool | None = None
    phrases: Half | None = None
    assume_replayable: bool = False
    """Whether a profile's assumption that every call may be repeated is believed."""
    dose: Dose = msgspec.field(default_factory=Dose)
    tool_classes: tuple[Mapping[str, ToolClass], ...] = ()
    """What is declared of tools beside the profile, the strongest first."""

    def scope_key(self) -> str:
        """The key that sessions with equal draws share: the task, the group, or this session's task, group
        and rollout index.
        """
        task, group = self.record.task_id, self.record.group_id
        if self.scope == "task" and task is not None:
            return task
        if self.scope == "group" and group is not None:
            return group
        if task is None and group is None:
            return self.name
        return f"{task}\x1f{group}\x1f{self.record.rollout_index}"


def _may_be_noisy(opening: Opening) -> bool:
    """Whether the caps allow noise. Rollouts of a group are the experiment's own traffic: caps skip them."""
    key = opening.scope_key()
    return opening.record.group_id is not None or may_be_noisy(
        opening.dose, opening.record.tenant, seed=opening.seed, key=key
    )


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """What a session's plan is made from again once its first request shows which types have a place."""

    profile: Profile
    opening: Opening
    dose: Assignment

    def make_plan(self, noise_type: str | None = None, allowed: tuple[str, ...] | None = None) -> Plan:
        dose = dataclasses.replace(self.dose, noise_type=noise_type, allowed_types=allowed)
        return _make_plan(self.profile, self.opening, dose)


def make_session(profiles: Profiles, opening: Opening) -> LiveSession:
    """Make a session and freeze its plan.

    Raises ProfileError or ValueError if the profile, level, type, arm or scope is wrong.
    """
    profile = profiles.get(opening.profile)
    dose = Assignment(
        opening.arm or ("noisy" if profile.rules and _may_be_noisy(opening) else "clean"),
        opening.noise_type,
        opening.level,
        opening.curriculum_version,
        opening.at_least_one,
    )
    plan = _make_plan(profile, opening, dose)
    choice = TypeChoice(profile, opening, dose) if plan.rules and is_type_open(profile, dose) else None
    return LiveSession(_with_plan(opening.record, plan), plan, type_choice=choice)


def make_or_replace(profiles: Profiles, opening: Opening) -> LiveSession:
    """Make a session; one whose stored profile can't be used is clean, and isn't trained on."""
    try:
        return make_session(profiles, opening)
    except UnreadableProfileError as error:
        _log.error("a session is opened without noise", session=opening.record.id, error=str(error))
        record = structs.replace(opening.record, quarantine="its profile could not be read")
        return make_session(profiles, structs.replace(opening, record=record, profile="off"))


def settle_type(session: LiveSession, choice: TypeChoice, allowed: tuple[str, ...]) -> None:
    """Freeze the plan of a session that isn't written yet, with a type among those allowed."""
    session.plan = choice.make_plan(allowed=allowed)
    session.record = _with_plan(session.record, session.plan)


def _with_plan(record: Session, plan: Plan) -> Session:
    return structs.replace(record, plan=_share_parts(plan.to_json()), arm=Arm(plan.arm))


def _make_plan(profile: Profile, opening: Opening, dose: Assignment) -> Plan:
    plan = make_plan(
        profile,
        Seed(opening.seed, opening.scope_key(), opening.scope),
        dose,
        labels=opening.record.labels,
        user_can_answer=opening.user_can_answer,
        phrases=opening.phrases,
        tool_classes=opening.tool_classes,
    )
    if plan.assume_tools != "declared" and not opening.assume_replayable:
        plan = dataclasses.replace(plan, assume_tools="declared")
    return apply_caps(plan, opening.dose)


_parts: dict[str, Any] = {}


def _share_parts(plan: dict[str, Any]) -> dict[str, Any]:
    """A stored plan with the large parts of the last one where they are equal: thousands stay in memory."""
    for name in ("rules", "bounds", "tool_classes", "packs"):
        if plan[name] == _parts.get(name):
            plan[name] = _parts[name]
        else:
            _parts[name] = plan[name]
    return plan


def make_stand_in(profiles: Profiles, session_id: str) -> LiveSession:
    """A stand-in for a session that can't be read: without new noise, and unfit for training."""
    plan = make_plan(profiles.get("off"), Seed(0, session_id), Assignment("clean"))
    record = Session(session_id, now_us(), plan.to_json(), quarantine="the store could not be read")
    return LiveSession(record, plan, Ledger(complete=False), unwritten=True, stands_in=True)
