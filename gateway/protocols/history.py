"""A session's message histories. Each message is read once, so that a turn costs work only for what is new.

Clients resend their whole history. A history is a list of steps here. A body that begins with the bytes of a
known history reuses its steps, with the parsed items, their anchors and the stored segments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from crosswind.gateway.protocols.message_format import (
    UNPARSED,
    MessageFormat,
    ParsedMessage,
    Replacements,
    TextPart,
    ToolResultPart,
    parse_message,
)
from crosswind.gateway.protocols.text_transcript import read_transcript
from crosswind.gateway.trajectory.content import Chain, content_key
from crosswind.injectors.conversation import Ref, Site, ToolCall, ToolResult, UserText
from crosswind.injectors.identity import call_anchor, digest, logical_call, normalise, text_anchor

Mask = Callable[[bytes], bytes]
"""Gives what may be stored of a segment: the same object if nothing had to be hidden."""

Item = UserText | ToolResult


def hide_nothing(segment: bytes) -> bytes:
    """The mask for what is masked already, or isn't stored."""
    return segment


class HistoryStep(msgspec.Struct, eq=False, gc=False):
    """One message of a history. The first `lead` bytes of `raw` separate it from the message before."""

    raw: bytes
    lead: int
    parsed: ParsedMessage
    items: tuple[Item, ...]
    received: Chain
    masked: bool
    """Whether a secret is hidden in it, or in a message before it in its chain."""
    policy_anchor: str | None
    """The anchor of a message that the policy made: by its first call's id, else by its text."""
    rewritten: dict[Replacements, bytes] = {}
    sent: Chain | None = None
    sent_raw: bytes = b""
    restored: bytes = b""
    restored_key: object = None
    """What `restored`, the message as the policy met it, was made from."""


@dataclass(slots=True, eq=False)
class SentHistory:
    """A history as it was sent last, with what was replaced in it."""

    held: int = 0
    """How many of the first steps the upstream holds: they were not sent."""
    texts: list[tuple[Ref, str]] = field(default_factory=list)
    segments: list[bytes] = field(default_factory=list)
    chain: Chain | None = None


