"""A JSON object by the byte spans of its members, so that one value can be replaced and all else keeps its
bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_scanner = json.JSONDecoder(strict=False)
_LEAD = re.compile(rb'[ \t\r\n]*,?[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_GAP = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
_SPACE = b" \t\r\n"
_KNOWN = b"{}"
"""Stands for elements of an array that are known already."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that it can't read: no JSON, too lax a JSON, or nested too deeply."""


@dataclass(frozen=True, slots=True)
class MemberSpan:
    """Where a member stands: its lead (comma and key) starts at `lead`, its value is [start, end)."""

    lead: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object as it came, with the spans of its members in order."""

    body: bytes
    members: Mapping[str, MemberSpan]

    @classmethod
    def parse(cls, body: bytes) -> Document | None:
        """None where the body isn't a JSON object, or names a member twice: what can't be split is left
        alone.
        """
        spans = _spans(body)
        return None if spans is None else cls(body, spans)

    def raw(self, name: str) -> bytes | None:
        """A member's value as it stands."""
        span = self.members.get(name)
        return None if span is None else self.body[span.start : span.end]

    def value(self, name: str) -> Any:
        """A member's value, decoded; None where it is absent, or can't be read."""
        raw = self.raw(name)
        try:
            return None if raw is None else decode(raw)
        except ValueError:
            return None

    def element_spans(self, name: str) -> list[tuple[int, int]] | None:
        """The spans of an array's elements, in the whole body; None where the member isn't an array."""
        span = self.members.get(name)
        if span is None or self.body[span.start : span.start + 1] != b"[":
            return None
        return element_spans(self.body, span.start, span.end)

    @classmethod
    def parse_around(
        cls, body: bytes, member: str, start: int, end: int
    ) -> tuple[Document, list[tuple[int, int]]] | None:
        """A body of whose array `member`, which begins just before `start`, everything up to `end` is known
        to be whole objects: only what stands around them is read. Gives the document and the spans of the
        elements that follow; None where it is no JSON object, as `parse` does.
        """
        around = cls.parse(body[:start] + _KNOWN + body[end:])
        following = around.element_spans(member) if around else None
        if around is None or not following or following[0] != (start, start + len(_KNOWN)):
            return None
        more = end - start - len(_KNOWN)
        members = {
            name: MemberSpan(
                span.lead + more if span.lead >= start else span.lead,
                span.start + more if span.start >= start else span.start,
                span.end + more if span.end >= start else span.end,
            )
            for name, span in around.members.items()
        }
        return cls(body, members), [(begin + more, stop + more) for begin, stop in following[1:]]

    def members_with(self, edits: Mapping[str, bytes | None]) -> list[tuple[str, bytes, bytes]]:
        """(name, lead, value) of each member after the edits: None removes one, an unknown name is added at
        the end.
        """
        out: list[tuple[str, bytes, bytes]] = []
        for name, span in self.members.items():
            value = edits.get(name, b"") if name in edits else self.body[span.start : span.end]
            if value is None:
                continue
            lead = self.body[span.lead : span.start]
            if not out and lead.lstrip(_SPACE).startswith(b","):
                lead = lead.lstrip(_SPACE)[1:]
            out.append((name, lead, value))
        for name, value in edits.items():
            if value is not None and name not in self.members:
                out.append((name, (b',"' if out else b'"') + name.encode() + b'":', value))
        return out

    @property
    def opening(self) -> bytes:
        """Everything up to and with the brace that opens the object."""
        first = next(iter(self.members.values()), None)
        return self.body[: first.lead] if first else self.body[: self.body.index(b"{") + 1]

    @property
    def closing(self) -> bytes:
        """Everything after the last value."""
        if not self.members:
            return self.body[self.body.index(b"{") + 1 :]
        return self.body[max(span.end for span in self.members.values()) :]


def decode(raw: bytes) -> Any:
    """Decode JSON; lone surrogates, which strict decoders refuse and Python clients send, are let through.

    ValueError where it is none, or nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        try:
            # As text: of bytes Python would guess the encoding.
            return json.loads(raw.decode("utf-8", "surrogatepass"))
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None


def encode(value: Any) -> bytes:
    """Encode JSON compactly; text with lone surrogates is escaped."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_raw_value).encode()


def _raw_value(raw: msgspec.Raw) -> Any:
    return decode(bytes(raw))


def element_spans(body: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
    """The spans, in the whole body, of the elements of the array at [start, end); None where it isn't one."""
    try:
        lengths = [len(memoryview(raw)) for raw in _array.decode(body[start:end])]
    except UNREADABLE:
        return _scan_elements(body, start, end)
    spans = []
    position = start + 1
    for length in lengths:
        position = _after_gap(body, position)
        spans.append((position, position + length))
        position += length
    return spans


def _spans(body: bytes) -> dict[str, MemberSpan] | None:
    try:
        values = _object.decode(body)
    except UNREADABLE:
        return _scan_spans(body)
    spans: dict[str, MemberSpan] = {}
    position = _find_opening(body)
    for name, raw in values.items():
        lead = _LEAD.match(body, position)
        value = bytes(raw)
        if lead is None or not body.startswith(value, lead.end()) or _key(lead) != name:
            return None
        spans[name] = MemberSpan(position, lead.end(), lead.end() + len(value))
        position = lead.end() + len(value)
    return spans if body[position:].strip(_SPACE) == b"}" else None


def _scan_spans(body: bytes) -> dict[str, MemberSpan] | None:
    """The slow way, for what msgspec refuses. Latin-1 keeps one character per byte, so offsets are byte
    offsets.
    """
    text = body.decode("latin-1")
    position = _find_opening(body)
    spans: dict[str, MemberSpan] = {}
    while position and (lead := _LEAD.match(body, position)):
        name = _key(lead)
        try:
            _, end = _scanner.raw_decode(text, lead.end())
        except (ValueError, RecursionError):
            return None
        if name is None or name in spans:
            return None
        spans[name] = MemberSpan(position, lead.end(), end)
        position = end
    return spans if position and body[position:].strip(_SPACE) == b"}" else None


def _find_opening(body: bytes) -> int:
    """The offset just after the opening brace; 0 where there is none."""
    start = len(body) - len(body.lstrip(_SPACE))
    return start + 1 if body[start : start + 1] == b"{" else 0


def _key(lead: re.Match[bytes]) -> str | None:
    quoted = lead.group(1)
    plain = quoted[1:-1]
    if plain.replace(b"_", b"").isalnum():
        return plain.decode("ascii")
    try:
        name = json.loads(quoted)
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def _scan_elements(body: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
    text = body.decode("latin-1")
    spans = []
    position = _after_gap(body, start + 1)
    while position < end - 1:
        try:
            _, stop = _scanner.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        spans.append((position, stop))
        position = _after_gap(body, stop)
    return spans


def _after_gap(body: bytes, position: int) -> int:
    if body[position : position + 2] == b",{":
        return position + 1
    gap = _GAP.match(body, position)
    return gap.end() if gap else position
