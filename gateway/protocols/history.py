"""A session's message histories, each message read once: a turn costs work only for what is new in it.

Clients resend their whole history. A history here is a list of steps; a body whose bytes begin with those of
a known
history reuses its steps, and with them the parsed items, their anchors and the stored segments.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crosswind.gateway.protocols.message_format import (
    UNPARSED,
    MessageFormat,
    ParsedMessage,
    Replacements,
    TextPart,
    ToolResultPart,
    parse_message,
)
from crosswind.gateway.trajectory.content import Chain, content_key
from crosswind.injectors.conversation import Ref, Site, ToolCall, ToolResult, UserText
from crosswind.injectors.identity import call_anchor, digest, logical_call, normalise, text_anchor

Mask = Callable[[bytes], bytes]
"""Takes a segment, gives what may be stored of it: the same object where nothing had to be hidden."""

Item = UserText | ToolResult


@dataclass(slots=True, eq=False)
class HistoryStep:
    """One message of a history. `raw` begins with the bytes that separate it from the one before (`lead` of
    them).
    """

    raw: bytes
    lead: int
    parsed: ParsedMessage
    items: tuple[Item, ...]
    received: Chain
    masked: bool
    policy_anchor: str | None
    """The anchor of a message of the policy's: by its first call's id, else by its text."""
    rewritten: dict[Replacements, bytes] = field(default_factory=dict)
    sent: Chain | None = None
    sent_raw: bytes = b""
    restored: bytes = b""
    restored_key: object = None
    """What `carried` was made of: the message as the policy met it, made once."""


class History:
    """The steps of one line of messages, and the counters that give the next message its ordinals and
    occurrences.
    """

    def __init__(self, messages: MessageFormat, items: Mapping[str, ParsedMessage]) -> None:
        self.steps: list[HistoryStep] = []
        self.size = 0
        """Bytes of the messages."""
        self.spans: Sequence[tuple[int, int]] = ()
        """Where its messages stood in the body that was read last."""
        self.held = 0
        """So many of its first steps are not in the body that is read now: the upstream holds them."""
        self._all_items: list[Item] = []
        self._ends: list[int] = []
        """How many items there are up to and with each step."""
        self._format = messages
        self._known_items = items
        self._seen: Counter[str] = Counter()
        self._calls: dict[str, list[ToolCall]] = {}
        self._unnamed: deque[ToolCall] = deque()
        self._users = 0
        self._results = 0

    def read(self, body: bytes, start: int, spans: Sequence[tuple[int, int]], mask: Mask) -> None:
        """Read the messages at `spans`, which come next; `start` is where the first one's separator
        begins.
        """
        if len(spans) > 1:
            new = body[start : spans[-1][1]]
            if mask(new) is new:
                # Where nothing is hidden in all of them, nothing is in one.
                mask = _as_it_is
        for before, (begin, end) in zip([start, *(e for _, e in spans)], spans, strict=False):
            self.extend(body[before:end], begin - before, mask)

    def extend(self, raw: bytes, lead: int, mask: Mask) -> HistoryStep:
        """Read one more message. One that can't be read has no items and is left alone."""
        read = parse_message(self._format, raw[lead:])
        if read.reference:
            # A user's texts stand elsewhere; what it calls is what results in this history answer.
            known = self._known_items.get(read.reference, UNPARSED)
            read = ParsedMessage(calls=known.calls, own_text=known.own_text, own_id=known.own_id)
        items = self._items(len(self.steps), read)
        stored = mask(raw)
        # The chain is the body's own: what the upstream holds was stored with earlier turns.
        parent = self.steps[-1].received if len(self.steps) > self.held else None
        made = self._made(read)
        received = Chain(parent, stored)
        received.says = _says(parent.says if parent else b"", read)
        step = HistoryStep(raw, lead, read, items, received, stored is not raw, made)
        self._append(step)
        return step

    def _made(self, read: ParsedMessage) -> str | None:
        base = policy_anchor_base(read.calls[0].call_id if read.calls else read.own_id, read.own_text)
        if base is None:
            return None
        occurrence, self._seen[base] = self._seen[base], self._seen[base] + 1
        return f"{base}#{occurrence}"

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
        self._all_items += step.items
        self._ends.append(len(self._all_items))
        self.size += len(step.raw)
        for call in step.parsed.calls:
            if call.call_id:
                self._calls.setdefault(call.call_id, []).append(call)
            else:
                self._unnamed.append(call)

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
                self._seen[anchor] += 1
            else:
                anchor = self._text_anchor(Site.TOOL_RESULT, part.text)
            items.append(ToolResult(Ref(index, part.place), part.text, anchor, self._results, call, key))
        self._results += 1
        return items

    def _text_anchor(self, site: Site, text: str) -> str:
        """The anchor of a text, by its occurrence among equals."""
        first = text_anchor(site, text, 0)
        occurrence, self._seen[first] = self._seen[first], self._seen[first] + 1
        return text_anchor(site, text, occurrence) if occurrence else first

    def _find_call(self, result: ToolResultPart) -> tuple[ToolCall, int]:
        """The call that a result answers, and the result's occurrence among those of that id."""
        call_id = result.call_id
        if not call_id:
            # It answers the next call that has no id either.
            call = self._unnamed.popleft() if self._unnamed else ToolCall("", "", "{}")
            return call, 0
        occurrence = 0
        while self._seen[call_anchor(call_id, occurrence)]:
            occurrence += 1
        calls = self._calls.get(call_id, [])
        if not calls:
            return ToolCall(call_id, result.name, "{}"), occurrence
        return calls[min(occurrence, len(calls) - 1)], occurrence

    def _count(self, step: HistoryStep) -> None:
        """Take a step into the counters, as reading it did."""
        self._users += step.parsed.is_user
        for part in step.parsed.parts:
            if isinstance(part, ToolResultPart):
                self._results += 1
                if not part.call_id and self._unnamed:
                    self._unnamed.popleft()
        for item in step.items:
            named = item.anchor.startswith("call:")
            self._seen[item.anchor if named else item.anchor.rpartition("#")[0] + "#0"] += 1
        if step.policy_anchor is not None:
            self._seen[step.policy_anchor.rpartition("#")[0]] += 1


def _as_it_is(segment: bytes) -> bytes:
    return segment


def _says(before: bytes, read: ParsedMessage) -> bytes:
    """What a history says, up to and with this message: markers, blocks and spaces are not what it says."""
    said = [read.own_text or "", *(call.call_id for call in read.calls)]
    for part in read.parts:
        texts = (part,) if isinstance(part, TextPart) else part.texts
        said += [
            part.call_id if isinstance(part, ToolResultPart) else "",
            *(one.text.strip() for one in texts),
        ]
    text = "\x1f".join(said)
    return content_key(before + text.encode("utf-8", "surrogatepass")) if text.strip("\x1f") else before


def policy_anchor_base(call_id: str, said: str | None) -> str | None:
    """The anchor of a message of the policy's, without its occurrence; None for other messages."""
    if call_id:
        return f"made:{call_id}"
    return None if said is None else f"said:{digest(normalise(said))}"
