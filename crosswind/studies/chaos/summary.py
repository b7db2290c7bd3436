"""A run's attempts, read from its store, and the lines that are printed of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from crosswind.figures.attempts import Arm, Attempt, Fault, Void, Withheld
from crosswind.figures.figures import Figures
from crosswind.gateway.trajectory.record import Session
from crosswind.gateway.trajectory.store import Store, iterate_sessions, open_existing


def read_attempts(place: str, run: str) -> list[Attempt]:
    """The attempts of a run."""
    with closing(open_existing(place)) as store:
        return [_read(store, session) for session in iterate_sessions(store, label={"run": run})]


def _read(store: Store, session: Session) -> Attempt:
    events = store.events(session.id)
    void = session.labels.get("void")
    return Attempt(
        task=str(session.task_id),
        sample=session.rollout_index or 0,
        arm=Arm(session.arm.value),
        profile=session.plan.get("profile"),
        sessions=(session.id,),
        success=session.reward,
        void=None if void is None else Void(str(void).partition(":")[0]),
        note=str(session.reward_components.get("note", "")),
        faults=tuple(
            Fault(
                operator=one.operator,
                kind=one.operator.partition(".")[0],
                component=None,
                tool=one.tool,
                turn=one.turn_index,
            )
            for one in events
            if one.after is not None and one.slot
        ),
        assigned=tuple(dict.fromkeys(rule["operator"] for rule in session.plan.get("rules", ()))),
        withheld=tuple(Withheld(one.operator, one.note, 1) for one in events if one.withheld),
        no_noise=tuple(one.note for one in events if not one.slot),
    )


def describe(figures: Figures) -> Iterator[str]:
    """The drop, by operator, and the tasks that flipped."""
    drop = figures.drop
    if drop.paired is None:
        yield drop.because or "no task has an attempt that counts in both arms"
    else:
        one = drop.paired
        yield (
            f"success {one.before:.1%} clean, {one.after:.1%} noisy: {100 * one.difference:+.1f} points "
            f"[{100 * one.low:+.1f}, {100 * one.high:+.1f}], paired over {one.n} tasks"
        )
    for row in figures.rows:
        if row.as_exposed is not None:
            lost = 100 * row.as_exposed.difference
            yield f"  {row.by} {row.name}: {lost:+.1f} points, met by {row.exposed}"
    for flip in figures.flips:
        sessions = " ".join((*flip.sessions_before, *flip.sessions_after))
        yield f"  task {flip.task}, sample {flip.sample}: {flip.before:g} to {flip.after:g} ({sessions})"
