"""Judge the rollouts of completed groups: which may train, and why the others may not.

A session of a group ends up in one of three ways. It is *left out* if its reward says nothing about its arm
(quarantined, noise stopped half-way, failed by the infrastructure, no reward). It is *refused* if its reward
counts in the baseline and its tokens don't train (a turn unfit for training, tokens too old). Otherwise it
trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgspec

from crosswind.gateway.trajectory.backlog import carries
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Arm, RewardState, Session, SessionStatus, Trajectory, Turn
from crosswind.injectors.engine.dose import CALM, SessionDose
from crosswind.trainer.rollouts.advantages import are_equal
from crosswind.trainer.rollouts.failures import find_infrastructure_failure, leave_out_destroyed
from crosswind.trainer.rollouts.sequences import find_unfit_round, find_unusable_tokens, sampling_versions

_NEUTRAL_SAMPLING: Mapping[str, tuple[object, ...]] = {
    "top_p": (None, 1),
    "top_k": (None, -1, 0),
    "min_p": (None, 0),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "repetition_penalty": (None, 1),
    "logit_bias": (None, {}),
    "allowed_token_ids": (None, []),
    "bad_words": (None, []),
    "min_tokens": (None, 0),
}
"""Values that leave the policy's distribution as it is, by the request's field (OpenAI's and vLLM's)."""
_UNNAMED_TEMPERATURE = 1.0
"""What engines sample at where a request names no temperature."""
_Sampling: Any = msgspec.defstruct(
    "_Sampling", [(name, Any, None) for name in ("temperature", *_NEUTRAL_SAMPLING)]
)
"""What of a request decides how the engine samples: only these members are decoded."""
_UNCHANGED = _Sampling()
_decode_sampling = msgspec.json.Decoder(_Sampling).decode


@dataclass(frozen=True, slots=True)
class Admission:
    """The conditions that a rollout must meet to train."""

    versions: Mapping[str, int]
    """Ordinal of this run's newest confirmed policy versions; tokens of any other version don't train."""
    staleness: int
    """How many versions behind the newest a rollout's oldest token may be."""
    temperature: float
    """The temperature that all was sampled at: log-probabilities at another one answer another question."""
    doubted: frozenset[str] = frozenset()
    """Versions that the engine was seen not to serve: nothing sampled as one of them trains."""
    is_retired: Callable[[str], bool] = lambda name: False
    """Whether a name that isn't among the versions is one of this run's older ones."""
    void_failures: bool = True
    """Whether a rollout that the infrastructure failed is left out; else its reward counts."""
    any_version: bool = False
    """Whether tokens of every policy train, whichever it was: their log-probabilities are the behaviour's."""
    vocabulary: int | None = None
    """How many tokens the policy has; None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """One session of a group. `refused` says why its tokens don't train; None where they do."""

    session: Session
    reward: float
    turns: tuple[Turn, ...]
    """One attempt per turn, in order: what the conversation went on from, without what noise destroyed."""
    refused: str | None = None
    staleness: int = 0
    """Versions between its oldest token and the newest version."""
    dose: SessionDose = CALM
    """What noise it was assigned, and what became of it."""

    @property
    def arm(self) -> Arm:
        """The arm that it was assigned."""
        return self.session.arm

    @property
    def exposed(self) -> bool:
        """Whether it met noise of its type."""
        return self.dose.exposed

    @property
    def noise_type(self) -> str | None:
        """The one operator that a noisy rollout carries, where the plan drew one."""
        value = self.session.plan.get("noise_type")
        return value if isinstance(value, str) else None

    @property
    def level(self) -> int | None:
        value = self.session.plan.get("level")
        return value if isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class Group:
    """The rollouts of one task that are compared with one another, by rollout index."""

    id: str
    rollouts: tuple[Rollout, ...]
    left_out: tuple[str, ...] = ()
    """Why sessions of the group are not among the rollouts, one reason each."""

    @property
    def rewards(self) -> list[float]:
        return [rollout.reward for rollout in self.rollouts]

    @property
    def gone(self) -> bool:
        """The store has no session of it."""
        return not self.rollouts and not self.left_out

    @property
    def uniform(self) -> bool:
        """All rewards are equal, over both arms: nothing to learn, the group is filtered (NoisyAgent
        §A.6).
        """
        return are_equal(self.rewards)

    @property
    def trainable(self) -> list[int]:
        """Indices into `rollouts` of those that train."""
        return [index for index, rollout in enumerate(self.rollouts) if rollout.refused is None]

    @property
    def flat_arms(self) -> int:
        """Arms, of a group that isn't filtered, that get advantage 0: one rollout only, or all rewards
        equal.
        """
        if self.uniform:
            return 0
        arms: dict[Arm, list[float]] = {}
        for rollout in self.rollouts:
            arms.setdefault(rollout.arm, []).append(rollout.reward)
        return sum(map(are_equal, arms.values()))


