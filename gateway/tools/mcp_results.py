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
    _listed: bool = False
    """The structured content is a list, of which each text is one element: SDKs give lists so. For noise it
    is one text: the list's JSON, or its lines."""
    _lines: bool = False

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
            if not view._one_value:
                view._read_list()
        return view

    def _read_list(self) -> None:
        name, value = None, self._structured
        if isinstance(value, dict) and len(value) == 1:
            [(name, value)] = value.items()
        if not isinstance(value, list) or not len(value) == len(self.texts) == len(self.blocks):
            return
        if all(text == one or _says(text, one) for text, one in zip(self.texts, value, strict=True)):
            self._one_value = self._listed = True
            self._wrapped = name
            self._lines = all(isinstance(one, str) and "\n" not in one for one in value)
            self.texts = ["\n".join(value) if self._lines else _write(value).decode()]

    @property
    def whole(self) -> bool:
        """Whether its texts are all that it has."""
        return self._listed or len(self.blocks) <= len(self.texts)

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
        if self._listed:
            return self._write_list(texts[0])
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

    def _write_list(self, text: str | None) -> Members:
        """A block for each element of the list; those that stay keep their bytes."""
        if text is None:
            return dict(self.members)
        structure = self._structure(text)
        value = structure if self._wrapped is None else structure[self._wrapped]
        was = self._structured if self._wrapped is None else self._structured[self._wrapped]
        blocks = []
        for at, one in enumerate(value):
            block = self.blocks[at] if at < len(was) else {"type": msgspec.Raw(b'"text"')}
            if at >= len(was) or was[at] != one:
                said = one if isinstance(one, str) else _write(one).decode()
                block = {**block, "text": msgspec.Raw(_write(said))}
            blocks.append(block)
        written = msgspec.Raw(_write(blocks)), msgspec.Raw(_write(structure))
        return {**self.members, "content": written[0], "structuredContent": written[1]}

    def _structure(self, text: str) -> Any:
        """The structured content that says what the text does. Raises msgspec.DecodeError or UnicodeError."""
        if self._wrapped is None:
            return text.split("\n") if self._lines else _read(text)
        was = self._structured[self._wrapped]
        value = text if isinstance(was, str) else text.split("\n") if self._lines else _read(text)
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
