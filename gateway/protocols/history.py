"""A session's message histories, each message read once: a turn costs work only for what is new in it.

Clients resend their whole history. A history here is a list of steps; a body whose bytes begin with those of
a known
history reuses its steps, and with them the parsed items, their anchors and the stored segments.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.protocols.document import decode
from gateway.trajectory.content import Chain
from injectors.conversation import Ref, Site, ToolCall, ToolResult, UserText
from injectors.identity import call_anchor, logical_call, text_anchor

Mask = Callable[[bytes], bytes]
"""Takes a segment, gives what may be stored of it: the same object where nothing had to be hidden."""

Item = UserText | ToolResult
Replacements = tuple[tuple[int | None, str], ...]
"""(content part, text) pairs of one message."""

KEPT_HISTORIES = 8


@dataclass(slots=True, eq=False)
class Step:
    """One message of a history. `raw` begins with the bytes that separate it from the one before (`lead` of
    them).
    """

    raw: bytes
    lead: int
    role: str
    items: tuple[Item, ...]
    calls: tuple[ToolCall, ...]
    received: Chain
    masked: bool
    unnamed: bool = False
    """A tool's result without a call id: it answers the next call that has none either."""
    rewritten: dict[Replacements, bytes] = field(default_factory=dict)
    sent: Chain | None = None
    sent_raw: bytes = b""


class History:
    """The steps of one line of messages, and the counters that give the next message its ordinals and
    occurrences.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._seen: Counter[str] = Counter()
        self._calls: dict[str, list[ToolCall]] = {}
        self._unnamed: deque[ToolCall] = deque()
        self._users = 0
        self._results = 0

    def extend(self, raw: bytes, lead: int, mask: Mask) -> Step:
        """Read one more message. One that can't be read has no items and is left alone."""
        try:
            message = decode(raw[lead:])
        except (ValueError, RecursionError):
            message = None
        message = message if isinstance(message, dict) else {}
        index = len(self.steps)
        role = message.get("role")
        items = self._items(index, message)
        calls = tuple(_calls(message)) if role == "assistant" else ()
        stored = mask(raw)
        parent = self.steps[-1].received if self.steps else None
        step = Step(raw, lead, str(role), items, calls, Chain(parent, stored), stored is not raw)
        step.unnamed = not message.get("tool_call_id")
        self._append(step)
        return step

    def fork(self, length: int) -> History:
        """A new history with the first `length` steps of this one."""
        other = History()
        for step in self.steps[:length]:
            other._count(step)
            other._append(step)
        return other

    def _append(self, step: Step) -> None:
        self.steps.append(step)
        for call in step.calls:
            if call.call_id:
                self._calls.setdefault(call.call_id, []).append(call)
            else:
                self._unnamed.append(call)

    def _items(self, index: int, message: dict[str, Any]) -> tuple[Item, ...]:
        role = message.get("role")
        texts = list(_texts(message.get("content")))
        items: list[Item] = []
        if role == "user":
            for part, text in texts:
                base = text_anchor(Site.USER_TEXT, text, 0)
                anchor = text_anchor(Site.USER_TEXT, text, self._seen[base])
                self._seen[base] += 1
                items.append(UserText(Ref(index, part), text, anchor, self._users))
            self._users += 1
        elif role == "tool":
            items.extend(self._result(index, message, texts))
        return tuple(items)

    def _result(self, index: int, message: dict[str, Any], texts: list[tuple[int | None, str]]) -> list[Item]:
        call, occurrence = self._answered(message)
        key = logical_call(call.name, call.arguments, "")
        items: list[Item] = []
        for order, (part, text) in enumerate(texts):
            if call.call_id:
                anchor = call_anchor(call.call_id, occurrence) + (f".{order}" if order else "")
                self._seen[anchor] += 1
            else:
                base = text_anchor(Site.TOOL_RESULT, text, 0)
                anchor = text_anchor(Site.TOOL_RESULT, text, self._seen[base])
                self._seen[base] += 1
            items.append(ToolResult(Ref(index, part), text, anchor, self._results, call, key))
        self._results += 1
        return items

    def _answered(self, message: dict[str, Any]) -> tuple[ToolCall, int]:
        """The call that a tool message answers, and the message's occurrence among those of that id."""
        call_id = message.get("tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            call = self._unnamed.popleft() if self._unnamed else ToolCall("", "", "{}")
            return call, 0
        occurrence = 0
        while self._seen[call_anchor(call_id, occurrence)]:
            occurrence += 1
        calls = self._calls.get(call_id, [])
        if not calls:
            name = message.get("name")
            return ToolCall(call_id, name if isinstance(name, str) else "", "{}"), occurrence
        return calls[min(occurrence, len(calls) - 1)], occurrence

    def _count(self, step: Step) -> None:
        """Take a step into the counters, as reading it did."""
        self._users += step.role == "user"
        self._results += step.role == "tool"
        if step.role == "tool" and step.unnamed and self._unnamed:
            self._unnamed.popleft()
        for item in step.items:
            named = item.anchor.startswith("call:")
            self._seen[item.anchor if named else item.anchor.rpartition("#")[0] + "#0"] += 1


class Histories:
    """The histories of a session that were met lately."""

    def __init__(self) -> None:
        self._kept: list[History] = []

    def read(self, body: bytes, start: int, spans: Sequence[tuple[int, int]], mask: Mask) -> tuple[Step, ...]:
        """The steps of the messages at `spans`; `start` is where the first one's separator begins."""
        segments = [
            (before, begin, end)
            for before, (begin, end) in zip([start, *(e for _, e in spans)], spans, strict=False)
        ]
        history, shared = self._nearest(body, start, len(segments))
        if shared < len(history.steps) and shared < len(segments):
            history = history.fork(shared)
            self._kept.append(history)
        elif history not in self._kept:
            self._kept.append(history)
        for before, begin, end in segments[shared:]:
            history.extend(body[before:end], begin - before, mask)
        self._kept.remove(history)
        self._kept.append(history)
        del self._kept[:-KEPT_HISTORIES]
        return tuple(history.steps[: len(segments)])

    def _nearest(self, body: bytes, start: int, length: int) -> tuple[History, int]:
        best, most = History(), 0
        for history in reversed(self._kept):
            shared = _shared(history, body, start, length)
            if shared > most:
                best, most = history, shared
            if shared == length or shared == len(history.steps) > 0:
                break
        return best, most


def _shared(history: History, body: bytes, position: int, length: int) -> int:
    """How many leading messages of the body are, byte for byte, those of the history."""
    for index, step in enumerate(history.steps[:length]):
        if not body.startswith(step.raw, position):
            return index
        position += len(step.raw)
    return min(length, len(history.steps))


def _texts(content: Any) -> list[tuple[int | None, str]]:
    if isinstance(content, str):
        return [(None, content)]
    if not isinstance(content, list):
        return []
    return [
        (index, part["text"])
        for index, part in enumerate(content)
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    ]


def _calls(message: dict[str, Any]) -> list[ToolCall]:
    calls = message.get("tool_calls")
    out = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, arguments, call_id = function.get("name"), function.get("arguments"), call.get("id")
            out.append(
                ToolCall(
                    call_id if isinstance(call_id, str) else "",
                    name if isinstance(name, str) else "",
                    arguments if isinstance(arguments, str) else "{}",
                )
            )
    return out
