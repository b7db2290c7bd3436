"""Take a training step's groups from the store, in the order of their completion."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event

from msgspec import structs

from crosswind.gateway.trajectory.record import LEG, OPEN, GroupProgress, RewardState, TrainStep, Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.trainer.errors import RunFailed
from crosswind.trainer.grading.grader import Grading
from crosswind.trainer.rewards.given import given
from crosswind.trainer.rewards.reward import RewardFunction
from crosswind.trainer.rollouts.cursor import GroupCursor
from crosswind.trainer.rollouts.groups import Admission, Group, is_for_training, read_group

_FIXES = {
    "engine_no_tokens": "the engine gives no token ids, as a hosted model does: serve the policy yourself",
    "no_token_ids": "the gateway asked for no token ids: start it without --capture off",
    "other_temperature": "set the rollouts' --temperature and the trainer's --set temperature=... alike",
    "other_sampling": "leave top_p, top_k, penalties and biases out of the rollouts' requests",
    "client_error": "agents hang up before answers end: raise their timeouts, have them read to the end",
    "upstream_error": "the engine failed them: its log says why, and new rollouts train",
    "other_tokenizer": "the policy has no such token ids: a model with another tokenizer sampled them",
    "no_finite_logprobs": "the engine gave some tokens no finite log-probability: its log may say why",
    "reward_not_finite": "whoever posted them has to correct them: a reward is a finite number",
    "unknown_version": "they are of no version of this run: its --policy has to be what the engine served",
}
"""What helps against the commonest reasons for which a group can't train."""

_FOREIGN = "foreign"
_LOOK_AGAIN_S = 1.0
"""How often a group is looked at that waits for its tool legs."""


class NoGroups(RunFailed):
    """No group completed for as long as the trainer was told to wait."""


@dataclass(slots=True)
class TakenGroups:
    """The groups of one training step, and how many were dropped for good on the way, by reason."""

    groups: list[Group] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    disagreements: Counter[str] = field(default_factory=Counter)
    """Sessions of which another source gave another reward than the grader, by source."""

    @property
    def unequal(self) -> int:
        """Groups whose rewards differ."""
        return sum(not group.uniform for group in self.groups)

    def is_enough(self, wanted: int, most: int) -> bool:
        """Whether these are `wanted` groups, with others for those with all rewards equal, up to `most`."""
        found = len(self.groups)
        return found >= wanted and (self.unequal >= wanted or found >= most)


