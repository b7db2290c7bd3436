"""Who is a session: found by path, header, session key or inference, kept in memory, read back from the
store.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass

import structlog

from gateway.auth import Caller, key_digest, wrong_key
from gateway.config import Settings
from gateway.ledger import Ledger
from gateway.opening import LiveSession, Opening, now_us, opened
from gateway.profiles import Profiles
from gateway.recalling import Recalling
from gateway.refusals import closed_session, store_down, unknown_session
from gateway.residents import Residents
from gateway.sharing import Sharing
from gateway.trajectory.content import Chain
from gateway.trajectory.record import Session, SessionStatus, Setting
from gateway.trajectory.store import Store, StoreError
from gateway.turns import Place, TurnLine
from injectors.identity import digest
from injectors.plan import Plan, make_plan

_log = structlog.get_logger("crosswind.sessions")

SESSION_KEYS = "session_key"
INFERRED_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says about its session."""

    session_id: str | None
    identity: str
    caller: Caller
    profile: str | None = None
    seed: int | None = None
    task_id: str | None = None
    group_id: str | None = None


class Sessions:
    """All sessions that are in memory, and the way to those that aren't."""

    def __init__(
        self, settings: Settings, store: Store, profiles: Profiles, sharing: Sharing | None = None
    ) -> None:
        self._settings = settings
        self._store = store
        self._profiles = profiles
        self._sharing = sharing
        self.recalling = Recalling(store)
        self._live = Residents(settings.limits)
        self._loading: dict[str, asyncio.Task[LiveSession | None]] = {}
        self._keys: dict[str, str] = {}

    def reconfigure(self, settings: Settings) -> None:
        """Go by another configuration from now on. Sessions that are open keep their plans."""
        self._settings = settings
        self._live.limits = settings.limits

    async def find(self, claim: Claim, *, first_user_turn: str = "", after: str | None = None) -> LiveSession:
        """The session that a request belongs to; an unseen one is opened where the configuration allows it.
        `after`: the response that the request goes on from.

        ServiceError 401 for a wrong session key, 404 for an unknown session (`sessions: strict`), 409 for a
        closed one.
        """
        key_session = await self._of_key(claim.caller)
        session_id = claim.session_id or key_session
        if key_session is not None and session_id != key_session:
            raise wrong_key(f"the key is not that of session {session_id!r}")
        identity = claim.identity if claim.session_id else "key"
        if session_id is None and after is not None:
            session_id = await self.of_response(after, claim.caller)
        if session_id is None:
            if self._settings.sessions == "strict":
                raise unknown_session(None)
            session_id, identity = self._inferred_id(claim, first_user_turn), "inferred"
        session = await self.get(session_id)
        if session is None:
            session = await self._unseen(session_id, identity, claim, first_user_turn)
        if session.record.status is SessionStatus.CLOSED:
            raise closed_session(session_id)
        return self._resident(session)

    def _resident(self, session: LiveSession) -> LiveSession:
        """The one copy of a session: it may have been let go of, or read again, while it was looked for."""
        if not session.ledger.complete:
            return session
        live = self._live.get(session.record.id)
        if live is None:
            self._live.add(session)
        return live or session

    async def of_response(self, response_id: str, caller: Caller) -> str | None:
        """The session to which we delivered a response; None where there is none that the caller may go on
        with.
        """
        try:
            session_id = await asyncio.to_thread(self._store.session_of_response, response_id)
        except StoreError as error:
            _log.error("it can't be read whose a response is", error=str(error))
            return None
        session = await self.get(session_id) if session_id is not None else None
        return session_id if session is not None and session.record.tenant == caller.tenant else None

    async def check(self, claim: Claim) -> str | None:
        """The same refusals as `find`, for requests that are no turns: an unseen session is not opened for
        them. Gives the session's id.
        """
        key_session = await self._of_key(claim.caller)
        session_id = claim.session_id or key_session
        if session_id is None:
            return None
        if key_session is not None and session_id != key_session:
            raise wrong_key(f"the key is not that of session {session_id!r}")
        session = await self.get(session_id)
        if session is None and self._settings.sessions == "strict":
            raise unknown_session(session_id)
        if session is not None and session.record.status is SessionStatus.CLOSED:
            raise closed_session(session_id)
        return session_id

    async def get(self, session_id: str) -> LiveSession | None:
        """The session, from memory or else from the store; None where there is none.

        Where the store can't be read, a stand-in whose ledger is incomplete: traffic goes on, without new
        noise.
        """
        session = self._live.get(session_id)
        if session is not None and self._sharing is not None and not await self._sharing.refresh(session):
            if self._live.get(session_id) is session:
                self.forget(session_id)
            session = None
        if session is not None:
            return session
        task = self._loading.get(session_id)
        if task is None:
            task = self._loading[session_id] = asyncio.create_task(self._load(session_id))
            task.add_done_callback(lambda _: self._loading.pop(session_id, None))
        return await asyncio.shield(task)

    async def place(
        self, session: LiveSession, chain: Chain | None, digest: bytes, *, retry: bool, after: str | None
    ) -> Place:
        """The place of a turn in its session."""
        if self._sharing is not None:
            return await self._sharing.place(session, chain, digest, retry=retry, after=after)
        return session.turns.place(chain, digest, retry=retry, after=after)

    def add(self, session: LiveSession, key: str | None = None) -> None:
        """Take in a session that was opened here; `key` is its session key's digest."""
        self._live.add(session)
        if key is not None:
            self._know(key, session.record.id)

    def left(self, session: LiveSession) -> None:
        """A turn of the session has ended."""
        session.busy -= 1
        self._live.weigh(session)

    def forget(self, session_id: str) -> None:
        """Drop a session from memory."""
        self._live.remove(session_id)
        self._keys = {key: owner for key, owner in self._keys.items() if owner != session_id}

    def live(self) -> int:
        """How many sessions are in memory."""
        return len(self._live)

    async def _of_key(self, caller: Caller) -> str | None:
        if caller.session_key is None:
            return None
        name = key_digest(caller.session_key)
        if name not in self._keys:
            try:
                setting = await asyncio.to_thread(self._store.setting, SESSION_KEYS, name)
            except StoreError as error:
                raise store_down(error) from error
            if setting is None:
                raise wrong_key("the session key is unknown")
            self._know(name, str(setting.value["session"]))
        return self._keys[name]

    def _know(self, key: str, session_id: str) -> None:
        """Remember whose key it is; the oldest keys are looked up in the store again when they return."""
        self._keys[key] = session_id
        if len(self._keys) > 2 * self._settings.limits.live_sessions:
            del self._keys[next(iter(self._keys))]

    async def _load(self, session_id: str) -> LiveSession | None:
        try:
            session = await asyncio.to_thread(self._read, session_id)
        except StoreError as error:
            return self._stand_in(session_id, error)
        if session is not None and (session.ledger.complete or self._sharing is None):
            self.add(session)
        return session

    def _read(self, session_id: str) -> LiveSession | None:
        record = self._store.session(session_id)
        if record is None:
            return None
        state = self._store.session_state(session_id)
        plan, turns = Plan.from_json(record.plan), self._store.turns_since(session_id, 0)
        session = LiveSession(record, plan, self._ledger(record), TurnLine(turns))
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
        record = Session(session_id, now_us(), {}, quarantine="the store could not be read")
        plan = make_plan(
            self._profiles.get("off"), seed=0, scope="session", scope_key=session_id, arm="clean"
        )
        return LiveSession(
            dataclasses.replace(record, plan=plan.to_json()), plan, Ledger(complete=False), unwritten=True
        )

    def _inferred_id(self, claim: Claim, first_user_turn: str) -> str:
        return "inferred-" + digest(
            str(self._settings.seed), claim.profile or self._settings.profile, first_user_turn
        )

    async def _unseen(
        self, session_id: str, identity: str, claim: Claim, first_user_turn: str
    ) -> LiveSession:
        if self._settings.sessions == "strict":
            raise unknown_session(session_id)
        inferred = identity == "inferred"
        profile = claim.profile or claim.caller.profile or self._settings.profile
        if self._sharing is not None:
            await self._sharing.refresh_profile(self._profiles, profile)
        if (live := self._live.get(session_id)) is not None:
            return live  # opened by a request that came at the same moment
        opening = Opening(
            session_id=session_id,
            profile=profile,
            seed=self._settings.seed if claim.seed is None else claim.seed,
            name=digest(first_user_turn) if inferred else session_id,
            task_id=claim.task_id,
            group_id=claim.group_id,
            tenant=claim.caller.tenant,
            identity=identity,
            confidence=INFERRED_CONFIDENCE if inferred else 1.0,
            quarantine="inferred: samples of one task can't be told apart by their first turn"
            if inferred
            else None,
        )
        session = opened(self._profiles, opening)
        session.unwritten = True
        self.add(session)
        return session


def key_setting(key: str, session_id: str) -> Setting:
    """The row by which a session key is known after a restart: it holds the key's digest, not the key."""
    return Setting(SESSION_KEYS, key_digest(key), {"session": session_id}, now_us())
