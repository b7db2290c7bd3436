"""JSON by the byte spans of its values: one value is replaced, and everything else keeps its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crosswind.gateway.protocols.json_values import UNREADABLE, decode, decode_or_none, encode

JsonPath = tuple[str | int, ...]
"""Member names and indices, from the outermost value on."""

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_scanner = json.JSONDecoder(strict=False)
_LEAD = re.compile(rb'[ \t\r\n]*,?[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_GAP = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
_SPACE = b" \t\r\n"
_OPENING = ord("{")
_KNOWN = b"{}"
"""Stands for the elements of an array that are already known."""


class MemberSpan(msgspec.Struct, frozen=True, gc=False):
    """The position of a member: its comma and key start at `lead`, its value is [start, end)."""

    lead: int
    start: int
    end: int


class Document(msgspec.Struct, frozen=True, gc=False):
    """A JSON object as received, with the spans of its members in order."""

    body: bytes
    members: Mapping[str, MemberSpan]

    @classmethod
    def parse(cls, body: bytes) -> Document | None:
        """Split a body; None where it isn't a JSON object, or names a member twice: it is then left alone."""
        spans = _spans(body)
        return None if spans is None else cls(body, spans)

    def raw(self, name: str) -> bytes | None:
        """The bytes of a member's value."""
        span = self.members.get(name)
        return None if span is None else self.body[span.start : span.end]

    def value(self, name: str) -> Any:
        """A member's value, decoded; None where it is absent, or can't be read."""
        span = self.members.get(name)
        return None if span is None else decode_or_none(self.body[span.start : span.end])

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
        """Split a body whose array `member` has whole, known objects from `start` to `end`: only the rest is
        read. Gives the document and the spans of the elements that follow; None as `parse`.
        """
        # A short placeholder stands in for the known elements; every span behind it is then moved back.
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
        """(name, lead, value) of each member after the edits. None removes a member, an unknown name is added
        at the end.
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
        return self.body[list(self.members.values())[-1].end :]


def split_object(raw: bytes) -> dict[str, Any]:
    """The members of an object, their values as raw JSON where they can be left so."""
    try:
        members: dict[str, Any] = _object.decode(raw)
        return members
    except UNREADABLE:
        document = Document.parse(raw)
        if document is not None and document.members:
            return {name: msgspec.Raw(document.raw(name) or b"") for name in document.members}
        return {name: msgspec.Raw(encode(value)) for name, value in decode(raw).items()}


def split_array(raw: Any) -> list[bytes]:
    """The elements of an array, each as JSON text; none where it is no array."""
    if raw is None:
        return []
    try:
        return [bytes(element) for element in _array.decode(raw if isinstance(raw, bytes) else bytes(raw))]
    except (*UNREADABLE, TypeError):
        value = decode(bytes(raw)) if isinstance(raw, bytes | msgspec.Raw) else raw
        return [encode(element) for element in value] if isinstance(value, list) else []


def replace_values(raw: bytes, values: Mapping[JsonPath, Any]) -> bytes:
    """The JSON text with the values at these paths, which must exist, replaced.

    An object that names a member twice can't be split, and is encoded again as a whole.
    """
    if () in values:
        return encode(values[()])
    below: dict[str | int, dict[JsonPath, Any]] = {}
    for path, value in values.items():
        below.setdefault(path[0], {})[path[1:]] = value
    spans = _child_spans(raw)
    if spans is None:
        return encode(_with_values(decode(raw), values))
    out, position = [], 0
    for (start, end), inner in sorted((spans[key], inner) for key, inner in below.items()):
        out += [raw[position:start], replace_values(raw[start:end], inner)]
        position = end
    return b"".join([*out, raw[position:]])


def _child_spans(raw: bytes) -> Mapping[str | int, tuple[int, int]] | None:
    """The spans of an object's members, or of an array's elements."""
    document = Document.parse(raw)
    if document is not None:
        return {name: (span.start, span.end) for name, span in document.members.items()}
    found = element_spans(raw, 0, len(raw)) if raw.startswith(b"[") else None
    return None if found is None else dict(enumerate(found))


def _with_values(value: Any, values: Mapping[JsonPath, Any]) -> Any:
    for path, replacement in values.items():
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = replacement
    return value


def element_spans(body: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
    """The spans, in the whole body, of the elements of the array at [start, end); None where it isn't one."""
    try:
        elements = _array.decode(body[start:end])
    except UNREADABLE:
        return _scan_elements(body, start, end)
    return locate(elements, body, start + 1)


def all_objects(body: bytes, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the values at these spans are objects."""
    return not {body[start] for start, _ in spans} - {_OPENING}


def locate(elements: Sequence[msgspec.Raw], body: bytes, at: int) -> list[tuple[int, int]]:
    """The spans of an array's elements, which begin with the one behind the gap at this offset."""
    spans = []
    for element in elements:
        length = len(memoryview(element))
        at = at + 1 if body.startswith(b",{", at) else after_gap(body, at)
        spans.append((at, at + length))
        at += length
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
        if lead is None or not body.startswith(value, start := lead.end()):
            return None
        if lead[1] != b'"%b"' % name.encode("utf-8", "surrogatepass") and _key(lead) != name:
            return None
        end = start + len(value)
        spans[name] = MemberSpan(position, start, end)
        position = end
    return spans if body[position:].strip(_SPACE) == b"}" else None


def _scan_spans(body: bytes) -> dict[str, MemberSpan] | None:
    """The slow way, for JSON that msgspec refuses."""
    # Latin-1 keeps one character per byte, so that offsets into the text are offsets into the body.
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
    position = after_gap(body, start + 1)
    while position < end - 1:
        try:
            _, stop = _scanner.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        spans.append((position, stop))
        position = after_gap(body, stop)
    return spans


def after_gap(body: bytes, position: int) -> int:
    """The offset behind the white space, and the comma in it, that begin here."""
    gap = _GAP.match(body, position)
    return gap.end() if gap else position
