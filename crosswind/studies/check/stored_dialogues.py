"""The conversations of a store, as operators see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.cli.preview import RecordedDialogue
from crosswind.injectors.conversation import Conversation
from crosswind.injectors.engine.plan import Plan
from crosswind.studies.stored_requests import read_stored_request


def read_dialogues(store: Store, limit: int) -> Iterator[RecordedDialogue]:
    """The longest conversation of each of the newest sessions, as its agent sent it."""
    for session in store.sessions(limit=limit):
        trajectory = store.trajectory(session.id)
        found = None if trajectory is None else _longest(trajectory)
        if found is not None:
            conversation, turns = found
            yield RecordedDialogue(session.id, conversation, turns)


def _longest(trajectory: Trajectory) -> tuple[Conversation, int] | None:
    """The conversation of the turn with the most in it, and how many turns there were."""
    live = LiveSession(trajectory.session, Plan.from_json(trajectory.session.plan))
    longest: Conversation | None = None
    for turn in trajectory.turns:
        if (read := read_stored_request(live, turn)) is None:
            continue
        codec, request = read
        if longest is None or len(request.conversation.items) >= len(longest.items):
            raw = request.document.raw("tools")
            taken = (
                codec.tool_mapping.reserved_names(raw)
                if codec.tool_mapping is not None and raw is not None
                else frozenset()
            )
            longest = replace(request.conversation, taken=taken)
    return None if longest is None else (longest, len({turn.index for turn in trajectory.turns}))
