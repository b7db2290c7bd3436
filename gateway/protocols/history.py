"""A session's message histories. Each message is read once, so that a turn costs work only for what is new.

Clients resend their whole history. A history is a list of steps here. A body that begins with the bytes of a
known history reuses its steps, with the parsed items, their anchors and the stored segments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import msgspec

from crosswind.gateway.protocols.message_format import (
    UNPARSED,
    MessageFormat,
    ParsedMessage,
    Replacements,
    TextPart,
    ToolResultPart,
)
from crosswind.gateway.protocols.text_transcript import read_transcript
from crosswind.gateway.trajectory.content import Chain
from crosswind.injectors.conversation import Ref, Site, ToolCall, ToolResult, UserText
from crosswind.injectors.identity import call_anchor, digest, logical_call, normalise, text_anchor

Mask = Callable[[bytes], bytes]
"""Gives what may be stored of a segment: the same object if nothing had to be hidden."""

Item = UserText | ToolResult

_LONG = 512
"""Calls with fewer characters of arguments keep their keys: an agent's sessions make many equal ones."""
_key_of_call = lru_cache(4096)(logical_call)


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
    rewritten: dict[Replacements, bytes] = {}
    sent: Chain | None = None
    sent_raw: bytes = b""
    restored: bytes = b""
    restored_key: object = None
    """What `restored`, the message as the policy met it, was made from."""


