"""MCP: what to do with each message between a client and one server.

Only calls of tools, lists of tools and their results are read. A call that continues one for which the server
asked the client something (`InputRequiredResult`) is the same attempt, and is passed on as it is; a call that
asks for a task is answered by a handle, and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.tools.decision import DROP, PASS, Act, Decision
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.leg import Begun, Failure, ToolLeg
from crosswind.gateway.tools.mcp_results import (
    Members,
    ToolResultView,
    error_members,
    is_member,
    read_members,
    text_members,
)
from crosswind.gateway.tools.mcp_tools import ToolListView, ToolNames, merge_pages
from crosswind.injectors.conversation import ToolList
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.identity import logical_call
from crosswind.injectors.text.json_payload import looks_destroyed

MODERN = "io.modelcontextprotocol/protocolVersion"
"""The member of a request's `_meta` that tells the modern era."""
LARGEST_RESULT = 8 << 20
"""Bytes of a result that noise reads; a larger one is passed on as it is."""
INTERNAL_ERROR, CONNECTION_CLOSED = -32603, -32000
Id = tuple[str, str, object]
"""The scope, and the type and value of a request's id: 1 and "1" are two ids."""


_ABSENT = msgspec.Raw()


class _Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = _ABSENT
    params: Members | None = None


class _Response(msgspec.Struct):
    id: msgspec.Raw
    method: str | None = None
    result: msgspec.Raw = _ABSENT


class _Call(msgspec.Struct):
    """A call under way."""

    begun: Begun
    modern: bool
    task: bool = False


class _List(msgspec.Struct):
    """A request for a page of the list of tools."""

    first: bool


class _Copy(msgspec.Struct):
    """A call that was delivered once more: nobody waits for its answer."""


LONGEST_NAME = 200
"""Characters of a tool's name; MCP recommends 128. A call of a longer one is passed on: names are stored."""
_read_request = msgspec.json.Decoder(_Request).decode
_read_response = msgspec.json.Decoder(_Response).decode
_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


