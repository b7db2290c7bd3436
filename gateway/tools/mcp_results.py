"""A tool's result in MCP: its texts and its structured content, as one value.

Only what changes is rewritten; the rest keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crosswind.gateway.tools.output_schema import is_valid
from crosswind.injectors.text.json_payload import parse_json

Members = dict[str, msgspec.Raw]
INVALID = "the result's structured content would not be valid by the tool's output schema"
TWO_VALUES = "the result's structured content isn't its text, and would tell the truth all the same"

_read_members = msgspec.json.Decoder(Members).decode
_read_blocks = msgspec.json.Decoder(list[Members]).decode
_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


@dataclass(slots=True)
class ToolResultView:
    """The result of a call, as noise sees it."""

    members: Members
    blocks: list[Members]
    texts: list[str]
    error: bool
    schema: Any = None
    """The tool's output schema, if it declares one."""
    _places: list[int] = field(default_factory=list)
    """The index of each text's block. None of them: the text is that of the structured content."""
    _structured: Any = None
    _has_structure: bool = False
    _one_value: bool = False
    _wrapped: str | None = None
    """The only member of the structured content that the text says: SDKs wrap what is no object in one."""

    @staticmethod
    def read(members: Members, schema: Any = None) -> ToolResultView:
        """Raises msgspec.DecodeError or UnicodeError where the members are no result."""
        blocks = _read_blocks(members["content"]) if "content" in members else []
        view = ToolResultView(members, blocks, [], is_member(members, "isError", b"true"), schema)
        for at, block in enumerate(blocks):
            if is_member(block, "type", b'"text"') and "text" in block:
                text = _read(block["text"])
                if isinstance(text, str):
                    view.texts.append(text)
                    view._places.append(at)
        if "structuredContent" in members:
            view._has_structure = True
            view._structured = _read(members["structuredContent"])
            if not blocks:
                view.texts, view._one_value = [_write(view._structured).decode()], True
            elif len(view.texts) == 1:
                view._one_value = _says(view.texts[0], view._structured)
                if not view._one_value and isinstance(view._structured, dict) and len(view._structured) == 1:
                    [(name, value)] = view._structured.items()
                    view._one_value = isinstance(value, str) and value == view.texts[0]
                    view._one_value |= _says(view.texts[0], value)
                    view._wrapped = name if view._one_value else None
        return view

    @property
    def whole(self) -> bool:
        """Whether its texts are all that it has."""
        return len(self.blocks) <= len(self.texts)

    def accept(self, text: str) -> str | None:
        """Why the result may not have this text, or None."""
        if not self._has_structure:
            return None
        if not self._one_value:
            return TWO_VALUES
        try:
            value = self._structure(text)
        except (msgspec.DecodeError, UnicodeError):
            return INVALID
        if type(value) is not type(self._structured):
            return INVALID
        return None if self.schema is None or is_valid(value, self.schema) else INVALID

    def write(self, texts: Sequence[str | None]) -> Members:
        """The members with these texts; None: as it was."""
        members, blocks = dict(self.members), list(self.blocks)
        for place, text in zip(self._places, texts, strict=False):
            if text is not None:
                blocks[place] = {**blocks[place], "text": msgspec.Raw(_write(text))}
        if self._places:
            members["content"] = msgspec.Raw(_write(blocks))
        changed = next((text for text in texts if text is not None), None)
        if self._one_value and changed is not None:
            members["structuredContent"] = msgspec.Raw(_write(self._structure(changed)))
        return members

    def _structure(self, text: str) -> Any:
        """The structured content that says what the text does. Raises msgspec.DecodeError or UnicodeError."""
        if self._wrapped is None:
            return _read(text)
        was = self._structured[self._wrapped]
        value = text if isinstance(was, str) else _read(text)
        if type(value) is not type(was):
            raise msgspec.DecodeError("another type of value")
        return {self._wrapped: value}


def _says(text: str, value: Any) -> bool:
    """Whether a text is the JSON of a value."""
    return not isinstance(value, str) and parse_json(text) == value


def error_members(text: str, *, modern: bool) -> Mapping[str, Any]:
    """The members of a result that says that the call failed. The modern era has a `resultType`."""
    content = [{"type": "text", "text": text}]
    kind = {"resultType": "complete"} if modern else {}
    return {**kind, "content": content, "isError": True}


def text_members(text: str, *, modern: bool) -> Mapping[str, Any]:
    """The members of a result with one text."""
    return {**error_members(text, modern=modern), "isError": False}


def is_member(members: Members, name: str, written: bytes) -> bool:
    """Whether there is a member of that name, so written."""
    return bytes(members.get(name, b"")) == written


def read_members(raw: bytes | msgspec.Raw) -> Members:
    return _read_members(raw)
