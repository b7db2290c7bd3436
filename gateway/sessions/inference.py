"""Infer the session of an unlabelled request from what we delivered earlier.

Samples of one task begin alike, so the first turn can't tell them apart: every first turn opens a session.
From the second turn on, the ids of delivered tool calls identify the session, or else the last delivered
text.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import blake2b

import msgspec
import structlog

from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.message_format import ParsedMessage, ToolResultPart
from crosswind.gateway.protocols.request import SplitBody
from crosswind.gateway.protocols.text_transcript import read_transcript
from crosswind.gateway.sessions.destroyed import (
    Beginning,
    DestroyedAnswers,
    digest_alike,
    digest_conversation,
)
from crosswind.gateway.sessions.leases import LeasesUnavailable, TurnLeases
from crosswind.gateway.trajectory.store import Store
from crosswind.gateway.transcripts.transcript import read_policy
from crosswind.injectors.identity import digest, normalise

_log = structlog.get_logger("crosswind.sessions")

REMEMBERED = 100_000
"""Delivered ids kept in memory; others are looked up in the store."""
MOST_TEXTS = 8
"""Texts examined from a history's end if it has no calls."""
_CALL = "call:"
_MOST_BEGINNINGS = 8
"""How many of a request's last messages the request before it may have lacked."""
_UNKNOWN = "inferred: its history holds answers that were not delivered here"


class SessionHints(msgspec.Struct, frozen=True):
    """What a request reveals about its session. `delivered` are ids of the policy's last messages in it."""

    first_user_turn: str = ""
    delivered: tuple[str, ...] = ()
    begun: bool = False
    """Its history contains a message of the policy."""
    after: str | None = None
    """The response that it continues, if the upstream keeps the history."""
    body: bytes = b""
    """The digest of its body and of its idempotency key, if any."""
    counted: bool = False
    """Its client counts it as a retry."""
    keyed: bool = False
    """It has an idempotency key, under which it may be sent again."""
    request: tuple[SplitBody, Codec] | None = None
    """The request itself."""

    @property
    def begun_as(self) -> str | None:
        """The stored name of the conversation that this request begins; it survives a restart."""
        return f"begun:{self.body.hex()}" if self.keyed and not self.begun and self.after is None else None


@dataclass(frozen=True, slots=True)
class Inferred:
    """The inferred session of a request. `quarantine` says why it must not train."""

    session_id: str
    confidence: float
    quarantine: str | None = None
    beginning: Beginning | None = None
    """The conversation that the request begins, if noise may destroy the answer."""


RETRIED = "inferred: an equal request came after noise had destroyed the answer to this one"
REPEATED = "inferred: noise had destroyed the answers to equal requests, of which it may be the retry"


def read_hints(split: SplitBody, codec: Codec, body: bytes, *, counted: bool, keyed: bool) -> SessionHints:
    """Read the first user message, and the policy's messages from the end back to the last tool calls, which
    identify a session better than texts.
    """
    first = split.first_user_turn(codec.message_format)
    said: list[str] = []
    begun = False
    for start, end in reversed(split.spans):
        read = read_transcript(codec.message_format.read(split.body[start:end]))
        begun |= bool(read.calls) or read.own_text is not None or bool(read.steps or _holds_result(read))
        ids = find_delivered_ids([read], first)
        if ids and ids[0].startswith(_CALL):
            said = [*ids, *said]
            break
        said += ids
        if len(said) == MOST_TEXTS:
            break
    return SessionHints(first, tuple(said), begun, split.held_by, body, counted, keyed, (split, codec))


def _holds_result(read: ParsedMessage) -> bool:
    """Whether a transcript has a tool's result in it."""
    return bool(read.segments) and any(isinstance(part, ToolResultPart) for part in read.parts)


def find_delivered_ids(messages: list[ParsedMessage], first_user_turn: str) -> tuple[str, ...]:
    """The ids that identify messages of the policy: those of their calls, or else of their text, and of the
    steps that a transcript will have it in. Agents may leave calls that failed out: then the text stays.
    """
    calls = [_CALL + call.call_id for read in messages for call in read.calls if call.call_id]
    said = "".join(read.own_text or "" for read in messages)
    transcript = read_policy(said) if said else None
    if transcript is not None:
        calls += [_CALL + call.call_id for call in transcript.calls if call.call_id and not calls]
        said = transcript.said
    steps = [*(step for read in messages for step in reversed(read.steps))]
    if transcript is not None and transcript.step:
        steps.append(transcript.step)
    told = [f"said:{digest(first_user_turn, normalise(said))}"] if said.strip() else []
    return (*calls, *(f"step:{digest(first_user_turn, one)}" for one in steps), *told)


def _digest_beginnings(hints: SessionHints, salt: str) -> tuple[str, ...]:
    """The names of a request's messages, then of those without the last one, and so on."""
    if hints.request is None or not hints.request[0].spans:
        return ()
    split, codec = hints.request
    ends = [end for _, end in split.spans[-_MOST_BEGINNINGS:]]
    hasher, at, names = blake2b(digest(salt, codec.name).encode(), digest_size=16), split.first, list[str]()
    for end in ends:
        hasher.update(split.body[at:end])
        at = end
        names.append(f"asked:{hasher.hexdigest()}")
    return tuple(reversed(names))