class McpLink:
    """The traffic between the clients of one session and one server."""

    def __init__(self, leg: ToolLeg, name: str) -> None:
        self._leg = leg
        self._name = name
        self._pending: dict[Id, _Call | _List | _Copy] = {}
        self._asked: dict[str, list[_Call]] = {}
        """By logical call: calls for which the server asked its client something."""
        self._shown: ShownTools | None = None
        self._names = ToolNames()
        self._outputs: dict[str, Any] = {}
        self._inside: dict[str, int] = {}
        """By tool: the calls that were answered in its place."""
        self._copies = 0

    @property
    def waits(self) -> bool:
        """Whether a message of the server may concern noise."""
        return bool(self._pending)

    @property
    def names(self) -> frozenset[str]:
        """The tools that clients may know: the server's, and those of noise on their list."""
        declared = (tool.name for tool in self._leg.tools_of(self._name))
        return frozenset((*declared, *self._names.declared_of, *self._names.phantoms))

    def from_client(self, raw: bytes, now_us: int, *, scope: str = "", streaming: bool = False) -> Decision:
        """What to do with a message to the server."""
        try:
            request = _read_request(raw)
            key = _key(scope, request.id) if bytes(request.id) else None
        except _UNREADABLE:
            return PASS
        if key is None:
            return PASS
        if request.method == "tools/list":
            self._pending[key] = _List("cursor" not in (request.params or {}))
            return PASS
        if request.method != "tools/call" or key in self._pending or request.params is None:
            return PASS
        try:
            return self._call(raw, request, key, now_us, streaming)
        except _UNREADABLE:
            return PASS

    def from_server(self, raw: bytes, now_us: int, *, scope: str = "") -> Decision:
        """What to do with a message to the client."""
        if not self._pending:
            return PASS
        try:
            response = _read_response(raw)
            key = _key(scope, response.id)
        except _UNREADABLE:
            return PASS
        if response.method is not None or key not in self._pending:
            return PASS
        found = self._pending.pop(key)
        if isinstance(found, _Copy):
            return DROP
        if isinstance(found, _List):
            return self._list(raw, found, response, now_us)
        return self._result(raw, found, response, key, now_us)

    def cancel(self, raw: bytes, now_us: int, *, scope: str = "") -> object:
        """The client's notification that it gives a request up. Gives the key of the request, by which a
        shell ends the wait of a `Decision`; the notification itself is passed on.
        """
        try:
            request = _read_request(raw)
            key = _key(scope, (request.params or {})["requestId"])
        except (*_UNREADABLE, KeyError):
            return None
        if request.method != "notifications/cancelled":
            return None
        if isinstance(call := self._pending.get(key), _Call):
            del self._pending[key]
            self._leg.end(call.begun.call, Outcome.CANCELLED, now_us)
        return key

    def abandon(self, raw: bytes, outcome: Outcome, now_us: int, *, scope: str = "") -> None:
        """A client's request, if it is still under way, won't be answered any more."""
        try:
            call = self._pending.pop(_key(scope, _read_request(raw).id), None)
        except _UNREADABLE:
            return
        if isinstance(call, _Call):
            self._leg.end(call.begun.call, outcome, now_us)

    def close(self, now_us: int, *, scope: str | None = None) -> None:
        """The link has ended, or that of one scope: what is under way won't be answered."""
        for key in [key for key in self._pending if scope in (None, key[0])]:
            if isinstance(call := self._pending.pop(key), _Call):
                self._leg.end(call.begun.call, Outcome.UNANSWERED, now_us)
        if scope is None:
            for call in (call for calls in self._asked.values() for call in calls):
                self._leg.end(call.begun.call, Outcome.UNANSWERED, now_us)
            self._asked.clear()

    def _call(self, raw: bytes, request: _Request, key: Id, now_us: int, streaming: bool) -> Decision:
        params = request.params or {}
        shown, arguments = _read(params["name"]), bytes(params.get("arguments", b"{}")).decode()
        if not isinstance(shown, str) or len(shown) > LONGEST_NAME:
            return PASS
        modern = MODERN.encode() in bytes(params.get("_meta", b""))
        tool = self._names.declared_of.get(shown, shown)
        if "inputResponses" in params or "requestState" in params:
            return self._go_on(raw, request, key, tool, arguments, now_us)
        if (answer := self._answer_inside(shown, tool, arguments, now_us)) is not None:
            return Decision(act=Act.ANSWER, body=_answer(raw, request, answer, modern), key=key)
        task = "task" in params
        begun = self._leg.begin(self._name, tool, arguments, now_us, streaming=streaming, spare=task)
        if begun.failure is not None:
            return _fail(raw, request.id, begun.failure, begun.wait_s, modern, key)
        self._pending[key] = _Call(begun, modern, task)
        body = _rename(raw, request, tool) if tool != shown else b""
        return Decision(
            act=Act.REPLACE if body else Act.PASS,
            body=body,
            wait_s=begun.wait_s,
            copy=self._copy(body or raw, begun.copies, key[0]),
            name=tool if body else None,
            key=key,
        )

    def _go_on(
        self, raw: bytes, request: _Request, key: Id, tool: str, arguments: str, now_us: int
    ) -> Decision:
        """A call that answers what the server asked: the same attempt."""
        waiting = self._asked.get(logical_call(tool, arguments))
        if waiting:
            self._pending[key] = waiting.pop(0)
        else:
            begun = self._leg.begin(self._name, tool, arguments, now_us, spare=True)
            self._pending[key] = _Call(begun, modern=True)
        body = _rename(raw, request, tool) if _read((request.params or {})["name"]) != tool else b""
        return Decision(act=Act.REPLACE, body=body, name=tool, key=key) if body else Decision(key=key)

    def _answer_inside(self, shown: str, tool: str, arguments: str, now_us: int) -> str | None:
        """The answer to a call that noise on the list of tools answers; None: it goes to the server."""
        before = self._inside.get(shown, 0)
        answer = None
        if (phantom := self._names.phantoms.get(shown)) is not None:
            answer = phantom.answer(before)
        elif not before and (refusal := self._names.refusals.get(shown)) is not None:
            answer = refusal.objection(arguments)
        if answer is not None:
            self._inside[shown] = before + 1
            begun = self._leg.begin(self._name, tool, arguments, now_us, spare=True)
            self._leg.end(begun.call, Outcome.INSIDE, now_us)
        return answer

    def _copy(self, raw: bytes, copies: int, scope: str) -> bytes:
        """The same call once more, under an id of ours, so that no answer can be taken for the first's."""
        if not copies:
            return b""
        self._copies += 1
        written = _write(f"crosswind-copy-{self._copies}")
        self._pending[_key(scope, written)] = _Copy()
        return _with(raw, id=msgspec.Raw(written))

    def _result(self, raw: bytes, call: _Call, response: _Response, key: Id, now_us: int) -> Decision:
        begun = call.begun
        if not bytes(response.result) or call.task:
            outcome = Outcome.ANSWERED if bytes(response.result) else Outcome.TOOL_ERROR
            self._leg.end(begun.call, outcome, now_us)
            return PASS
        try:
            members = read_members(response.result)
            if is_member(members, "resultType", b'"input_required"'):
                self._asked.setdefault(begun.call.logical_call, []).append(call)
                return PASS
            complete = "resultType" not in members or is_member(members, "resultType", b'"complete"')
            readable = complete and len(raw) <= LARGEST_RESULT
            view = ToolResultView.read(members, self._outputs.get(begun.call.tool)) if readable else None
        except _UNREADABLE:
            view = None
        if view is None:
            self._leg.end(begun.call, Outcome.ANSWERED, now_us)
            return PASS
        finished = self._leg.finish(
            begun, view.texts, now_us, body=raw, error=view.error, whole=view.whole, accept=view.accept
        )
        if finished.failure is not None:
            failed = _fail(raw, response.id, finished.failure, finished.wait_s, call.modern, key)
            return msgspec.structs.replace(failed, sent=finished.sent)
        if any(text is not None for text in finished.texts):
            body = _with(raw, result=msgspec.Raw(_write(view.write(finished.texts))))
            return Decision(act=Act.REPLACE, body=body, wait_s=finished.wait_s, key=key)
        return Decision(wait_s=finished.wait_s, key=key)

    def _list(self, raw: bytes, asked: _List, response: _Response, now_us: int) -> Decision:
        if not bytes(response.result):
            return PASS
        try:
            members = read_members(response.result)
            page = ToolListView.read(members)
        except (*_UNREADABLE, KeyError):
            return PASS
        leg, name = self._leg, self._name
        leg.tools[name] = merge_pages(leg.tools_of(name), page.declared, first=asked.first)
        self._outputs |= page.outputs
        taken = {tool.name for tool in leg.tools_of(name)} - {tool.name for tool in page.tools}
        shown = perturb_tools(
            leg.plan,
            ToolList(page.tools),
            ToolConstraints(duplicates="suffixed", taken=frozenset(taken)),
            known=self._shown,
            allow_new=leg.enabled,
            turn=leg.calls,
        )
        leg.add_injections(name, shown.injections, now_us)
        if shown.anchor:
            self._shown = shown
        self._names.learn(shown, page.names)
        if shown.untouched:
            return PASS
        members["tools"] = page.write(shown)
        if "cacheScope" in members:
            # One session's noise is no other's.
            members["cacheScope"] = msgspec.Raw(b'"private"')
        return Decision(act=Act.REPLACE, body=_with(raw, result=msgspec.Raw(_write(members))))


