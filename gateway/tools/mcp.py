"""MCP: what to do with each message between a client and one server.

Only calls of tools, lists of tools and their results are read. A call that continues one for which the
server asked the client something (`InputRequiredResult`) is the same attempt, and is passed on as it is. A
call that is answered by a task is under way until its result is fetched.
"""

from __future__ import annotations

import msgspec

from crosswind.gateway.tools.decision import DROP, PASS, Act, Decision
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.leg import Begun, ToolLeg
from crosswind.gateway.tools.mcp_messages import (
    UNREADABLE,
    Id,
    Request,
    Response,
    Within,
    answer_call,
    fail,
    find_trace,
    make_key,
    put_result,
    read,
    read_request,
    read_response,
    rename_call,
    replace_members,
    write,
)
from crosswind.gateway.tools.mcp_results import Members, ToolResultView, is_member, read_members
from crosswind.gateway.tools.mcp_tasks import METHODS, PendingCall, TaskCalls, TaskRequest, find_handle
from crosswind.gateway.tools.shown_list import ShownToolList
from crosswind.injectors.conversation import ToolList
from crosswind.injectors.identity import logical_call

MODERN = "io.modelcontextprotocol/protocolVersion"
"""The member of a request's `_meta` that tells the modern era."""
LARGEST_RESULT = 8 << 20
"""Bytes of a result that noise reads; a larger one is passed on as it is."""
LISTEN = "subscriptions/listen"


class _List(msgspec.Struct):
    """A request for a page of the list of tools."""

    first: bool


class _Copy(msgspec.Struct):
    """A call that was delivered once more: nobody waits for its answer."""


LONGEST_NAME = 200
"""Characters of a tool's name; MCP recommends 128. A call of a longer one is passed on: names are stored."""


