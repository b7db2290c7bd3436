"""Read a store into attempts: who was to solve which task under which noise, what it met, what came of it.

Columns are read for all sessions. Bodies, which tell of reactions and error modes, are read for at most so
many: all of a small store, else a sample that is the same each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from crosswind.figures.attempts import Arm, Attempt, ErrorMode, Fault, Reaction, Void, Withheld
from crosswind.figures.breakdown import KindOf
from crosswind.gateway.trajectory.outcomes import NoiseEvent, SessionOutcome, Withholding
from crosswind.gateway.trajectory.record import RewardState, Trajectory
from crosswind.studies.components import kind_of

if TYPE_CHECKING:
    from crosswind.studies.reactions import SessionReading

READ_IN_FULL = 1000
"""Sessions whose bodies are read."""


@dataclass(frozen=True, slots=True)
class StoredAttempts:
    """What was read of a store."""

    attempts: tuple[Attempt, ...]
    read: int
    """Sessions whose bodies were read."""

    @property
    def whole(self) -> bool:
        """Whether reactions and error modes are those of all attempts."""
        return self.read == len(self.attempts)


Selected = Callable[[SessionOutcome], bool]


def select_all(outcome: SessionOutcome) -> bool:
    return True


def with_labels(labels: Mapping[str, str]) -> Selected:
    """Select the sessions with all of these labels. Values are compared as text; an empty one selects those
    without the label."""
    if not labels:
        return select_all
    return lambda outcome: all(str(outcome.labels.get(name, "")) == value for name, value in labels.items())


class AttemptRecord(Protocol):
    """What attempts are read from: a store, or a part of one that came over the control plane."""

    def outcomes(self) -> Sequence[SessionOutcome]: ...

    def noise_events(self) -> Sequence[NoiseEvent]: ...

    def withholdings(self) -> Sequence[Withholding]: ...

    def trajectory(self, session_id: str, /) -> Trajectory | None: ...


def read_attempts(
    store: AttemptRecord,
    selected: Selected = select_all,
    *,
    arms: Mapping[Arm, Selected] | None = None,
    read_in_full: int = READ_IN_FULL,
    kinds: KindOf = kind_of,
) -> StoredAttempts:
    """The attempts of a store, in the order in which their sessions were opened. `kinds` tells the kind and
    component of an operator; `kind_by_name` spares loading all operators where nobody asks for them.

    `arms` says which sessions are clean and which noisy; others are left out. By default the label `arm`
    says it, else how the session was assigned.
    """
    chosen = [
        (outcome, arm)
        for outcome in store.outcomes()
        if selected(outcome) and (arm := _arm(outcome, arms)) is not None
    ]
    numbers = {outcome.number for outcome, _ in chosen}
    faults = _faults(store.noise_events(), chosen, kinds)
    withheld: defaultdict[int, list[Withheld]] = defaultdict(list)
    notes: defaultdict[int, list[str]] = defaultdict(list)
    for row in store.withholdings():
        if row.session not in numbers:
            continue
        if row.operator:
            withheld[row.session].append(Withheld(row.operator, row.note, row.count))
        else:
            notes[row.session].append(row.note)
    samples: dict[tuple[str, str, str | None], int] = {}
    attempts = []
    for outcome, arm in chosen:
        number = outcome.number
        attempts.append(
            _attempt(
                outcome, arm, samples, faults.get(number, ()), withheld.get(number, ()), notes.get(number, ())
            )
        )
    return _read_bodies(store, attempts, read_in_full)


def _arm(outcome: SessionOutcome, arms: Mapping[Arm, Selected] | None) -> Arm | None:
    if arms is not None:
        return next((arm for arm, selects in arms.items() if selects(outcome)), None)
    return _ARMS.get(outcome.labels.get("arm")) or _ARMS[outcome.arm]


_ARMS: Mapping[object, Arm] = {arm.value: arm for arm in Arm}


def _faults(
    events: Iterable[NoiseEvent], chosen: Sequence[tuple[SessionOutcome, Arm]], kinds: KindOf
) -> dict[int, tuple[Fault, ...]]:
    turns = {outcome.number: outcome.turns for outcome, _ in chosen}
    known: dict[tuple[str, str | None, int, int | None, str | None], Fault] = {}
    found: defaultdict[int, list[Fault]] = defaultdict(list)
    for event in events:
        count = turns.get(event.session)
        if count is None:
            continue
        stage = None if event.turn < 0 else _stage(event.turn, count)
        key = (event.operator, event.tool, event.turn, stage, event.link)
        fault = known.get(key)
        if fault is None:
            kind, component = kinds(event.operator)
            fault = known[key] = Fault(
                operator=event.operator,
                kind=kind,
                component=component,
                tool=event.tool,
                turn=event.turn,
                stage=stage,
                leg=event.link or "model",
            )
        found[event.session].append(fault)
    return {number: tuple(met) for number, met in found.items()}


_GIVEN = RewardState.GIVEN.value


def _stage(turn: int, turns: int) -> int:
    return min(2, 3 * turn // max(1, turns))


def _attempt(
    outcome: SessionOutcome,
    arm: Arm,
    samples: dict[tuple[str, str, str | None], int],
    faults: tuple[Fault, ...],
    withheld: Sequence[Withheld],
    notes: Sequence[str],
) -> Attempt:
    labels = outcome.labels
    task = str(outcome.task_id or labels.get("task") or outcome.id)
    sample = labels.get("sample", outcome.rollout_index)
    if not isinstance(sample, int):
        place = (task, arm.value, outcome.profile)
        sample = samples.get(place, 0)
        samples[place] = sample + 1
    void, note = _void(outcome, arm)
    success = outcome.reward if outcome.reward_state == _GIVEN else None
    if success is not None and not 0.0 <= success <= 1.0:
        success = min(1.0, max(0.0, success))
    told = outcome.components
    seconds = told.get("seconds") if told else None
    if not isinstance(seconds, int | float):
        seconds = 0.0 if outcome.ended_us is None else max(0, outcome.ended_us - outcome.created_us) / 1e6
    cost = told.get("cost") if told else None
    return Attempt(
        task=task,
        sample=sample,
        arm=arm,
        profile=outcome.profile if arm is Arm.NOISY else None,
        sessions=(outcome.id,),
        success=success,
        void=void,
        note=note,
        turns=outcome.turns,
        tokens_in=outcome.prompt_tokens,
        tokens_out=outcome.completion_tokens,
        seconds=float(seconds),
        cost=float(cost) if isinstance(cost, int | float) else None,
        faults=faults,
        assigned=outcome.operators,
        withheld=tuple(withheld),
        no_noise=tuple(notes),
    )


def _void(outcome: SessionOutcome, arm: Arm) -> tuple[Void | None, str]:
    """Why it doesn't count, if it doesn't, and a note."""
    said = outcome.labels.get("void")
    if said:
        reason, _, note = str(said).partition(": ")
        return (Void(reason), note) if reason in _VOIDS else (Void.INFRASTRUCTURE, str(said))
    if outcome.failed is not None:
        return Void.UPSTREAM if outcome.failed == "upstream" else Void.GATEWAY, ""
    if outcome.noise_stopped and arm is Arm.NOISY:
        return Void.NOISE_STOPPED, ""
    remark = outcome.components.get("note") if outcome.components else None
    return None, remark if isinstance(remark, str) else ""


_VOIDS = frozenset(void.value for void in Void)


def _read_bodies(store: AttemptRecord, attempts: list[Attempt], most: int) -> StoredAttempts:
    """The attempts, with what the bodies of at most so many of them say."""
    from crosswind.studies.reactions import read_session

    if most == 0:
        return StoredAttempts(tuple(attempts), 0)
    if len(attempts) <= most:
        chosen = list(range(len(attempts)))
    else:
        met = [place for place, one in enumerate(attempts) if one.faults or one.success == 0.0]
        chosen = sorted(met, key=lambda place: sha256(attempts[place].sessions[0].encode()).digest())[:most]
    solved: dict[str, tuple[str, ...]] = {}
    readings: dict[int, SessionReading] = {}
    for place in chosen:
        attempt = attempts[place]
        found = store.trajectory(attempt.sessions[0])
        if found is None:
            continue
        reading = readings[place] = read_session(found)
        eligible = _count_places(found, reading.tools)
        attempts[place] = _with_reading(attempt, reading, eligible)
        if attempt.arm is Arm.CLEAN and attempt.success == 1.0:
            solved.setdefault(attempt.task, reading.calls)
    for place, reading in readings.items():
        attempt = attempts[place]
        right = solved.get(attempt.task)
        if attempt.error_mode is ErrorMode.OTHER and right is not None and set(right) - set(reading.calls):
            attempts[place] = replace(attempt, error_mode=ErrorMode.WRONG_CALL)
    return StoredAttempts(tuple(attempts), len(readings))


def _count_places(found: Trajectory, tools: Set[str]) -> dict[str, int | None]:
    """By operator, the places that it had; none where its rules are for tools that the session lacks."""
    from crosswind.gateway.trajectory.dose import read_dose

    elsewhere: defaultdict[str, bool] = defaultdict(lambda: True)
    for rule in found.session.plan.get("rules", ()):
        named = rule.get("tools") or ("*",)
        elsewhere[rule["operator"]] &= not any(fnmatchcase(tool, glob) for tool in tools for glob in named)
    return {
        name: 0 if dose.eligible is None and not dose.decided and tools and elsewhere[name] else dose.eligible
        for name, dose in read_dose(found).operators.items()
    }


def _with_reading(attempt: Attempt, reading: SessionReading, eligible: Mapping[str, int | None]) -> Attempt:
    faults = []
    for one in reading.faults:
        kind, component = kind_of(one.event.operator)
        link = one.event.draw.get("link") if one.event.turn_index < 0 else None
        # It solved the task without what was lost: there was nothing to react to.
        needless = one.reaction is Reaction.GAVE_UP and attempt.success == 1.0
        faults.append(
            Fault(
                operator=one.event.operator,
                kind=kind,
                component=component,
                tool=one.event.tool,
                turn=one.turn,
                stage=_stage(one.turn, attempt.turns),
                leg=str(link or "model"),
                reaction=None if needless else one.reaction,
                recovered=None if needless else one.recovered,
                turns_to_recover=one.turns_to_recover,
            )
        )
    failed = attempt.success is not None and attempt.success < 1.0
    return replace(
        attempt,
        tool_calls=reading.tool_calls,
        faults=tuple(faults),
        eligible=eligible,
        error_mode=reading.error_mode if failed else None,
    )