def make_unresolved(hints: SessionHints, salt: str, why: str) -> Inferred:
    """The quarantined session shared by conversations that begin alike and can't be told apart."""
    return Inferred(f"inferred-{digest(salt, hints.first_user_turn)}", 0.3, why)


class Inference:
    """Remembers which session got which delivered ids."""

    def __init__(self, store: Store, destroyed: DestroyedAnswers, leases: TurnLeases | None = None) -> None:
        self._store = store
        self.destroyed = destroyed
        self._leases = leases
        """Set if other processes deliver too, so that the memory here may be incomplete."""
        self._owners: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._first_turns: OrderedDict[bytes, str] = OrderedDict()

    def remember(self, session_id: str, ids: tuple[str, ...]) -> None:
        for name in ids:
            owners = self._owners.pop(name, ())
            self._owners[name] = owners if session_id in owners else (session_id, *owners)[:2]
            if len(self._owners) > REMEMBERED:
                self._owners.popitem(last=False)

    async def infer(self, hints: SessionHints, *, salt: str, window_s: float | None) -> Inferred:
        """Infer the session of a request. `salt` keeps requests of other seeds and profiles apart.
        `window_s`: how long an equal request may be the retry of one whose answer noise destroyed; None:
        noise destroys none.

        Raises StoreError if the store can't be read.
        """
        doubtful: tuple[str, ...] = ()
        for name in hints.delivered:
            owners = await self._owners_of(name)
            if len(owners) == 1:
                if window_s is not None:
                    await self.destroyed.settle(owners[0])
                return Inferred(owners[0], 1.0 if name.startswith(_CALL) else 0.9)
            doubtful = doubtful or owners
        if doubtful:
            if window_s is not None:
                await self.destroyed.settle(doubtful[0])
            return Inferred(doubtful[0], 0.5, "inferred: its history was delivered in several sessions alike")
        if hints.after is not None:
            return make_unresolved(hints, salt, _UNKNOWN)
        if hints.begun:
            return self._follow(hints, salt) or replace(
                await self._first(hints, salt, window_s), confidence=0.3, quarantine=_UNKNOWN
            )
        return await self._first(hints, salt, window_s)

    def _follow(self, hints: SessionHints, salt: str) -> Inferred | None:
        """The session of the request with whose messages this one begins, if this process had it."""
        asked = _digest_beginnings(hints, salt)
        for name in asked[1:]:
            if owners := self._owners.get(name, ()):
                self.remember(owners[0], asked[:1])
                return Inferred(owners[0], 0.5 if len(owners) == 1 else 0.3, _UNKNOWN)
        return None

    async def _first(self, hints: SessionHints, salt: str, window_s: float | None) -> Inferred:
        """The session of a conversation that begins. A marked retry belongs to the session of its first
        attempt, an unmarked one to that of an equal request whose answer noise destroyed.
        """
        known = self._begun(hints.body) if hints.counted or hints.keyed else None
        if known is None and hints.begun_as is not None:
            stored = await asyncio.to_thread(self._store.sessions_of_delivered_id, hints.begun_as)
            known = stored[0] if stored else None
        beginning = None if window_s is None else await self._begin(hints, salt, window_s, known)
        known = known or (beginning.retried if beginning is not None else None)
        alike = digest(salt, hints.first_user_turn)
        session_id = known or f"inferred-{alike[:16]}-{secrets.token_hex(6)}"
        self._first_turns[hints.body] = session_id
        if len(self._first_turns) > REMEMBERED:
            self._first_turns.popitem(last=False)
        if self._leases is not None and known is None:
            try:
                await self._leases.began(hints.body, session_id)
            except LeasesUnavailable as error:
                _log.error("other workers can't learn of a session", error=str(error))
        self.remember(session_id, _digest_beginnings(hints, salt)[:1])
        if beginning is not None and beginning.retried is not None:
            return Inferred(session_id, 0.5, RETRIED, beginning)
        return Inferred(session_id, 0.9, beginning=beginning)

    async def _begin(
        self, hints: SessionHints, salt: str, window_s: float, session_id: str | None
    ) -> Beginning | None:
        if hints.request is None:
            return None
        split, codec = hints.request
        return await self.destroyed.begin(
            digest_alike(salt, split, codec, hints.first_user_turn),
            digest_conversation(split, codec),
            window_s,
            session_id=session_id,
        )

    def _begun(self, body: bytes) -> str | None:
        """The session that began with this body, here or in another worker."""
        if self._leases is None:
            return self._first_turns.get(body)
        try:
            return self._leases.begun(body)
        except LeasesUnavailable as error:
            _log.error("sessions that other workers opened are unknown", error=str(error))
            return self._first_turns.get(body)

    async def _owners_of(self, name: str) -> tuple[str, ...]:
        owners = self._owners.get(name)
        if owners is None or (self._leases is not None and len(owners) == 1):
            stored = await asyncio.to_thread(self._store.sessions_of_delivered_id, name)
            owners = tuple(dict.fromkeys([*(owners or ()), *stored]))[:2]
            if owners:
                self._owners[name] = owners
        return owners
