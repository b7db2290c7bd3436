"""Routes to responses that a provider stores: reached by the client's ids, answered in the client's view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from crosswind.gateway.http.auth import Caller
from crosswind.gateway.noise.tool_view import find_pending_results
from crosswind.gateway.protocols.call_ids import find_true_ids
from crosswind.gateway.protocols.codec import Codec, codec_named
from crosswind.gateway.protocols.document import Document, JsonPath, replace_values
from crosswind.gateway.protocols.history import History, hide_nothing
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.protocols.stored_items import ClientView, hidden_ids, map_stored_answer
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.store import StoreError
from crosswind.injectors.conversation import ToolResult, UserText

_log = structlog.get_logger("crosswind.passing")

_RESPONSE = re.compile(r"/responses/(?P<id>[^/]+)(?P<rest>/input_items|/cancel)?\Z")
_COMPLETION = re.compile(r"/chat/completions/(?P<id>[^/]+)(?P<rest>/messages)?\Z")
_CONVERSATION = re.compile(r"/conversations/(?P<id>[^/]+)(?P<rest>/items(?:/[^/]+)?)\Z")
_BESIDE = ("/responses/input_tokens", "/responses/compact")
"""Routes that are no turns, and may go on from a response as one does."""
_LISTS = ("/input_items", "/messages")


def _unchanged(segment: bytes) -> bytes:
    return segment


def _no_next_page(page: bytes) -> None:
    return None


@dataclass(frozen=True, slots=True)
class StoredView:
    """How a request for something stored goes on to the provider, and how its answer is mapped back."""

    path: str
    mapped: Callable[[bytes], bytes] = _unchanged
    after: Callable[[bytes], str | None] = _no_next_page
    """The item after which the next page is fetched at once."""
    listed: str | None = None
    """The session whose stored completions are listed."""
    also: tuple[str, ...] = ()
    """Further paths to delete with it: those of inner rounds."""


@dataclass(frozen=True, slots=True)
class StoredResponses:
    """Finds the session that a stored response belongs to, and maps its noise back."""

    sessions: Sessions

    async def find(
        self, method: str, path: str, query: str, session_id: str | None, caller: Caller
    ) -> StoredView | None:
        """The view of something stored; None where nothing has to be mapped: no such route, no session of
        ours, or one without noise. A response that is streamed again ran without noise.
        """
        if (method, path) == ("GET", "/chat/completions") and session_id is not None:
            session = await self._find_noisy_session(session_id, "", caller)
            return StoredView(path, listed=session_id) if session is not None else None
        found = _RESPONSE.match(path) or _COMPLETION.match(path) or _CONVERSATION.match(path)
        if found is None or "stream=true" in query:
            return None
        try:
            return await self._of(method, path, found, session_id, caller)
        except (StoreError, ValueError) as error:
            _log.error(
                "a stored response can't be mapped back; it goes out as stored",
                error=str(error),
            )
            return None

    async def completions(self, body: bytes, session_id: str) -> bytes:
        """A list of stored completions as they were delivered, without inner rounds."""
        try:
            listed = decode(body)
        except (ValueError, RecursionError):
            return body
        data = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(data, list):
            return body
        out, hidden = [], set[str]()
        for entry in data:
            own = entry.get("id") if isinstance(entry, dict) else None
            turn = await self._find_turn(session_id, own)
            if turn is None or turn.produced is None:
                out.append(entry)
                continue
            produced = decode(turn.produced.bytes())
            hidden |= {str(produced.get("id")), *_inner_ids(turn)} - {own}
            delivered = decode(turn.delivered_view.bytes()) if turn.delivered_view else produced
            told = {name: value for name, value in delivered.items() if value != entry.get(name)}
            told |= _restore_members(turn)
            out.append({**entry, **{name: value for name, value in told.items() if name in entry}})
        kept = [one for one in out if not isinstance(one, dict) or one.get("id") not in hidden]
        return body if kept == data else replace_values(body, {("data",): kept})

    async def _find_turn(self, session_id: str, kept: Any) -> Turn | None:
        """The session's turn with this answer; None also where the store can't be read."""
        if not isinstance(kept, str):
            return None
        try:
            return await self.sessions.responses.turn(session_id, kept)
        except StoreError as error:
            _log.error(
                "a stored completion can't be mapped back; it goes out as stored",
                error=str(error),
            )
            return None

    def continues(self, method: str, path: str) -> bool:
        """Whether a request that is no turn may continue from a response."""
        return method == "POST" and path.removesuffix("/") in _BESIDE

    async def continue_from(
        self, path: str, body: bytes, session_id: str | None, caller: Caller
    ) -> tuple[bytes, StoredView | None]:
        """The body with the provider's own id of the response, and how the answer is mapped back."""
        document = Document.parse(body)
        previous = document.value("previous_response_id") if document is not None else None
        if document is None or not isinstance(previous or session_id, str):
            return body, None
        session = await self._find_noisy_session(session_id, previous or "", caller)
        if session is None:
            return body, None
        codec = _of_responses()
        await self.sessions.histories.catch_up(session, codec)
        given = document.value("input")
        if not isinstance(previous, str):
            restored = _restore_ids(session, History(codec.message_format, {}), given)
            return (body if restored is None else replace_values(body, {("input",): restored})), None
        held = session.reader(codec).server_histories.get(previous)
        if held is None or held.response_id != previous:
            return body, None
        history = held.continuation()
        steps = history.steps
        changed: dict[JsonPath, Any] = {("previous_response_id",): held.upstream_id}
        made = history.policy_anchors(len(steps))[len(steps) - held.answer :]
        if (restored := _restore_ids(session, history.fork(len(steps)), given)) is not None:
            changed["input",] = given = restored
        if owed := find_pending_results(codec, session.ledger, made):
            changed["input",] = [*map(_item, owed), *_items_of(given)]
        view = _view(session, [item for step in steps for item in step.items])
        return replace_values(body, changed), StoredView(path, view.map_output)

    async def _of(
        self, method: str, path: str, found: re.Match[str], session_id: str | None, caller: Caller
    ) -> StoredView | None:
        kept = found["id"]
        session = await self._find_noisy_session(session_id, kept, caller)
        if session is None:
            return None
        if found.re is _CONVERSATION:
            view = await self._conversation(session, kept)
            return StoredView(path, view.map_page, view.next_cursor)
        turn = await self.sessions.responses.turn(session.record.id, kept)
        codec = codec_named(turn.protocol) if turn is not None else None
        if turn is None or codec is None or turn.produced is None:
            return None
        produced = decode(turn.produced.bytes())
        delivered = decode(turn.delivered_view.bytes()) if turn.delivered_view else produced
        delivered = {**delivered, **_restore_members(turn)} if found.re is _COMPLETION else delivered
        own = path[: found.start("id")] + str(produced.get("id", kept)) + (found["rest"] or "")
        if found["rest"] in _LISTS:
            view = await self._turns(session, codec, turn)
            return StoredView(own, view.map_page, view.next_cursor)
        if method == "DELETE":
            prefix = path[: found.start("id")]
            also = tuple(prefix + one for one in _inner_ids(turn) if one != produced.get("id"))
            own_id, shown_id = {"id": produced.get("id")}, {"id": kept}
            renamed = partial(map_stored_answer, produced=own_id, delivered=shown_id)
            return StoredView(own, renamed, also=also)
        return StoredView(own, partial(map_stored_answer, produced=produced, delivered=delivered))

    async def _find_noisy_session(
        self, session_id: str | None, response_id: str, caller: Caller
    ) -> LiveSession | None:
        """The named session, or else that of the response, if it has noise."""
        if session_id is None:
            session_id = await self.sessions.of_response(response_id, caller)
        session = await self.sessions.get(session_id) if session_id is not None else None
        return session if session is not None and session.plan.rules else None

    async def _turns(self, session: LiveSession, codec: Codec, turn: Turn) -> ClientView:
        """The client's view of a turn's input."""
        split = codec.split(turn.received.bytes()) if turn.received else None
        if split is None:
            return _view(session, ())
        await self.sessions.histories.restore(session, codec, split)
        return _view(session, codec.read(split, session.reader(codec), _unchanged).conversation.items)

    async def _conversation(self, session: LiveSession, conversation: str) -> ClientView:
        codec = _of_responses()
        await self.sessions.histories.catch_up(session, codec)
        held = session.reader(codec).server_histories.get(conversation)
        steps = held.history.steps[: held.length] if held is not None else ()
        return _view(session, [item for step in steps for item in step.items])


