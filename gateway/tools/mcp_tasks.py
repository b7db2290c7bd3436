"""MCP: calls of tools whose results come later, through tasks.

In revision 2025-11-25 the client asks for a task, and fetches the result by `tasks/result`. In the extension
of 2026-07-28 the server answers with a task by itself, and `tasks/get` (or `notifications/tasks`) has the
result once it is complete.
"""

from __future__ import annotations

from collections.abc import Callable

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
    make_key,
    put_result,
    read,
    read_request,
)
from crosswind.gateway.tools.mcp_results import Members, ToolResultView, is_member, read_members

METHODS = ("tasks/get", "tasks/result", "tasks/cancel")
STATUS = "notifications/tasks"
LONGEST_ID = 1000
MOST_TASKS = 1000
"""How many tasks of a link are kept. Results of older ones pass unchanged."""


class PendingCall(msgspec.Struct):
    """A call under way."""

    begun: Begun
    modern: bool


class TaskRequest(msgspec.Struct):
    """A request about the task of a call."""

    method: str
    task: str


class _Task(msgspec.Struct):
    call: PendingCall
    texts: tuple[str | None, ...] = ()
    """What noise made of the result's texts: whoever asks again is shown the same."""


Texts = tuple[str | None, ...]
Finish = Callable[[bytes, PendingCall, Members, msgspec.Raw, Id, int, Within], tuple[Decision, Texts]]


class TaskCalls:
    """The calls of a link that were answered by tasks."""

    def __init__(self, leg: ToolLeg, finish: Finish) -> None:
        """`finish` says what happens to a message that has a call's result."""
        self._leg, self._finish = leg, finish
        self._tasks: dict[str, _Task] = {}
        """By the server's id."""
        self.open: set[str] = set()
        """Those whose results didn't come yet."""

    def keep(self, handle: str, call: PendingCall, now_us: int) -> None:
        """A call was answered by a task."""
        self._tasks[handle] = _Task(call)
        self.open.add(handle)
        if len(self._tasks) > MOST_TASKS:
            oldest = next(iter(self._tasks))
            self._settle(oldest, Outcome.UNANSWERED, now_us)
            del self._tasks[oldest]

    def ask(self, request: Request, now_us: int) -> TaskRequest | None:
        """A client's request about a task; gives what to keep until its answer comes."""
        handle = _find_id(request.params or {})
        if handle is None or handle not in self._tasks:
            return None
        if request.method == "tasks/cancel":
            self._settle(handle, Outcome.CANCELLED, now_us)
            return None
        return TaskRequest(request.method, handle)

    def answer(self, raw: bytes, asked: TaskRequest, response: Response, now_us: int) -> Decision:
        """The answer to a request about a task."""
        if asked.task not in self._tasks:
            return PASS
        fetches = asked.method == "tasks/result"
        if not bytes(response.result):
            if fetches:
                self._settle(asked.task, Outcome.TOOL_ERROR, now_us)
            return PASS
        try:
            members = read_members(response.result)
            take = self._take_result if fetches else self._take_status
            return take(raw, asked.task, members, response.id, now_us)
        except UNREADABLE:
            return PASS

    def note(self, raw: bytes, now_us: int) -> Decision:
        """A notification of the server, which may be about a task."""
        if not self.open or b"tasks" not in raw:
            return PASS
        try:
            said = read_request(raw)
            handle = _find_id(said.params or {})
            if said.method != STATUS or said.params is None or handle not in self._tasks:
                return PASS
            decision = self._take_status(raw, handle, said.params, msgspec.Raw(b"null"), now_us)
        except UNREADABLE:
            return PASS
        # Nobody waits for a notification: one that a fault breaks off doesn't come.
        return DROP if decision.act in (Act.ANSWER, Act.CLOSE) else decision

    def close(self, now_us: int) -> None:
        """The link has ended."""
        for handle in list(self.open):
            self._settle(handle, Outcome.UNANSWERED, now_us)

    def _take_status(
        self, raw: bytes, handle: str, members: Members, request_id: msgspec.Raw, now_us: int
    ) -> Decision:
        """What a server says of a task; its result is there once it is complete."""
        status = read(members["status"]) if "status" in members else ""
        if status == "completed" and "result" in members:
            inner = read_members(members["result"])
            return self._take_result(raw, handle, inner, request_id, now_us, within="result")
        if status == "cancelled":
            self._settle(handle, Outcome.CANCELLED, now_us)
        elif status == "failed" and "error" in members:
            self._settle(handle, Outcome.TOOL_ERROR, now_us)
        return PASS

    def _take_result(
        self,
        raw: bytes,
        handle: str,
        members: Members,
        request_id: msgspec.Raw,
        now_us: int,
        within: Within = None,
    ) -> Decision:
        """The result of a call, through its task. Whoever fetches it again is shown the same."""
        task = self._tasks[handle]
        if handle in self.open:
            self.open.discard(handle)
            key = make_key("", request_id)
            decision, task.texts = self._finish(raw, task.call, members, request_id, key, now_us, within)
            return decision
        view = ToolResultView.read(members)
        if not task.texts or len(view.texts) != len(task.texts):
            return PASS
        return Decision(act=Act.REPLACE, body=put_result(raw, within, view.write(task.texts)))

    def _settle(self, handle: str, outcome: Outcome, now_us: int) -> None:
        if handle in self.open:
            self.open.discard(handle)
            self._leg.end(self._tasks[handle].call.begun.call, outcome, now_us)


def find_handle(members: Members) -> str | None:
    """The task's id, where a call is answered by a task."""
    try:
        if is_member(members, "resultType", b'"task"'):
            return _id(members)
        if "task" in members and "content" not in members:
            return _id(read_members(members["task"]))
    except (msgspec.DecodeError, UnicodeError):
        pass
    return None


def _find_id(params: Members) -> str | None:
    """The id of the task that a message is about."""
    try:
        return _id(params)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _id(members: Members) -> str | None:
    value = read(members["taskId"]) if "taskId" in members else None
    return value if isinstance(value, str) and len(value) <= LONGEST_ID else None
