"""Answers that noise destroyed before the client of a conversation's first request got any.

A client that names no session, nor marks its retries, sends that request again. It opened a new session then,
whose draws are the same: the same fault came again, for ever. So the gateway counts what it destroyed, by a
digest of the conversation: an equal request takes one such count, is the next attempt in the session of the
destroyed one, and gets through. Requests that come while none is counted are samples of their own.

A sample may take the count of another one's retry. The retry is destroyed once more then, one step deeper,
and nothing is destroyed at the depth of the profile's `faults_per_session`. The depth is counted over all
conversations that differ in numbers, ids and dates only: a client whose prompt tells the time never sends an
equal request. Conversations that differ in other words are different ones, and have depths of their own.

How long ago something was destroyed is told by the machine's uptime, which all workers share and nobody sets.
`steady_us` won't do: each process begins it at the wall clock of its own start. The uptime means nothing to
the next run, so the store tells the ages of what it keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import structlog

from crosswind.gateway.clock import now_us, uptime_us
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import SplitBody
from crosswind.gateway.sessions.leases import LeasesUnavailable, SharedLog, translate_errors
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.ledger_rows import DestroyedAnswer
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors.identity import digest

_log = structlog.get_logger("crosswind.sessions")

_FIELDS = "session_id, turn_index, attempt, alike, conversation, depth, at, taken"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS destroyed (
  id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, turn_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
  alike TEXT NOT NULL, conversation TEXT NOT NULL, depth INTEGER NOT NULL, at INTEGER NOT NULL,
  taken INTEGER NOT NULL, UNIQUE (session_id, turn_index, attempt)
);
CREATE INDEX IF NOT EXISTS destroyed_alike ON destroyed (alike, at);
"""
_ADD = f"INSERT OR IGNORE INTO destroyed ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ANY = "SELECT 1 FROM destroyed WHERE alike = ? AND at > ? LIMIT 1"
_OPEN = (
    "SELECT id, session_id FROM destroyed WHERE alike = ? AND at > ? AND conversation = ? AND NOT taken "
    "ORDER BY depth DESC, at LIMIT 1"
)
_TAKE = "UPDATE destroyed SET taken = 1 WHERE id = ?"
_SETTLE = "UPDATE destroyed SET taken = 1 WHERE session_id = ?"
_UNSETTLED = "SELECT 1 FROM destroyed WHERE session_id = ? AND NOT taken LIMIT 1"
_DEPTH = (
    "SELECT coalesce(max(depth), 0) FROM destroyed WHERE alike = ? AND at > ? "
    "AND (taken OR conversation <> ?) AND substr(conversation, 1, instr(conversation, '.')) = ?"
)
_KIND_END = "."
_CHANGING = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\w*\d\w*|\b[ap]m\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b"
    r"|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
"""What differs between prompts that are otherwise equal: numbers, ids, days and months."""
_PRUNE = "DELETE FROM destroyed WHERE id <= ?"


class Beginning(msgspec.Struct, eq=False):
    """The first request of a conversation, of a client that names no session."""

    log: DestroyedAnswers
    alike: str
    """The digest of what its draws follow from: requests that differ otherwise meet the same faults."""
    conversation: str
    retried: str | None = None
    """The session whose destroyed answer it asks for again, as far as can be told."""
    depth: int = 0
    """How many answers were destroyed one after the other before this one."""
    spared: bool = False
    """Whether it gets through whatever its depth."""
    lost: DestroyedAnswer | None = None
    """Its own answer, if noise destroyed it."""
    shared: bool = False

    def mark_destroyed(self, session_id: str, place: TurnPosition, *, injected: bool = True) -> None:
        """The answer is destroyed. `injected` False: by something else, and
        the next retry gets through.
        """
        if self.lost is None:
            depth = self.depth + injected
            where = (session_id, place.index, place.attempt)
            self.lost = DestroyedAnswer(*where, self.alike, self.conversation, depth, now_us())

    async def share(self) -> None:
        """Count the destroyed answer, if there is one: before its client can know that it is lost."""
        if self.lost is not None and not self.shared:
            self.shared = True
            await self.log.add([(self.lost, 0)])


