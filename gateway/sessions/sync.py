"""Keep sessions in sync between workers: each worker refreshes its copy before it takes a turn.

The store is the truth about what was shown and about a session's status; turns in flight are in the leases.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.sessions.leases import LeasesUnavailable, TurnLeases
from crosswind.gateway.sessions.ledger import Ledger
from crosswind.gateway.sessions.profiles import PROFILE, Profiles
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.tool_legs import LABEL
from crosswind.gateway.sessions.turns import TurnPosition, TurnRequest
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Session, SessionState, TurnHead
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors.engine.plan import Plan

_log = structlog.get_logger("crosswind.sessions")


@dataclass(frozen=True, slots=True)
class _News:
    shown: list[Shown]
    turns: list[TurnHead]
    record: Session | None
    """The stored session, if another worker may have opened it too."""


@dataclass(frozen=True, slots=True)
class WorkerSync:
    """Syncs sessions that several workers serve."""

    store: Store
    leases: TurnLeases

    async def refresh(self, session: LiveSession) -> bool:
        """Refresh a session; False if it was deleted.

        If the store can't be read, the session is `behind`: other workers may have shown unknown things.
        """
        seen, session_id = session.seen, session.record.id
        try:
            state = self.store.session_state(session_id)
            if state is None:
                return not seen.stored
            if not seen.covers(state):
                self._merge(session, await asyncio.to_thread(self._news, session))
                seen.up_to(state)
        except (StoreError, ValueError) as error:
            _log.error(
                "the store can't be read: a session gets no new noise", session=session_id, error=str(error)
            )
            session.behind = True
            return True
        session.behind = False
        _settle(session, state)
        return True

    def _news(self, session: LiveSession) -> _News:
        seen, session_id = session.seen, session.record.id
        return _News(
            self.store.ledger_since(session_id, seen.row),
            self.store.turns_since(session_id, seen.row),
            None if seen.compared else self.store.session(session_id),
        )

    def _merge(self, session: LiveSession, news: _News) -> None:
        if news.record is not None and news.record.plan != session.record.plan:
            # Another worker opened it at the same moment, and its opening is the one that counts.
            session.record, session.plan = news.record, Plan.from_json(news.record.plan)
            session.ledger = Ledger()
        session.ledger.learn(news.shown)
        session.turns.learn(news.turns)

    async def place(self, session: LiveSession, request: TurnRequest) -> TurnPosition:
        """The position of a turn among those of all workers.

        If it can't be known, an index that no other turn has; the session is `behind` then.
        """
        if session.ledger.complete:
            try:
                return await self.leases.place(session.record.id, session.turns, request)
            except LeasesUnavailable as error:
                _log.error("no place can be claimed for a turn", session=session.record.id, error=str(error))
                session.behind = True
        return session.turns.place(request, apart=True)

    async def refresh_profile(self, profiles: Profiles, name: str) -> None:
        """Load the latest stored version of a profile for a session that is being opened."""
        for kept in (name, name.rpartition("/level-")[0]):
            try:
                stored = await asyncio.to_thread(self.store.setting, PROFILE, kept) if kept else None
                if stored is not None and not profiles.has(kept, stored.value):
                    await asyncio.to_thread(profiles.restore, kept, stored.value)
            except StoreError as error:
                _log.error("a stored profile can't be read: as it was known", profile=kept, error=str(error))

    async def number(self, name: str) -> int:
        """The next number of this name over all processes; if that fails, one that was never used."""
        try:
            return await self.leases.number(name)
        except LeasesUnavailable as error:
            _log.error("numbers can't be shared", name=name, error=str(error))
            return now_us()


def _settle(session: LiveSession, state: SessionState) -> None:
    """Update the status. Marks made here that aren't in the store yet stay."""
    record = session.record
    stopped = record.noise_stopped or state.noise_stopped
    quarantine = state.quarantine or record.quarantine
    if (record.status, record.noise_stopped, record.quarantine) != (state.status, stopped, quarantine):
        session.mark(status=state.status, noise_stopped=stopped, quarantine=quarantine)
    if LABEL in state.labels and (labels := json.loads(state.labels)) != record.labels:
        session.mark(labels=labels)