class SentHistory(msgspec.Struct, eq=False):
    """A history as it was sent last, with what was replaced in it."""

    held: int = 0
    """How many of the first steps the upstream holds: they were not sent."""
    texts: list[tuple[Ref, str]] = []
    segments: list[bytes] = []
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
        self._policy_anchors: list[str | None] = []
        self._format = messages
        self._known_items = items
        self._seen: dict[str, int] = {}
        """How often each anchor came."""
        self._calls: dict[str, list[ToolCall]] = {}
        self._unnamed: list[ToolCall] = []
        self._users = 0
        self._results = 0

    def read(self, body: bytes, start: int, spans: Sequence[tuple[int, int]], mask: Mask) -> None:
        """Read the messages at `spans`, which come next. The first one's separator begins at `start`."""
        if len(spans) > 1:
            new = body[start : spans[-1][1]]
            if mask(new) is new:
                # If nothing is hidden in all of them, nothing is in any one: don't search each again.
                mask = hide_nothing
        for (begin, end), read in zip(spans, self._format.read_all(body, spans), strict=True):
            self._add(body[start:end], begin - start, read, mask)
            start = end

    def extend(self, raw: bytes, lead: int, mask: Mask) -> HistoryStep:
        """Read one more message. One that can't be parsed has no items and is left alone."""
        return self._add(raw, lead, self._format.read(raw[lead:]), mask)

    def _add(self, raw: bytes, lead: int, read: ParsedMessage, mask: Mask) -> HistoryStep:
        """Add a message, as it was parsed."""
        index, before, parent, masked = len(self.steps), None, None, False
        if index:
            before = self.steps[-1]
            if index > self.held:
                # The chain covers this body only: what the upstream holds was stored with earlier turns.
                parent, masked = before.received, before.masked
        if read.reference:
            # Its texts are not in this body, but results in this body may answer its calls.
            known = self._known_items.get(read.reference, UNPARSED)
            read = ParsedMessage(calls=known.calls, own_text=known.own_text, own_id=known.own_id)
        if read.is_user or read.own_text:
            read = read_transcript(read, () if before is None else before.parsed.written_calls)
        items = self._read_items(index, read) if read.parts or read.is_user else ()
        stored = raw
        if mask is not hide_nothing:
            stored = mask(raw)
            masked = masked or stored is not raw
        received = Chain(parent, stored, said=_find_said(read))
        step = HistoryStep(raw, lead, read, items, received, masked)
        self._append(step)
        return step

    def policy_anchors(self, length: int) -> Sequence[str | None]:
        """Of each of the first `length` messages the anchor, if the policy made it: by its first call's id,
        else by its text. Few requests need them.
        """
        known = self._policy_anchors
        for step in self.steps[len(known) : length]:
            read = step.parsed
            base = policy_anchor_base(read.calls[0].call_id if read.calls else read.own_id, read.own_text)
            known.append(None if base is None else f"{base}#{self._count_equal(base)}")
        return known[:length]

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
        raw, read, items = step.raw, step.parsed, self._all_items
        self.steps.append(step)
        self.segments.append(raw)
        if step.items:
            items += step.items
        self._ends.append(len(items))
        self.size += len(raw)
        if read.calls:
            for call in read.calls:
                if call.call_id:
                    self._calls.setdefault(call.call_id, []).append(call)
                else:
                    self._unnamed.append(call)
        if read.written_calls:
            for call in read.written_calls:
                if call.call_id:
                    self._calls.setdefault(call.call_id, []).append(call)

    def _read_items(self, index: int, read: ParsedMessage) -> tuple[Item, ...]:
        items: list[Item] = []
        for part in read.parts:
            if isinstance(part, TextPart):
                anchor = self._text_anchor(Site.USER_TEXT, part.text)
                items.append(UserText(Ref(index, part.place), part.text, anchor, self._users))
            else:
                self._read_result(index, part, items)
        if read.is_user:
            self._users += 1
        return tuple(items)

    def _read_result(self, index: int, result: ToolResultPart, items: list[Item]) -> None:
        call, first = self._find_call(result)
        key = (_key_of_call if len(call.arguments) < _LONG else logical_call)(call.name, call.arguments)
        for order, part in enumerate(result.texts):
            if first:
                anchor = f"{first}.{order}" if order else first
                self._count_equal(anchor)
            else:
                anchor = self._text_anchor(Site.TOOL_RESULT, part.text)
            items.append(ToolResult(Ref(index, part.place), part.text, anchor, self._results, call, key))
        self._results += 1

    def _text_anchor(self, site: Site, text: str) -> str:
        """The anchor of a text, by its occurrence among equal texts."""
        first = text_anchor(site, text, 0)
        occurrence = self._count_equal(first)
        return text_anchor(site, text, occurrence) if occurrence else first

    def _find_call(self, result: ToolResultPart) -> tuple[ToolCall, str]:
        """The call that a result answers, and the result's anchor by that call's id, if it has one."""
        call_id = result.call_id
        if result.call is not None:
            call_id = result.call.call_id
            return result.call, call_anchor(call_id, 0) if call_id else ""
        if not call_id:
            # Without an id, results answer the calls without an id in order.
            return self._unnamed.pop(0) if self._unnamed else ToolCall("", "", "{}"), ""
        occurrence = 0
        while (anchor := call_anchor(call_id, occurrence)) in self._seen:
            occurrence += 1
        calls = self._calls.get(call_id)
        if calls is None:
            return ToolCall(call_id, result.name, "{}"), anchor
        return calls[min(occurrence, len(calls) - 1)], anchor

    def _count(self, step: HistoryStep) -> None:
        """Count a step as reading it did."""
        self._users += step.parsed.is_user
        for part in step.parsed.parts:
            if isinstance(part, ToolResultPart):
                self._results += 1
                if not part.call_id and part.call is None and self._unnamed:
                    self._unnamed.pop(0)
        for item in step.items:
            named = item.anchor.startswith("call:")
            self._count_equal(item.anchor if named else item.anchor.rpartition("#")[0] + "#0")


def _find_said(read: ParsedMessage) -> tuple[str, ...]:
    """What a message says, whatever its markers, blocks and spaces; no text if that is nothing."""
    said = [read.own_text or ""]
    if read.calls:
        said += [call.call_id for call in read.calls]
    if read.parts:
        for part in read.parts:
            if isinstance(part, TextPart):
                said += ("", part.text.strip())
            else:
                said.append(part.call_id)
                said += [one.text.strip() for one in part.texts]
    return tuple(said)


def policy_anchor_base(call_id: str, said: str | None) -> str | None:
    """The anchor of a message that the policy made, without its occurrence; None for other messages."""
    if call_id:
        return f"made:{call_id}"
    return None if said is None else f"said:{digest(normalise(said))}"