class McpLink:
    """The traffic between the clients of one session and one server."""

    def __init__(self, leg: ToolLeg, name: str) -> None:
        self._leg = leg
        self._name = name
        self._pending: dict[Id, PendingCall | _List | TaskRequest | _Copy] = {}
        self._asked: dict[str, list[PendingCall]] = {}
        """By logical call: calls for which the server asked its client something."""
        self._tasks = TaskCalls(leg, self._finish)
        self._list = ShownToolList(leg, name)
        self._names_of: ToolList | None = None
        """The server's list to which `_names` belong."""
        self._names = frozenset[str]()
        self._inside: dict[str, int] = {}
        """By tool: the calls that were answered in its place."""
        self._copies = 0

    @property
    def waits(self) -> bool:
        """Whether a message of the server may concern noise."""
        return bool(self._pending or self._tasks.open) or self._list.changes.awaits

    @property
    def tells(self) -> bool:
        """Whether clients may be told that noise has changed the list of tools."""
        return self._list.scheduled

    def learn(self, raw: bytes, *, scope: str = "") -> None:
        """The server's answer to `initialize`, which says whether it tells of changes."""
        self._list.changes.learn(raw, scope)

    def tells_on(self, scope: str) -> bool:
        """Whether such a notification may be due on a stream of this scope."""
        return self.tells and self._list.changes.concerns(scope)

    def take_notifications(self, *, scope: str = "") -> list[bytes]:
        """Notifications of ours that are due to a client. They are JSON-RPC messages without a line end."""
        return self._list.changes.take(scope)

    @property
    def names(self) -> frozenset[str]:
        """The tools that clients may know: the server's, and those of noise on their list."""
        declared, shown = self._leg.tools_of(self._name), self._list.names
        if self._names_of is not declared:  # Each list that comes gives another one.
            self._names_of = declared
            self._names = frozenset((*(tool.name for tool in declared), *shown.declared_of, *shown.phantoms))
        return self._names

    def from_client(self, raw: bytes, now_us: int, *, scope: str = "", streaming: bool = False) -> Decision:
        """What to do with a message to the server."""
        try:
            request = read_request(raw)
            key = make_key(scope, request.id) if bytes(request.id) else None
        except UNREADABLE:
            return PASS
        if key is None:
            return PASS
        if request.method == "tools/list":
            self._pending[key] = _List("cursor" not in (request.params or {}))
            return PASS
        if request.method in METHODS and (asked := self._tasks.ask(request, now_us)) is not None:
            self._pending[key] = asked
        elif request.method == LISTEN and self.tells:
            self._list.changes.listen(key, read(write(request.params or {})))
        if request.method != "tools/call" or key in self._pending or request.params is None:
            return PASS
        try:
            return self._call(raw, request, key, now_us, streaming)
        except UNREADABLE:
            return PASS

    def from_server(self, raw: bytes, now_us: int, *, scope: str = "") -> Decision:
        """What to do with a message to the client."""
        if not self.waits:
            return PASS
        try:
            response = read_response(raw)
            if not bytes(response.id):
                return self._note(raw, scope, now_us)
            key = make_key(scope, response.id)
        except UNREADABLE:
            return PASS
        found = None if response.method is not None else self._pending.pop(key, None)
        decision = PASS
        if isinstance(found, _Copy):
            return DROP
        if isinstance(found, _List):
            return self._show_list(raw, found, response, now_us)
        if isinstance(found, TaskRequest):
            decision = self._tasks.answer(raw, found, response, now_us)
        elif found is not None:
            decision = self._result(raw, found, response, key, now_us)
        self._list.renew()
        return decision

    def find_begun(self, raw: bytes, *, scope: str = "") -> Begun | None:
        """The call under way that a client's request is: a shell whose answer to it is a stream asks."""
        try:
            call = self._pending.get(make_key(scope, read_request(raw).id))
        except UNREADABLE:
            return None
        return call.begun if isinstance(call, PendingCall) else None

    def cancel(self, raw: bytes, now_us: int, *, scope: str = "") -> object:
        """The client's notification that it gives a request up. Gives the key of the request, by which a
        shell ends the wait of a `Decision`; the notification itself is passed on.
        """
        try:
            request = read_request(raw)
            key = make_key(scope, (request.params or {})["requestId"])
        except (*UNREADABLE, KeyError):
            return None
        if request.method != "notifications/cancelled":
            return None
        found = self._pending.get(key)
        if isinstance(found, PendingCall | TaskRequest):
            del self._pending[key]
        if isinstance(found, PendingCall):
            self._leg.end(found.begun.call, Outcome.CANCELLED, now_us)
        self._list.changes.end(scope=scope, key=key)
        return key

    def abandon(self, raw: bytes, outcome: Outcome, now_us: int, *, scope: str = "") -> None:
        """A client's request, if it is still under way, won't be answered any more."""
        try:
            key = make_key(scope, read_request(raw).id)
        except UNREADABLE:
            return
        call = self._pending.pop(key, None)
        self._list.changes.end(scope=scope, key=key)
        if isinstance(call, PendingCall):
            self._leg.end(call.begun.call, outcome, now_us)

    def close(self, now_us: int, *, scope: str | None = None) -> None:
        """The link has ended, or that of one scope: what is under way won't be answered."""
        for key in [key for key in self._pending if scope in (None, key[0])]:
            if isinstance(call := self._pending.pop(key), PendingCall):
                self._leg.end(call.begun.call, Outcome.UNANSWERED, now_us)
        if scope is not None:
            self._list.changes.end(scope=scope)
        else:
            self._list.close(now_us)
            self._tasks.close(now_us)
            for call in (call for calls in self._asked.values() for call in calls):
                self._leg.end(call.begun.call, Outcome.UNANSWERED, now_us)
            self._asked.clear()

    def _call(self, raw: bytes, request: Request, key: Id, now_us: int, streaming: bool) -> Decision:
        params = request.params or {}
        shown, arguments = read(params["name"]), bytes(params.get("arguments", b"{}")).decode()
        if not isinstance(shown, str) or len(shown) > LONGEST_NAME:
            return PASS
        modern = MODERN.encode() in bytes(params.get("_meta", b""))
        tool = self._list.names.declared_of.get(shown, shown)
        if "inputResponses" in params or "requestState" in params:
            return self._go_on(raw, request, key, tool, arguments, now_us)
        if (answer := self._answer_inside(shown, tool, arguments, now_us)) is not None:
            return Decision(act=Act.ANSWER, body=answer_call(raw, request, answer, modern), key=key)
        trace = find_trace(params)
        begun = self._leg.begin(self._name, tool, arguments, now_us, streaming=streaming, trace=trace)
        if (failure := begun.failure) is not None:
            self._list.renew()
            if "task" in params and failure.kind == "result":
                # The client waits for a task, not for a result.
                failure = msgspec.structs.replace(failure, kind="refusal")
            return fail(raw, request.id, failure, begun.wait_s, modern, key)
        self._pending[key] = PendingCall(begun, modern)
        body = rename_call(raw, request, tool) if tool != shown else b""
        return Decision(
            act=Act.REPLACE if body else Act.PASS,
            body=body,
            wait_s=begun.wait_s,
            copy=self._copy(body or raw, begun.copies, key[0]),
            name=tool if body else None,
            key=key,
        )

    def _go_on(
        self, raw: bytes, request: Request, key: Id, tool: str, arguments: str, now_us: int
    ) -> Decision:
        """A call that answers what the server asked: the same attempt."""
        waiting = self._asked.get(logical_call(tool, arguments))
        if waiting:
            self._pending[key] = waiting.pop(0)
        else:
            begun = self._leg.begin(self._name, tool, arguments, now_us, spare=True)
            self._pending[key] = PendingCall(begun, modern=True)
        body = rename_call(raw, request, tool) if read((request.params or {})["name"]) != tool else b""
        return Decision(act=Act.REPLACE, body=body, name=tool, key=key) if body else Decision(key=key)

    def _answer_inside(self, shown: str, tool: str, arguments: str, now_us: int) -> str | None:
        """The answer to a call that noise on the list of tools answers; None: it goes to the server."""
        before = self._inside.get(shown, 0)
        answer = None
        if (phantom := self._list.names.phantoms.get(shown)) is not None:
            answer = phantom.answer(before)
        elif not before and (refusal := self._list.names.refusals.get(shown)) is not None:
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
        written = write(f"crosswind-copy-{self._copies}")
        self._pending[make_key(scope, written)] = _Copy()
        return replace_members(raw, id=msgspec.Raw(written))

    def _result(self, raw: bytes, call: PendingCall, response: Response, key: Id, now_us: int) -> Decision:
        begun = call.begun
        if not bytes(response.result):
            self._leg.end(begun.call, Outcome.TOOL_ERROR, now_us)
            return PASS
        try:
            members = read_members(response.result)
        except UNREADABLE:
            self._leg.end(begun.call, Outcome.ANSWERED, now_us)
            return PASS
        if is_member(members, "resultType", b'"input_required"'):
            self._asked.setdefault(begun.call.logical_call, []).append(call)
            return PASS
        if (handle := find_handle(members)) is not None:
            self._tasks.keep(handle, call, now_us)
            return PASS
        if not ("resultType" not in members or is_member(members, "resultType", b'"complete"')):
            self._leg.end(begun.call, Outcome.ANSWERED, now_us)
            return PASS
        decision, _ = self._finish(raw, call, members, response.id, key, now_us)
        return decision

    def _finish(
        self,
        raw: bytes,
        call: PendingCall,
        members: Members,
        request_id: msgspec.Raw,
        key: Id,
        now_us: int,
        within: Within = None,
    ) -> tuple[Decision, tuple[str | None, ...]]:
        """A call's result has come, in the message's `result`, or in a member of that. Gives what happens to
        the message, and the result's texts; None: as it was.
        """
        begun = call.begun
        try:
            readable = len(raw) <= LARGEST_RESULT
            view = ToolResultView.read(members, self._list.outputs.get(begun.call.tool)) if readable else None
        except UNREADABLE:
            view = None
        if view is None:
            self._leg.end(begun.call, Outcome.ANSWERED, now_us)
            return PASS, ()
        finished = self._leg.finish(
            begun, view.texts, now_us, body=raw, error=view.error, whole=view.whole, accept=view.accept
        )
        if finished.failure is not None:
            failed = fail(raw, request_id, finished.failure, finished.wait_s, call.modern, key)
            return msgspec.structs.replace(failed, sent=finished.sent), ()
        if any(text is not None for text in finished.texts):
            body = put_result(raw, within, view.write(finished.texts))
            return Decision(act=Act.REPLACE, body=body, wait_s=finished.wait_s, key=key), finished.texts
        return Decision(wait_s=finished.wait_s, key=key), ()

    def _note(self, raw: bytes, scope: str, now_us: int) -> Decision:
        """A notification of the server."""
        if self._list.changes.awaits:
            self._list.changes.acknowledge(raw, scope)
        return self._tasks.note(raw, now_us)

    def _show_list(self, raw: bytes, asked: _List, response: Response, now_us: int) -> Decision:
        if not bytes(response.result):
            return PASS
        try:
            members = self._list.show(read_members(response.result), first=asked.first, now_us=now_us)
        except (*UNREADABLE, KeyError):
            return PASS
        if members is None:
            return PASS
        return Decision(act=Act.REPLACE, body=replace_members(raw, result=msgspec.Raw(write(members))))