class GroupSource:
    """Takes groups from a store. `labels` must be carried by all of a group's sessions; evaluations never
    train.
    """

    def __init__(
        self,
        store: Store,
        labels: Mapping[str, str],
        cursor: GroupCursor | None = None,
        *,
        alone: bool = False,
        reward: RewardFunction = given,
        poll_seconds: float = 0.2,
        group_deadline: float = 3600.0,
        leg_deadline: float = 60.0,
        say: Callable[[str], None] = lambda said: None,
        tell: Callable[[int, int], None] = lambda position, waiting: None,
        grading: Grading | None = None,
    ) -> None:
        """Go on from the cursor, or from the store's beginning. `alone`: with sessions that are in no group,
        each as a group of its own. `reward`: what a rollout is worth.

        `say` is told, in words, when groups come that can't train, once for each reason. A group in which
        nothing has happened for `group_deadline` seconds is taken as it is; one whose tool legs have not
        delivered all their events, after `leg_deadline` seconds. `tell` is told, after each look that found
        another state, how far the source has looked and how many groups are complete and not taken.
        `grading` gives rewards to the sessions that close."""
        self.cursor = cursor or GroupCursor()
        self._store = store
        self._labels = labels
        self._alone = alone
        self._reward = reward
        self._poll_seconds = poll_seconds
        self._group_deadline = group_deadline
        self._leg_deadline = leg_deadline
        self._held: dict[str, float] = {}
        """By key, groups that wait for tool legs, with when to look again."""
        self._say = say
        self._tell = tell
        self._last_backlog = (-1, 0)
        """What `tell` was told last."""
        self._grading = grading
        self._graded: dict[str, int] = {}
        """By key, groups with when they were touched last before they were graded."""
        self._known_reasons: set[str] = set()
        """Of which `say` was told already."""

    def take(
        self,
        wanted: int,
        admission: Admission,
        stop: Event,
        *,
        most: int = 0,
        wait_seconds: float | None = None,
        ended: bool = False,
    ) -> TakenGroups | None:
        """The `wanted` groups that completed first and hold a rollout that trains; waits for them. Where
        `most` is more than `wanted`, others are taken for those with all rewards equal, up to `most` in all.

        None where `stop` was set before there were so many. Raises NoGroups after `wait_seconds` without a
        new one. `ended`: nothing more comes into the store; fewer are given then, or none.
        """
        taken = TakenGroups()
        deadline = _deadline(wait_seconds)
        while not stop.is_set():
            before = len(taken.groups)
            self.cursor.poll(self._store, alone=self._alone)
            if self._grading is not None:
                self._grade(self._grading, stop)
            ready = self.cursor.find_ready(int((time.time() - self._group_deadline) * 1e6))
            for group in ready:
                if taken.is_enough(wanted, most):
                    break
                if self._held.get(group.key, 0.0) > time.monotonic():
                    continue
                trajectories = self._store.group(group.name)
                if self._waits_for_legs(group, trajectories):
                    self._held[group.key] = time.monotonic() + _LOOK_AGAIN_S
                    continue
                self._held.pop(group.key, None)
                self.cursor.deal_with(group)
                self._admit(group.name, trajectories, admission, taken)
            self._tell_backlog(ready)
            if taken.reasons.keys() - self._known_reasons:
                self._known_reasons |= taken.reasons.keys()
                self._say(f"of the groups that came, these can't train: {describe_reasons(taken)}")
            if self._grading is not None:
                taken.disagreements += self._grading.disagreements
                self._grading.disagreements.clear()
            if ended or taken.is_enough(wanted, most):
                return taken
            if len(taken.groups) > before:
                deadline = _deadline(wait_seconds)
            elif time.monotonic() > deadline:
                raise NoGroups(self._describe_shortage(taken, wanted, wait_seconds))
            stop.wait(self._poll_seconds)
        return None

    def reload(self, planned: TrainStep, admission: Admission) -> TakenGroups:
        """The groups that an interrupted step was planned with, with the rewards of then."""
        self.cursor.consume(planned.group_ids)
        found = {one: self._store.group(one) for one in planned.group_ids}
        if (rewards := planned.rewards) is not None:
            found = {one: [_as_planned(each, rewards) for each in group] for one, group in found.items()}
        return TakenGroups([read_group(one, group, admission) for one, group in found.items()])

    def _grade(self, grading: Grading, stop: Event) -> None:
        """Give rewards to what has closed since the last time, in the groups that this run may train on."""
        waiting = list(self.cursor.waiting.values())
        self._graded = {one.key: self._graded.get(one.key, 0) for one in waiting}
        for group in waiting:
            if group.touched > self._graded[group.key] and not stop.is_set():
                trajectories = self._store.group(group.name)
                if is_for_training(trajectories, self._labels):
                    grading.grade_closed(trajectories)
                self._graded[group.key] = group.touched

    def _tell_backlog(self, ready: Sequence[GroupProgress]) -> None:
        backlog = self.cursor.position, sum(one.key in self.cursor.waiting for one in ready)
        if backlog != self._last_backlog:
            self._last_backlog = backlog
            self._tell(*backlog)

    def _say_foreign(self) -> None:
        if self._labels and _FOREIGN not in self._known_reasons:
            self._known_reasons.add(_FOREIGN)
            labels = ", ".join(f"{key}={value}" for key, value in self._labels.items())
            self._say(f"passed over: groups whose sessions don't carry {labels}, or are evaluations")

    def _describe_shortage(self, taken: TakenGroups, wanted: int, wait_seconds: float | None) -> str:
        """Describe the shortage, with what was wrong with the groups that did come."""
        what = "session without a group" if self._alone else "group"
        said = f"no {what} completed for {wait_seconds:g} s ({len(taken.groups)} of {wanted} are there)"
        if taken.reasons:
            return f"{said}; of those that came, these can't train: {describe_reasons(taken)}"
        if self._alone:
            return f"{said}: are sessions closed and rewarded, and without a group id?"
        return f"{said}: are rollouts running, with the group ids and group sizes of their sessions set?"

    def _waits_for_legs(self, group: GroupProgress, trajectories: Sequence[Trajectory]) -> bool:
        """Whether a tool leg of the group still has to deliver events, and may be waited for."""
        labels = (label for one in trajectories for label in one.session.labels.items())
        due = any(name.startswith(LEG) and said == OPEN for name, said in labels)
        return due and group.touched > (time.time() - self._leg_deadline) * 1e6

    def _admit(
        self, group_id: str, trajectories: Sequence[Trajectory], admission: Admission, taken: TakenGroups
    ) -> None:
        if not is_for_training(trajectories, self._labels):
            self._say_foreign()
            return
        trajectories = [_with_reward(each, self._reward) for each in trajectories]
        group = read_group(group_id, trajectories, admission)
        if group.trainable:
            taken.groups.append(group)
            return
        reasons = Counter(rollout.refused for rollout in group.rollouts) or Counter(group.left_out)
        taken.reasons[str(reasons.most_common(1)[0][0]) if reasons else "empty"] += 1


def _with_reward(trajectory: Trajectory, reward: RewardFunction) -> Trajectory:
    """With the reward that the function gives, where the session was given one at all."""
    if trajectory.session.reward_state is not RewardState.GIVEN or reward is given:
        return trajectory
    value = reward(trajectory)
    state = RewardState.NOT_APPLICABLE if value is None else RewardState.GIVEN
    return replace(trajectory, session=structs.replace(trajectory.session, reward=value, reward_state=state))


def _as_planned(trajectory: Trajectory, rewards: Mapping[str, float]) -> Trajectory:
    """With the reward that the session had when the step was planned: it may have come, or changed, since."""
    reward = rewards.get(trajectory.session.id)
    state = RewardState.PENDING if reward is None else RewardState.GIVEN
    session = structs.replace(trajectory.session, reward=reward, reward_state=state)
    return replace(trajectory, session=session)


def describe_reasons(taken: TakenGroups) -> str:
    """Why groups were dropped, and what helps."""
    passed = ", ".join(f"{count} {reason}" for reason, count in taken.reasons.most_common())
    return "; ".join([passed, *(fix for reason, fix in _FIXES.items() if reason in taken.reasons)])


def _deadline(wait_seconds: float | None) -> float:
    return float("inf") if wait_seconds is None else time.monotonic() + wait_seconds
