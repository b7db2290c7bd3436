"""Find the session of a request by path, header, session key or inference; keep it in memory, or read it from
the store.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import NamedTuple

import structlog
from msgspec import structs

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.auth import Caller, invalid_key_error
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.sessions.cache import SessionCache
from crosswind.gateway.sessions.destroyed import Beginning
from crosswind.gateway.sessions.drills import Drills
from crosswind.gateway.sessions.errors import closed_session, refuse, store_down, unknown_session
from crosswind.gateway.sessions.inference import REPEATED, Inference, Inferred, SessionHints, make_unresolved
from crosswind.gateway.sessions.keys import SessionKeys
from crosswind.gateway.sessions.ledger import Ledger
from crosswind.gateway.sessions.profiles import Profiles
from crosswind.gateway.sessions.restore import HistoryRestorer, ResponseLookup
from crosswind.gateway.sessions.session import (
    LiveSession,
    Opening,
    SessionClaim,
    make_or_replace,
    make_stand_in,
)
from crosswind.gateway.sessions.sync import WorkerSync
from crosswind.gateway.sessions.trainer_lag import TrainerLag
from crosswind.gateway.sessions.turns import TurnIndex, TurnPosition, TurnRequest
from crosswind.gateway.trajectory.ledger_rows import DeliveredId
from crosswind.gateway.trajectory.record import Session, SessionStatus
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors import registry
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.identity import digest

_log = structlog.get_logger("crosswind.sessions")


class Found(NamedTuple):
    """The session of a request, and the conversation that it begins, if noise may destroy the answer before
    its client, who names no session, gets any.
    """

    session: LiveSession
    beginning: Beginning | None = None


class Sessions:
    """The sessions in memory, and access to those that aren't."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        profiles: Profiles,
        inference: Inference,
        responses: ResponseLookup,
        drills: Drills,
        lag: TrainerLag,
        sync: WorkerSync | None = None,
    ) -> None:
        self._settings = settings
        self._store = store
        self._profiles = profiles
        self._inference = inference
        self.responses = responses
        self._drills = drills
        self._lag = lag
        self._sync = sync
        self.shared = sync is not None
        """Whether other processes serve them, too."""
        self.histories = HistoryRestorer(store)
        self._live = SessionCache(settings.limits)
        self._loading: dict[str, asyncio.Task[LiveSession | None]] = {}
        self._keys = SessionKeys(store, 2 * settings.limits.live_sessions)

    def reconfigure(self, settings: Settings) -> None:
        """Put another configuration in force. Open sessions keep their plans."""
        self._settings = settings
        self._live.limits = settings.limits

    async def find(self, claim: SessionClaim, hints: SessionHints) -> Found:
        """The session of a request. An unseen one is opened if the configuration allows it.

        Raises ServiceError 401 for a wrong session key, 404 for another tenant's session and for an unknown
        one (`sessions: strict`), 409 for a closed one.
        """
        live = self.find_live(claim)
        return await self.find_or_open(claim, hints) if live is None else Found(live)

    async def find_or_open(self, claim: SessionClaim, hints: SessionHints) -> Found:
        """As `find`, for a session that `find_live` doesn't give."""
        session_id = claim.session_id if claim.caller.session_key is None else await self.named(claim)
        if session_id is None:
            found = await self._infer(claim, hints)
            return found._replace(session=self._resident(found.session))
        session = None if (unknown := self._is_unknown(session_id)) else await self.get(session_id)
        if session is not None and session.record.status is SessionStatus.CLOSED and not claim.session_id:
            session_id = await self._keys.owner_now(claim.caller) or session_id
            session = await self.get(session_id)
        if session is None:
            if not (unknown or self._is_unknown(session_id)):
                raise unknown_session(session_id)
            opening = self._make_opening(session_id, claim.identity if claim.session_id else "key", claim)
            session = await self._open_unseen(opening, steered=claim.profile is not None)
        if not session.stands_in:
            refuse(session.record, claim.caller.tenant)
        return Found(self._resident(session))

    def find_live(self, claim: SessionClaim) -> LiveSession | None:
        """`find` for a session that a request names and that is in memory; None where more is to be done."""
        if claim.session_id is None or self.shared or claim.caller.session_key is not None:
            return None
        session = self._live.get(claim.session_id)
        if session is not None and (
            claim.caller.tenant is not None or session.record.status is SessionStatus.CLOSED
        ):
            refuse(session.record, claim.caller.tenant)
        return session

    async def named(self, claim: SessionClaim) -> str | None:
        """The id of the session that a request names, by itself or by a session's key. ServiceError 401."""
        key_session = await self._keys.owner(claim.caller)
        if key_session is not None and claim.session_id not in (None, key_session):
            raise invalid_key_error(f"the key is not that of session {claim.session_id!r}")
        return claim.session_id or key_session

    def reader(self, claim: SessionClaim, codec: Codec) -> SessionReader | None:
        """The reader of the session that a claim names; None if it isn't in memory, or has read nothing."""
        session_id = claim.session_id or self._keys.cached_owner(claim.caller)
        session = None if session_id is None else self._live.peek(session_id)
        return None if session is None else session.readers.get(codec.name)

    def _resident(self, session: LiveSession) -> LiveSession:
        """The one copy of a session: it may have left memory, or been read again, during the search."""
        if not session.ledger.complete:
            return session
        live = self._live.get(session.record.id)
        if live is None:
            self._live.add(session)
        return live or session

    async def of_response(self, response_id: str, caller: Caller) -> str | None:
        """The session that got a response; None if there is none that the caller may continue."""
        try:
            session_id = await self.responses.owner(response_id)
        except StoreError as error:
            _log.error("the owner of a response can't be read", error=str(error))
            return None
        session = await self.get(session_id) if session_id is not None else None
        known = session is not None and self._is_of(session, await self.tenant_of(caller))
        return session_id if known else None

    def _is_of(self, session: LiveSession, tenant: str | None) -> bool:
        """Whether a session is a tenant's. Without keys of ours callers have no tenant."""
        return self._settings.auth != "keys" or session.record.tenant == tenant

    async def tenant_of(self, caller: Caller) -> str | None:
        """The tenant of a caller: that of its key, or of the session that its session key belongs to."""
        if caller.session_key is None:
            return caller.tenant
        owner = await self._keys.owner(caller)
        session = None if owner is None else await self.get(owner)
        return None if session is None else session.record.tenant

    async def check(self, claim: SessionClaim) -> str | None:
        """Refuse a request that is no turn as `find` would, without opening a session. Returns the session's
        id.
        """
        session_id = await self.named(claim)
        if session_id is None:
            return None
        session = await self.get(session_id)
        if session is None and self._settings.sessions == "strict":
            raise unknown_session(session_id)
        if session is not None and not session.stands_in:
            refuse(session.record, claim.caller.tenant)
        return session_id

    async def get(self, session_id: str) -> LiveSession | None:
        """The session, from memory or from the store; None if there is none.

        If the store can't be read, a stand-in with an incomplete ledger: traffic goes on without new noise.
        """
        session = self._live.get(session_id)
        if session is not None and self._sync is not None and not await self._sync.refresh(session):
            if self._live.get(session_id) is session:
                self.forget(session_id)
            session = None
        if session is not None:
            return session
        if self._is_unknown(session_id):
            return None
        task = self._loading.get(session_id)
        if task is None:
            task = self._loading[session_id] = asyncio.create_task(self._load(session_id))
            task.add_done_callback(lambda _: self._loading.pop(session_id, None))
        return await asyncio.shield(task)

    def _is_unknown(self, session_id: str) -> bool:
        """Whether nobody certainly has or had such a session, as for most that aren't in memory. One point
        query: handing it to a thread would take ten times as long.
        """
        if self._live.peek(session_id) is not None or session_id in self._loading:
            return False
        try:
            return self._store.is_unknown(session_id)
        except StoreError:
            return False

    async def place(self, session: LiveSession, request: TurnRequest) -> TurnPosition:
        if self._sync is not None:
            return await self._sync.place(session, request)
        return session.turns.place(request)

    def add(self, session: LiveSession, key: str | None = None) -> None:
        """Keep a session that was opened here. `key` is the digest of its session key."""
        self._live.add(session)
        if key is not None:
            self._keys.remember(key, session.record.id)

    def release(self, session: LiveSession) -> None:
        session.busy -= 1
        self._live.weigh(session)

    def forget(self, session_id: str) -> None:
        self._live.remove(session_id)
        self._keys.forget(session_id)

    def forget_all(self) -> None:
        """Drop the sessions and keys in memory, because another store was put into the place of the one that
        they came from. A turn in flight keeps its session, and the store takes its rows if it knows it.
        """
        self._live.clear()
        self._keys.clear()

    def is_in_use(self, claim: SessionClaim) -> bool:
        """Whether a request names a session that is in memory, or comes with a session's key."""
        if claim.caller.session_key is not None:
            return True
        return claim.session_id is not None and self._live.get(claim.session_id) is not None

    def live(self) -> int:
        return len(self._live)

    def bytes(self) -> int:
        """The approximate memory of the sessions in memory."""
        return self._live.bytes

    async def _load(self, session_id: str) -> LiveSession | None:
        try:
            session = await asyncio.to_thread(self._read, session_id)
        except StoreError as error:
            return self._stand_in(session_id, error)
        if session is not None and (session.ledger.complete or self._sync is None):
            self.add(session)
        return session

    def _read(self, session_id: str) -> LiveSession | None:
        record = self._store.session(session_id)
        if record is None:
            return None
        state = self._store.session_state(session_id)
        plan, turns = Plan.from_json(record.plan), self._store.turns_since(session_id, 0)
        if gone := {rule.operator for rule in plan.rules} - registry.operators().keys():
            _log.warning(
                "operators of a session are gone: their rules don't act",
                session=session_id,
                operators=sorted(gone),
            )
        session = LiveSession(record, plan, self._ledger(record), TurnIndex(turns))
        if state is not None:
            session.seen.up_to(state)
        return session

    def _ledger(self, record: Session) -> Ledger:
        try:
            return Ledger(self._store.ledger_since(record.id, 0))
        except (StoreError, ValueError) as error:
            _log.error(
                "a session's ledger can't be read: no new noise in it", session=record.id, error=str(error)
            )
            return Ledger(complete=False)

    def _stand_in(self, session_id: str, error: StoreError) -> LiveSession:
        if self._settings.sessions == "strict":
            raise store_down(error)
        _log.error(
            "the store can't be read: the request goes on without new noise",
            session=session_id,
            error=str(error),
        )
        return make_stand_in(self._profiles, session_id)

    async def _infer(self, claim: SessionClaim, hints: SessionHints) -> Found:
        """The session of a request that names none."""
        if self._settings.sessions == "strict":
            raise unknown_session(None)
        if hints.after is not None:
            owner = await self.of_response(hints.after, claim.caller)
            session = None if owner is None else await self.get(owner)
            if session is not None and session.record.status is SessionStatus.CLOSED:
                raise closed_session(session.record.id)
            if session is not None:
                return Found(session)
        opening = self._make_opening("", "inferred", claim)
        salt = digest(str(opening.seed), opening.profile, opening.record.tenant or "")
        try:
            inferred = await self._inference.infer(hints, salt=salt, window_s=self._retry_window(opening))
        except StoreError as error:
            _log.error("a session can't be inferred: the store can't be read", error=str(error))
            inferred = make_unresolved(hints, salt, "inferred: the store could not be read")
        session = await self.get(inferred.session_id)
        if session is not None and not self._is_of(session, opening.record.tenant):
            # A call's id alone doesn't open another tenant's session.
            inferred = make_unresolved(hints, salt, "inferred: its history was delivered to another tenant")
            session = await self.get(inferred.session_id)
        beginning = inferred.beginning
        if beginning is not None and beginning.retried and _is_over(session):
            # It was closed or deleted, or another worker has not recorded it yet.
            inferred = replace(inferred, session_id=f"{inferred.session_id}-{secrets.token_hex(3)}")
            beginning.retried, beginning.spared, session = None, True, None
        if session is None:
            inferred = self._avoid_deleted(inferred)
            record = structs.replace(
                opening.record,
                id=inferred.session_id,
                confidence=inferred.confidence,
                quarantine=inferred.quarantine,
            )
            name = digest(hints.first_user_turn)
            opening = structs.replace(opening, record=record, name=name)
            session = await self._open_unseen(opening, steered=claim.profile is not None)
            if hints.begun_as is not None:
                session.pending.append(DeliveredId(hints.begun_as, session.record.id))
        elif session.record.status is SessionStatus.CLOSED:
            raise closed_session(session.record.id)
        elif inferred.quarantine is not None:
            session.put_in_doubt(inferred.quarantine, inferred.confidence)
        if beginning is not None and beginning.depth >= session.plan.bounds.faults_per_session:
            beginning.spared = True
            session.put_in_doubt(REPEATED, 0.5)
        session.first_user_turn = hints.first_user_turn
        return Found(session, beginning)

    def _avoid_deleted(self, inferred: Inferred) -> Inferred:
        """The session itself, or another one of its own where the inferred one was deleted of late."""
        if self._is_unknown(inferred.session_id):
            return inferred
        new_id = f"inferred-{secrets.token_hex(12)}"
        return Inferred(new_id, 0.3, "inferred: its session was deleted", inferred.beginning)

    def _retry_window(self, opening: Opening) -> float | None:
        """How long an equal request may be the retry of one whose answer noise destroyed; None: it destroys
        none.
        """
        destroys = self._profiles.destroys_answers(opening.profile)
        if (drill := self._drills.running) is not None:
            destroys |= self._profiles.destroys_answers(drill.profile)
        return self._settings.timeouts.unnamed_retry if destroys else None

    def _make_opening(self, session_id: str, identity: str, claim: SessionClaim) -> Opening:
        """What an unseen session is opened with, by the claim and the configuration."""
        record = Session(
            session_id,
            now_us(),
            {},
            task_id=claim.task_id,
            group_id=claim.group_id,
            tenant=claim.caller.tenant,
            identity=identity,
        )
        return Opening(
            record,
            profile=claim.profile or claim.caller.profile or self._settings.profile,
            seed=self._settings.seed if claim.seed is None else claim.seed,
            name=session_id,
            assume_replayable=self._settings.assume_replayable,
            dose=self._settings.dose,
            tool_classes=self._settings.declared_tools,
        )

    async def _open_unseen(self, opening: Opening, *, steered: bool) -> LiveSession:
        """Open a session. One whose client asked for a profile (`steered`) is in no drill."""
        session_id = opening.record.id
        if self._settings.sessions == "strict":
            raise unknown_session(session_id)
        await self._lag.admit(opening.record)
        if not steered:
            opening = self._drills.enlist(opening)
        if self._sync is not None:
            await self._sync.refresh_profile(self._profiles, opening.profile)
        if (live := self._live.get(session_id)) is not None:
            return live  # opened by a request that came at the same moment
        session = make_or_replace(self._profiles, opening)
        session.unwritten = True
        self.add(session)
        return session


def _is_over(session: LiveSession | None) -> bool:
    return session is None or session.record.status is SessionStatus.CLOSED
