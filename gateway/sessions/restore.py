"""Restore from the store what this process did not see: responses by their ids, and histories that the
upstream holds, after a restart or when another worker took the turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog

from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Durable, Turn
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.sessions")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResponseLookup:
    """Finds stored responses by their ids. A response that is delivered but not yet durable is looked for
    again once the recorder has written what it holds. All methods raise StoreError.
    """

    store: Store
    recorder: Recorder

    async def owner(self, response_id: str) -> str | None:
        return await self._look_up(lambda: self.store.session_of_response(response_id))

    async def turn(self, session_id: str, response_id: str) -> Turn | None:
        return await self._look_up(
            lambda: self.store.turns_of_responses(session_id, (response_id,)).get(response_id)
        )

    async def _look_up(self, look: Callable[[], T | None]) -> T | None:
        found = await asyncio.to_thread(look)
        if found is not None:
            return found
        written = await self.recorder.wait_durable(self.recorder.submit((), retry=False))
        return await asyncio.to_thread(look) if written is Durable.YES else None


@dataclass(frozen=True, slots=True)
class HistoryRestorer:
    """Reads the turns of a session that this process did not take, each once."""

    store: Store

    async def restore(self, session: LiveSession, codec: Codec, split: SplitBody) -> bool:
        """Restore what a request continues, as far as the store has it. False if the store can't be read."""
        return (split.held_by is None and not split.refers) or await self.catch_up(session, codec)

    async def catch_up(self, session: LiveSession, codec: Codec) -> bool:
        """Restore all responses of the session. False if the store can't be read."""
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
        turns = self.store.turns_of_responses(session_id, responses)
        return [turns[response_id] for response_id in responses if response_id in turns]


def read_turn(codec: Codec, reader: SessionReader, turn: Turn) -> None:
    """Read a stored turn into the session's reader, if it is of this protocol."""
    split = codec.split(turn.received.bytes()) if turn.protocol == codec.name and turn.received else None
    if split is not None:
        apply_answer(codec.read(split, reader, bytes), turn)


def apply_answer(request: Request, turn: Turn) -> None:
    """Apply the answer of a stored turn to its request, as when it was delivered."""
    if request.on_answer is None or turn.produced is None:
        return
    try:
        produced = decode(turn.produced.bytes())
        delivered = decode(turn.delivered_view.bytes()) if turn.delivered_view else produced
    except (ValueError, RecursionError):
        return
    if isinstance(delivered, dict) and isinstance(produced, dict):
        request.on_answer(delivered, produced.get("id"))