class History:
    """The steps of one history, and the counters that give the next message its ordinals and occurrences."""

    def __init__(self, messages: MessageFormat, items: Mapping[str, ParsedMessage]) -> None:
        self.steps: list[HistoryStep] = []
        self.segments: list[bytes] = []
        """The bytes of each step."""
        self.size = 0
        """The bytes of the messages."""
        self.sent = SentHistory()
        self.spans: Sequence[tuple[int, int]] = ()
        """The spans of its messages in the body that was read last."""
        self.held = 0
        """How many of its first steps the upstream holds: they are not in the body that is being read."""
        self._all_items: list[Item] = []
        self._ends: list[int] = []
        """The number of items up to and with each step."""
        self._format = messages
        self._known_items = items
        self._seen: dict[str, int] = {}
        self._calls: dict[str, list[ToolCall]] = {}
        self._unnamed: deque[ToolCall] = deque()
        self._users = 0
        self._results = 0

    def read(self, body: bytes, start: int, spans: Sequence[tuple[int, int]], mask: Mask) -> None:
        """Read the messages at `spans`, which come next. The first one's separator begins at `start`."""
        if len(spans) > 1:
            new = body[start : spans[-1][1]]
            if mask(new) is new:
                # If nothing is hidden in all of them, nothing is in any one: don't search each again.
                mask = hide_nothing
        for begin, end in spans:
            self.extend(body[start:end], begin - start, mask)
            start = end

    def extend(self, raw: bytes, lead: int, mask: Mask) -> HistoryStep:
        """Read one more message. One that can't be parsed has no items and is left alone."""
        read = parse_message(self._format, raw[lead:])
        if read.reference:
            # Its texts are not in this body, but results in this body may answer its calls.
            known = self._known_items.get(read.reference, UNPARSED)
            read = ParsedMessage(calls=known.calls, own_text=known.own_text, own_id=known.own_id)
        read = read_transcript(read, self.steps[-1].parsed.written_calls if self.steps else ())
        items = self._items(len(self.steps), read)
        stored = mask(raw)
        # The chain covers this body only: what the upstream holds was stored with earlier turns.
        parent = self.steps[-1].received if len(self.steps) > self.held else None
        received = Chain(parent, stored)
        received.says = _says(parent.says if parent else b"", read)
        masked = stored is not raw or (parent is not None and self.steps[-1].masked)
        step = HistoryStep(raw, lead, read, items, received, masked, self._policy_anchor(read))
        self._append(step)
        return step

    def _policy_anchor(self, read: ParsedMessage) -> str | None:
        base = policy_anchor_base(read.calls[0].call_id if read.calls else read.own_id, read.own_text)
        if base is None:
            return None
        return f"{base}#{self._count_equal(base)}"

    def _count_equal(self, anchor: str) -> int:
        """How many equal ones came before; one more from now on."""
        occurrence = self._seen.get(anchor, 0)
        self._seen[anchor] = occurrence + 1
        return occurrence

    def fork(self, length: int) -> History:
        """A new history with the first `length` steps of this one."""
        other = History(self._format, self._known_items)
        for step in self.steps[:length]:
            other._count(step)
            other._append(step)
        return other

    def items(self, length: int) -> tuple[Item, ...]:
        """The items of the first `length` steps."""
        return tuple(self._all_items[: self._ends[length - 1]]) if length else ()

    def _append(self, step: HistoryStep) -> None:
        self.steps.append(step)
        self.segments.append(step.raw)
        self._all_items += step.items
        self._ends.append(len(self._all_items))
        self.size += len(step.raw)
        for call in step.parsed.calls:
            if call.call_id:
                self._calls.setdefault(call.call_id, []).append(call)
            else:
                self._unnamed.append(call)
        for call in step.parsed.written_calls:
            if call.call_id:
                self._calls.setdefault(call.call_id, []).append(call)

    def _items(self, index: int, read: ParsedMessage) -> tuple[Item, ...]:
        items: list[Item] = []
        for part in read.parts:
            if isinstance(part, TextPart):
                items.append(self._user_text(index, part))
            else:
                items.extend(self._result(index, part))
        self._users += read.is_user
        return tuple(items)

    def _user_text(self, index: int, part: TextPart) -> UserText:
        anchor = self._text_anchor(Site.USER_TEXT, part.text)
        return UserText(Ref(index, part.place), part.text, anchor, self._users)

    def _result(self, index: int, result: ToolResultPart) -> list[Item]:
        call, occurrence = self._find_call(result)
        key = logical_call(call.name, call.arguments)
        items: list[Item] = []
        for order, part in enumerate(result.texts):
            if call.call_id:
                anchor = call_anchor(call.call_id, occurrence) + (f".{order}" if order else "")
                self._count_equal(anchor)
            else:
                anchor = self._text_anchor(Site.TOOL_RESULT, part.text)
            items.append(ToolResult(Ref(index, part.place), part.text, anchor, self._results, call, key))
        self._results += 1
        return items

    def _text_anchor(self, site: Site, text: str) -> str:
        """The anchor of a text, by its occurrence among equal texts."""
        first = text_anchor(site, text, 0)
        occurrence = self._count_equal(first)
        return text_anchor(site, text, occurrence) if occurrence else first

    def _find_call(self, result: ToolResultPart) -> tuple[ToolCall, int]:
        """The call that a result answers, and the result's occurrence among those for that id."""
        call_id = result.call_id
        if result.call is not None:
            return result.call, 0
        if not call_id:
            # Without an id, results answer the calls without an id in order.
            call = self._unnamed.popleft() if self._unnamed else ToolCall("", "", "{}")
            return call, 0
        occurrence = 0
        while call_anchor(call_id, occurrence) in self._seen:
            occurrence += 1
        calls = self._calls.get(call_id, [])
        if not calls:
            return ToolCall(call_id, result.name, "{}"), occurrence
        return calls[min(occurrence, len(calls) - 1)], occurrence

    def _count(self, step: HistoryStep) -> None:
        """Count a step as reading it did."""
        self._users += step.parsed.is_user
        for part in step.parsed.parts:
            if isinstance(part, ToolResultPart):
                self._results += 1
                if not part.call_id and part.call is None and self._unnamed:
                    self._unnamed.popleft()
        for item in step.items:
            named = item.anchor.startswith("call:")
            self._count_equal(item.anchor if named else item.anchor.rpartition("#")[0] + "#0")
        if step.policy_anchor is not None:
            self._count_equal(step.policy_anchor.rpartition("#")[0])


def _says(before: bytes, read: ParsedMessage) -> bytes:
    """The key of all that a history says, up to and with this message, whatever its markers, blocks and
    spaces.
    """
    said = [read.own_text or "", *[call.call_id for call in read.calls]]
    for part in read.parts:
        if isinstance(part, TextPart):
            said += ("", part.text.strip())
        else:
            said.append(part.call_id)
            said += [one.text.strip() for one in part.texts]
    text = "\x1f".join(said)
    return content_key(before + text.encode("utf-8", "surrogatepass")) if text.strip("\x1f") else before


def policy_anchor_base(call_id: str, said: str | None) -> str | None:
    """The anchor of a message that the policy made, without its occurrence; None for other messages."""
    if call_id:
        return f"made:{call_id}"
    return None if said is None else f"said:{digest(normalise(said))}"