def _of_responses() -> Codec:
    codec = codec_named("responses")
    assert codec is not None, "the gateway has it"
    return codec


def _restore_ids(session: LiveSession, history: History, given: Any) -> list[Any] | None:
    """The items behind a history with the ids that the policy gave its calls; None if they have them."""
    codec, before = _of_responses(), len(history.steps)
    mapping = codec.tool_mapping
    if mapping is None or not session.ledger.changes_ids or not isinstance(given, list):
        return None
    items = [encode(item) for item in given]
    for item in items:
        history.extend(item, 0, hide_nothing)
    ids = find_true_ids(history, len(history.steps), partial(session.ledger.true_ids, codec.name))
    if not any(index >= before for index in ids):
        return None
    known = [(item, ids.get(index)) for index, item in enumerate(items, before)]
    whole = (item if own is None else mapping.restore_ids(item, own) for item, own in known)
    restored: list[Any] = decode(b"[" + b",".join(whole) + b"]")
    return restored


def _item(text: str) -> Any:
    return decode(text.encode())


def _items_of(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _view(session: LiveSession, items: Iterable[UserText | ToolResult]) -> ClientView:
    ledger = session.ledger
    texts: dict[tuple[str, str], str] = {}
    for item in items:
        known = ledger.known.get(item.anchor)
        if known is not None and known.text is not None:
            call = item.call.call_id if isinstance(item, ToolResult) else ""
            # One without its call: an id that the provider was given may be another than the client's.
            texts[call, known.text] = texts["", known.text] = item.text
    return ClientView(
        texts,
        ledger.tools.declared_of if ledger.tools is not None else {},
        hidden_ids(ledger.reinsertions.values()),
    )


def _restore_members(turn: Turn) -> dict[str, Any]:
    """The request's members that its stored completion repeats, as the client gave them."""
    if turn.received is None or turn.sent is None:
        return {}
    given, sent = decode(turn.received.bytes()), decode(turn.sent.bytes())
    return {
        name: given[name]
        for name in ("tools", "tool_choice")
        if name in given and sent.get(name) != given[name]
    }


def _inner_ids(turn: Turn) -> list[str]:
    rounds = [decode(one.produced.encode()) for one in turn.rounds]
    return [one["id"] for one in rounds if isinstance(one, dict) and isinstance(one.get("id"), str)]
