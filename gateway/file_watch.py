"""Watches the files of the open store: somebody may delete, replace or truncate them.

While that lasts, nothing is written or acknowledged; traffic continues, and its rows wait. If the file comes
back, the gateway uses it again. If another store is put in its place, the gateway opens that one. It never
creates a store here, since an empty one would hide the loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.store")

_EVERY_S = 0.25


@dataclass(slots=True)
class FileWatch:
    """Looks at the files again and again."""

    store: Store
    forget: Callable[[], None]
    """Drops what memory holds of the store that was replaced."""
    problem: str | None = None
    """What happened to the files, with the fix; None if they are in order."""

    async def run(self) -> None:
        """Look regularly, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> None:
        """Look at the files once, and open the store that has been put into their place, if there is one."""
        before, self.problem = self.problem, await asyncio.to_thread(self.store.file_problem)
        if self.problem is None:
            if before is not None:
                _log.warning("the store's files are back")
            return
        if before is None:
            _log.error("the store's files are gone; nothing is acknowledged", error=self.problem)
        try:
            reopened = await asyncio.to_thread(self.store.reopen)
        except StoreError as error:
            self.problem = f"{self.problem} ({error})"
            return
        if reopened:
            self.forget()
            self.problem = None
            _log.warning("another store is in the place of the one that was open, and is used from now on")
