"""What the upstream holds of a session's histories, read back from the store: after a restart, or where
another worker took the turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.document import decode
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.sessions")


@dataclass(frozen=True, slots=True)
class HistoryRestorer:
    """Reads turns of a session again that this process did not take itself, each once."""

    store: Store

    async def restore(self, session: LiveSession, codec: Codec, split: SplitBody) -> bool:
        """Make known what a request goes on from, as far as the store has it. False where the store can't be
        read: then it isn't known what came before.
        """
        return (split.held_by is None and not split.refers) or await self.catch_up(session, codec)

    async def catch_up(self, session: LiveSession, codec: Codec) -> bool:
        """Make known all responses of the session. False where the store can't be read."""
        reader, responses = session.reader(codec), session.turns.responses
        missing = [one for one in responses[reader.recalled :] if not reader.server_histories.has_seen(one)]
        known = len(responses)
        if missing:
            try:
                turns = await asyncio.to_thread(self._turns, session.record.id, missing)
            except StoreError as error:
                _log.error(
                    "what came before a turn can't be read: it gets no new noise",
                    session=session.record.id,
                    error=str(error),
                )
                return False
            for turn in turns:
                read_turn(codec, reader, turn)
        reader.recalled = known
        return True

    def _turns(self, session_id: str, responses: Sequence[str]) -> list[Turn]:
        turns = (self.store.answered(session_id, response_id) for response_id in responses)
        return [turn for turn in turns if turn is not None]


def read_turn(codec: Codec, reader: SessionReader, turn: Turn) -> None:
    """Read a stored turn again, if it is of this protocol."""
    split = codec.split(turn.received.bytes()) if turn.protocol == codec.name and turn.received else None
    if split is not None:
        apply_answer(codec.read(split, reader, _as_it_is), turn)


def apply_answer(request: Request, turn: Turn) -> None:
    """Tell the request of a stored turn how it was answered."""
    if request.on_answer is None or turn.produced is None:
        return
    try:
        produced = decode(turn.produced.bytes())
        delivered = decode(turn.delivered_view.bytes()) if turn.delivered_view else produced
    except (ValueError, RecursionError):
        return
    if isinstance(delivered, dict) and isinstance(produced, dict):
        request.on_answer(delivered, produced.get("id"))


def _as_it_is(segment: bytes) -> bytes:
    return segment
