"""Who gives rewards in the trainer's place, and the rows that come of it.

A grader looks at each session once it is closed, whether it was given a reward already or not. What it gives
is posted like any reward, with its source and components: the latest counts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from crosswind.gateway.trajectory.conversations import READABLE, read_conversations
from crosswind.gateway.trajectory.export_format import ViewName
from crosswind.gateway.trajectory.record import (
    Reward,
    RewardState,
    Row,
    Session,
    SessionMarked,
    SessionStatus,
    Trajectory,
)
from crosswind.gateway.trajectory.store import Store
from crosswind.trainer.errors import RunFailed

MOST_FAILURES = 8
"""Sessions in a row that a grader may fail at before the run ends: each of them is lost to training."""
SUCCESS = 0.5
"""Two sources disagree where one gives at least this and the other less."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A reward; None where the grader failed, as `note` says."""

    reward: float | None
    components: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


class Grader(Protocol):
    """Gives rewards."""

    @property
    def source(self) -> str:
        """The source of its rewards in the record."""
        ...

    def grade(self, sessions: Sequence[Trajectory]) -> list[Grade]:
        """One for each session, in their order."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Grading:
    """Grades the sessions that close, and counts where another source said otherwise."""

    store: Store
    grader: Grader
    say: Callable[[str], None]
    disagreements: Counter[str] = field(default_factory=Counter)
    """By the other source."""
    _failures: int = 0
    """In a row."""

    def grade_closed(self, trajectories: Sequence[Trajectory]) -> bool:
        """Grade those that are closed, and that this grader hasn't graded yet; whether there were any."""
        due, rows = [], list[Row]()
        for one in filter(_is_gradable, trajectories):
            own = [each for each in self.store.rewards(one.session.id) if each.source == self.grader.source]
            if not own:
                due.append(one)
            elif one.session.reward_source != self.grader.source:
                # Somebody posted another one since: the grader's counts, and needn't be asked again.
                rows.append(self._make_row(one.session, Grade(own[-1].reward, own[-1].components)))
        readable = [one for one in due if describe_conversation(one)]
        grades = self.grader.grade(readable) if readable else []
        given = {one.session.id: grade for one, grade in zip(readable, grades, strict=True)}
        unreadable = Grade(None, note=f"it has no answer that is stored as {READABLE}")
        rows += [self._make_row(one.session, given.get(one.session.id, unreadable)) for one in due]
        if rows:
            self.store.write(rows)
        return bool(rows)

    def _make_row(self, session: Session, grade: Grade) -> Row:
        if grade.reward is None:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                raise RunFailed(
                    f"the rewards of {self.grader.source} failed for {self._failures} sessions in a row: "
                    f"{grade.note}; fix that, and start the run again"
                )
            self.say(f"{session.id} gets no reward of {self.grader.source}: {grade.note}")
            return SessionMarked(
                session.id, reward_state=RewardState.NOT_APPLICABLE, labels={"void": self.grader.source}
            )
        self._failures = 0
        given = session.reward
        if given is not None and (given >= SUCCESS) is not (grade.reward >= SUCCESS):
            self.disagreements[session.reward_source or "agent"] += 1
        now = time.time_ns() // 1000
        return Reward(session.id, now, grade.reward, dict(grade.components), self.grader.source)


def _is_gradable(one: Trajectory) -> bool:
    session = one.session
    waits = session.reward_state in (RewardState.PENDING, RewardState.GIVEN)
    return waits and session.status is SessionStatus.CLOSED and bool(one.turns)


def describe_task(one: Trajectory) -> dict[str, Any]:
    """What a grader is told of a session's task."""
    session = one.session
    return {"id": session.task_id, "session": session.id, **session.labels}


def describe_conversation(one: Trajectory) -> str:
    """What was said and done in a session, as the policy saw it: a JSON list of messages; empty where it
    isn't on record in a form that can be read.
    """
    found = read_conversations(one.turns, ViewName.PERTURBED)
    return json.dumps(found[-1].messages, ensure_ascii=False) if found else ""
