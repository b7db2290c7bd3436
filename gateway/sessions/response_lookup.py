"""What the store knows of an answer by its id. What is delivered before it is durable still waits, and may be
asked about at once: then it is looked for again behind that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.record import Durable, Turn
from crosswind.gateway.trajectory.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResponseLookup:
    """Answers by their ids. All raise StoreError."""

    store: Store
    recorder: Recorder

    async def owner(self, response_id: str) -> str | None:
        """The session to which a response was delivered."""
        return await self._found(lambda: self.store.session_of_response(response_id))

    async def turn(self, session_id: str, response_id: str) -> Turn | None:
        """The session's turn that got a response."""
        return await self._found(lambda: self.store.answered(session_id, response_id))

    async def _found(self, look: Callable[[], T | None]) -> T | None:
        found = await asyncio.to_thread(look)
        if found is not None:
            return found
        written = await self.recorder.durable(self.recorder.submit((), retry=False))
        return await asyncio.to_thread(look) if written is Durable.YES else None