def read_group(group_id: str, trajectories: Sequence[Trajectory], admission: Admission) -> Group:
    """Judge every session of a group."""
    rollouts, left_out = [], []
    for trajectory in trajectories:
        turns = _list_turns(trajectory)
        reason = _exclusion_reason(trajectory.session)
        if reason is None and admission.void_failures:
            reason = find_infrastructure_failure(turns)
        if reason is None:
            rollouts.append(_judge(trajectory, turns, admission))
        else:
            left_out.append(reason)
    left_out += ["never_opened"] * _count_missing(trajectories)
    return Group(group_id, tuple(rollouts), tuple(left_out))


def _count_missing(trajectories: Sequence[Trajectory]) -> int:
    """How many of the group's rollouts have no session."""
    sessions = [trajectory.session for trajectory in trajectories]
    size = max((one.group_size or 0 for one in sessions), default=0)
    opened = {one.id if one.rollout_index is None else one.rollout_index for one in sessions}
    return max(0, size - len(opened))


def is_for_training(trajectories: Sequence[Trajectory], labels: Mapping[str, str]) -> bool:
    """Whether a group's sessions carry all of `labels` and none is an evaluation's."""
    return all(
        trajectory.session.labels.get("purpose") != "eval"
        and all(carries(trajectory.session.labels, key, value) for key, value in labels.items())
        for trajectory in trajectories
    )


def _exclusion_reason(session: Session) -> str | None:
    if session.quarantine is not None:
        return "quarantined"
    if session.noise_stopped:
        return "noise_stopped"
    if session.status is not SessionStatus.CLOSED:
        return "open"
    if session.reward_state is RewardState.NOT_APPLICABLE:
        return "void"
    if session.reward_state is not RewardState.GIVEN or session.reward is None:
        return f"reward_{session.reward_state}"
    finite = isinstance(session.reward, int | float) and isfinite(session.reward)
    return None if finite else "reward_not_finite"


def _list_turns(trajectory: Trajectory) -> tuple[Turn, ...]:
    """The turns in which the policy sampled what the conversation went on from."""
    sampled = last_attempts([turn for turn in trajectory.turns if turn.fitness != Fitness.NOTHING_SAMPLED])
    return leave_out_destroyed(sampled, trajectory.events)


def _judge(trajectory: Trajectory, turns: tuple[Turn, ...], admission: Admission) -> Rollout:
    session = trajectory.session
    reward = float(session.reward if session.reward is not None else 0.0)
    dose = read_dose(trajectory)
    refused = next(
        (reason for turn in turns if (reason := _refusal_reason(turn, admission)) is not None), None
    )
    if refused is None and not turns:
        refused = "no_turns"
    if refused is not None:
        # As plain text: reasons are keys of figures, and orjson writes no enums as keys.
        return Rollout(session, reward, turns, str(refused), dose=dose)
    if admission.any_version:
        return Rollout(session, reward, turns, dose=dose)
    oldest = min(admission.versions[name] for turn in turns for name in sampling_versions(turn))
    age = max(admission.versions.values()) - oldest
    return Rollout(session, reward, turns, "stale" if age > admission.staleness else None, age, dose)


def last_attempts(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Of several attempts at a turn the last one: the conversation went on from it."""
    latest: dict[tuple[str, int], Turn] = {}
    for turn in turns:
        key = (turn.branch, turn.index)
        if key not in latest or turn.attempt >= latest[key].attempt:
            latest[key] = turn
    return tuple(sorted(latest.values(), key=lambda turn: turn.index))


def _refusal_reason(turn: Turn, admission: Admission) -> str | None:
    """Why this turn can't be trained on; None where it can."""
    if turn.fitness != Fitness.FIT:
        return turn.fitness
    if turn.prompt_ids is None or len(turn.completions) != 1:
        return "not_one_completion"
    if (reason := find_unfit_round(turn)) is not None:
        return reason
    if (reason := find_unusable_tokens(turn, admission.vocabulary)) is not None:
        return reason
    if (reason := _wrong_version(turn, admission)) is not None:
        return reason
    return _changed_sampling(turn, admission.temperature)


def _wrong_version(turn: Turn, admission: Admission) -> str | None:
    if admission.any_version:
        return None
    names = sampling_versions(turn)
    if names & admission.doubted:
        return Fitness.POLICY_MISMATCH
    others = names - admission.versions.keys()
    if names and not others:
        return None
    return "stale" if names and all(map(admission.is_retired, others)) else "unknown_version"


def _changed_sampling(turn: Turn, temperature: float) -> str | None:
    """How the request had the engine sample from another distribution than the policy's at the temperature;
    None where it didn't, or where its body isn't stored.
    """
    if turn.sent is None:
        return None
    asked = _decode_sampling(turn.sent.bytes())
    sampled_at = asked.temperature
    if not isinstance(sampled_at, int | float):
        sampled_at = _UNNAMED_TEMPERATURE
    if abs(sampled_at - temperature) > 1e-9:
        return "other_temperature"
    asked.temperature = None
    if asked == _UNCHANGED:
        return None
    changed = any(getattr(asked, name) not in neutral for name, neutral in _NEUTRAL_SAMPLING.items())
    return "other_sampling" if changed else None