class DestroyedAnswers(SharedLog):
    """The destroyed answers of this run, in a `file` that workers share, or in memory; what was destroyed
    before it began is in the store. `most` are remembered.
    """

    def __init__(self, store: Store, file: Path | None, most: int) -> None:
        super().__init__(file, _SCHEMA)
        self._store = store
        self._most = most
        self._began = uptime_us()

    async def begin(
        self, alike: str, conversation: str, window_s: float, *, session_id: str | None
    ) -> Beginning:
        """Record that a conversation begins. If its client marks it as a retry, it is one in `session_id`;
        else it takes the count of an equal one whose answer was destroyed, if there is one.
        """
        made = Beginning(self, alike, conversation)
        window_us = int(window_s * 1e6)
        since = uptime_us() - window_us
        try:
            with translate_errors():
                if since < self._began:
                    await self._recall(alike, window_us, since)
                if self._connection.execute(_ANY, (alike, since)).fetchone() is not None:
                    await self._take(made, since, session_id)
        except (LeasesUnavailable, StoreError) as error:
            _log.error("retries that name no session can't be told", error=str(error))
        return made

    async def _recall(self, alike: str, window_us: int, since: int) -> None:
        """Read what was destroyed before this run."""
        if self._connection.execute(_ANY, (alike, since)).fetchone() is None:
            await self.add(reversed(self._store.destroyed_answers(alike, window_us)))

    async def _take(self, made: Beginning, since: int, session_id: str | None) -> None:
        alike = (made.alike, since, made.conversation)
        async with self._writing() as connection:
            if session_id is not None:
                connection.execute(_SETTLE, (session_id,))
            elif (row := connection.execute(_OPEN, alike).fetchone()) is not None:
                connection.execute(_TAKE, row[:1])
                made.retried = row[1]
            kind = made.conversation[: made.conversation.find(_KIND_END) + 1]
            made.depth = connection.execute(_DEPTH, (*alike, kind)).fetchone()[0]

    async def add(self, destroyed: Iterable[tuple[DestroyedAnswer, int]]) -> None:
        """Count destroyed answers, each with its age in microseconds."""
        try:
            async with self._writing() as connection:
                for row, age_us in destroyed:
                    where = (row.session_id, row.turn_index, row.attempt, row.alike, row.conversation)
                    values = (*where, row.depth, uptime_us() - age_us, row.taken)
                    number = connection.execute(_ADD, values).lastrowid or 0
                    connection.execute(_PRUNE, (number - self._most,))
        except LeasesUnavailable as error:
            _log.error("a destroyed answer isn't counted for its retry", error=str(error))

    def count(self) -> int:
        """How many are remembered."""
        found: int = self._connection.execute("SELECT count(*) FROM destroyed").fetchone()[0]
        return found

    async def settle(self, session_id: str) -> None:
        """A session's client goes on: it won't ask again for what was destroyed before."""
        try:
            with translate_errors():
                if self._connection.execute(_UNSETTLED, (session_id,)).fetchone() is None:
                    return
            async with self._writing() as connection:
                connection.execute(_SETTLE, (session_id,))
        except LeasesUnavailable as error:
            _log.error("a destroyed answer stays counted", error=str(error))


def digest_alike(salt: str, split: SplitBody, codec: Codec, first_user_turn: str) -> str:
    """The digest of what a conversation's draws follow from; clients of two models are two."""
    return digest(salt, codec.name, split.model or "", first_user_turn)


def digest_conversation(split: SplitBody, codec: Codec) -> str:
    """The digest of a conversation's messages, system prompt, model and tools, however its JSON is spelt,
    behind the digest of the same without what changes from moment to moment.
    """
    names = (split.member, codec.system_member, "tools")
    said = [split.document.value(name) for name in names if name is not None]
    try:
        text = msgspec.json.encode([split.model, *said], order="sorted").decode()
    except (RecursionError, UnicodeEncodeError):
        text = split.body.decode("latin-1")
    kind = digest(codec.name, _CHANGING.sub("0", text))
    return f"{kind}{_KIND_END}{digest(codec.name, text)}"
