"""The conversations of a store."""

from __future__ import annotations

from collections.abc import Iterator

from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.engine.plan import Plan
from crosswind.studies.dialogues import Dialogue, make_dialogue
from crosswind.studies.stored_requests import read_stored_request


def read_dialogues(store: Store, limit: int) -> Iterator[Dialogue]:
    """The longest conversation of each of the newest sessions, as its agent sent it."""
    for session in store.sessions(limit=limit):
        trajectory = store.trajectory(session.id)
        if trajectory is not None and (found := _longest(trajectory)) is not None:
            yield found


def _longest(trajectory: Trajectory) -> Dialogue | None:
    """The conversation of the turn with the most in it."""
    live = LiveSession(trajectory.session, Plan.from_json(trajectory.session.plan))
    read = [found for turn in trajectory.turns if (found := read_stored_request(live, turn)) is not None]
    if not read:
        return None
    codec, request = max(reversed(read), key=lambda found: len(found[1].conversation.items))
    turns = len({turn.index for turn in trajectory.turns})
    return make_dialogue(trajectory.session.id, codec, request, turns)