def _key(scope: str, raw: bytes | msgspec.Raw) -> Id:
    value = _read(raw)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return scope, type(value).__name__, value if isinstance(value, str | int | float) else repr(value)


def _line_end(raw: bytes) -> bytes:
    return raw[len(raw.rstrip(b"\r\n")) :]


def _with(raw: bytes, **changes: msgspec.Raw) -> bytes:
    """The message with these members; the others keep their bytes."""
    return _write({**read_members(raw), **changes}) + _line_end(raw)


def _rename(raw: bytes, request: _Request, tool: str) -> bytes:
    params = {**(request.params or {}), "name": msgspec.Raw(_write(tool))}
    return _with(raw, params=msgspec.Raw(_write(params)))


def _message(raw: bytes, request_id: msgspec.Raw, **member: Mapping[str, Any]) -> bytes:
    return _write({"jsonrpc": "2.0", "id": request_id, **member}) + (_line_end(raw) or b"")


def _answer(raw: bytes, request: _Request, text: str, modern: bool) -> bytes:
    """The result of a call that noise on the list of tools answers."""
    members = error_members if looks_destroyed(text, "") else text_members
    return _message(raw, request.id, result=members(text, modern=modern))


def _fail(
    raw: bytes, request_id: msgspec.Raw, failure: Failure, wait_s: float, modern: bool, key: Id
) -> Decision:
    """What the client gets in place of a result."""
    if failure.kind == "result":
        body = _message(raw, request_id, result=error_members(failure.text, modern=modern))
        return Decision(act=Act.ANSWER, body=body, wait_s=wait_s, key=key)
    code = CONNECTION_CLOSED if failure.kind == "close" else INTERNAL_ERROR
    body = _message(raw, request_id, error={"code": code, "message": failure.text})
    return Decision(
        act=Act.CLOSE if failure.kind == "close" else Act.ANSWER,
        body=body,
        wait_s=wait_s,
        status=failure.status if failure.kind == "status" else 200,
        retry_after_s=failure.retry_after_s,
        close=failure.close,
        key=key,
    )
