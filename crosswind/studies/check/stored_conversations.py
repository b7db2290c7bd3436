"""The conversations of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.targets import ToolClass
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.stored_requests import read_stored_request


def read_stored_conversations(store: Store, limit: int) -> Iterator[RecordedConversation]:
    """The longest conversation of each of the newest sessions, as its agent sent it."""
    for session in store.sessions(limit=limit):
        trajectory = store.trajectory(session.id)
        if trajectory is not None and (found := read_longest(trajectory)) is not None:
            yield found


def read_longest(trajectory: Trajectory) -> RecordedConversation | None:
    """The conversation of the turn with the most in it."""
    plan = Plan.from_json(trajectory.session.plan)
    live = LiveSession(trajectory.session, plan)
    read = [found for turn in trajectory.turns if (found := read_stored_request(live, turn)) is not None]
    if not read:
        return None
    codec, request = max(reversed(read), key=lambda found: len(found[1].conversation.items))
    turns = len({turn.index for turn in trajectory.turns})
    recorded = RecordedConversation.of_request(trajectory.session.id, codec, request, turns)
    declared = {name: ToolClass(kind) for name, kind in plan.tool_classes.items()}
    return replace(recorded, tool_classes=declared)
