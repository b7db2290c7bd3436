"""Session keys, which identify a session's requests. Only their digests are kept.

A key is made for one session, or belongs to a long-lived client that is configured once: then each session
opened under the key closes the one before.
"""

from __future__ import annotations

import asyncio

from crosswind.gateway.clock import now_us
from crosswind.gateway.http.auth import Caller, invalid_key_error, key_digest
from crosswind.gateway.sessions.errors import store_down
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.store import Store, StoreError

KIND = "session_key"


class SessionKeys:
    """The session of a key, from memory or from the store. At most `most` keys are kept in memory."""

    def __init__(self, store: Store, most: int) -> None:
        self._store = store
        self._most = most
        self._owners: dict[str, str] = {}

    async def owner(self, caller: Caller) -> str | None:
        """The session of a caller's session key; None if it gave none.

        Raises ServiceError 401 if the key is unknown, 503 if the store can't be read.
        """
        return self.cached_owner(caller) or await self.owner_now(caller)

    def cached_owner(self, caller: Caller) -> str | None:
        """The session of a caller's session key, if memory has it."""
        return None if caller.session_key is None else self._owners.get(key_digest(caller.session_key))

    async def owner_now(self, caller: Caller) -> str | None:
        """The same from the store: the key may have moved to another session."""
        if caller.session_key is None:
            return None
        name = key_digest(caller.session_key)
        try:
            setting = await asyncio.to_thread(self._store.setting, KIND, name)
        except StoreError as error:
            raise store_down(error) from error
        if setting is None:
            raise invalid_key_error("the session key is unknown")
        self.remember(name, str(setting.value["session"]))
        return self._owners[name]

    def remember(self, name: str, session_id: str) -> None:
        """Remember the session of a key's digest, and drop the oldest entry if there are too many."""
        self._owners[name] = session_id
        if len(self._owners) > self._most:
            del self._owners[next(iter(self._owners))]

    def forget(self, session_id: str) -> None:
        self._owners = {key: owner for key, owner in self._owners.items() if owner != session_id}

    def clear(self) -> None:
        self._owners = {}


def key_setting(key: str, session_id: str) -> Setting:
    """The row that makes a session key known after a restart. It holds the key's digest, not the key."""
    return Setting(KIND, key_digest(key), {"session": session_id}, now_us())
