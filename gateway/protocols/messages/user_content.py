"""Messages: the texts of a user message, each with the way to it.

Coding agents put `<system-reminder>` passages into what their user and their tools say. They change from turn
to turn, and are neither the user's words nor a tool's: they are left alone, and what stands around them is
read as if they weren't there, so that a changed reminder moves no other text's noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.protocols.message_format import TextPart, ToolResultPart
from crosswind.gateway.protocols.splicing import JsonPath

_OPENING, _CLOSING = "<system-reminder>", "</system-reminder>"


@dataclass(frozen=True, slots=True)
class Passage:
    """The part [start, end) of the string at `path`."""

    path: JsonPath
    whole: str
    start: int
    end: int


class UserContent:
    """The content of a user message, a string or an array of blocks. A text's place is its number in its
    message, tools' results included.
    """

    def __init__(self, content: Any) -> None:
        self.parts: list[TextPart | ToolResultPart] = []
        self.user = False
        """A message that holds only tools' results, and reminders, is no user's turn."""
        self._passages: list[Passage] = []
        if isinstance(content, str):
            self._add_text(content, ("content",))
        for index, block in enumerate(content if isinstance(content, list) else []):
            if isinstance(block, dict):
                self._block(block, ("content", index))

    def replace(self, replacements: Sequence[tuple[int | None, str]]) -> Mapping[JsonPath, str]:
        """The strings, by their paths, that texts at these places make."""
        strings: dict[JsonPath, str] = {}
        # From the last one on: the passages before it keep their offsets.
        for place, text in sorted(replacements, key=lambda one: one[0] or 0, reverse=True):
            passage = self._passages[place or 0]
            string = strings.get(passage.path, passage.whole)
            strings[passage.path] = string[: passage.start] + text + string[passage.end :]
        return strings

    def _block(self, block: Mapping[str, Any], path: JsonPath) -> None:
        if block.get("type") == "tool_result":
            self._add_result(block, (*path, "content"))
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            self._add_text(block["text"], (*path, "text"))
        else:
            self.user = True

    def _add_text(self, text: str, path: JsonPath) -> None:
        texts = self._texts(text, path)
        self.parts += texts
        self.user |= bool(texts)

    def _add_result(self, block: Mapping[str, Any], path: JsonPath) -> None:
        """A result that is an error has failed on its own: it counts as a result, and is left alone."""
        content = None if block.get("is_error") is True else block.get("content")
        texts = self._texts(content, path) if isinstance(content, str) else []
        for index, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
                texts += self._texts(part["text"], (*path, index, "text"))
        call_id = block.get("tool_use_id")
        self.parts.append(ToolResultPart(call_id if isinstance(call_id, str) else "", "", tuple(texts)))

    def _texts(self, text: str, path: JsonPath) -> list[TextPart]:
        texts = []
        for start, end in spans_outside_reminders(text):
            texts.append(TextPart(len(self._passages), text[start:end]))
            self._passages.append(Passage(path, text, start, end))
        return texts


def spans_outside_reminders(text: str) -> list[tuple[int, int]]:
    """The spans of a text outside of its reminders, without the white space that parts them. A reminder that
    is never closed is none.
    """
    if _OPENING not in text:
        return [(0, len(text))]
    spans, position = [], 0
    while (start := text.find(_OPENING, position)) >= 0 and (end := text.find(_CLOSING, start)) >= 0:
        spans.append((position, start))
        position = end + len(_CLOSING)
    if not spans:
        return [(0, len(text))]
    spans.append((position, len(text)))
    return [trimmed for start, end in spans if (trimmed := _trim(text, start, end))]


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    inner = text[start:end]
    words = inner.strip()
    if not words:
        return None
    start += len(inner) - len(inner.lstrip())
    return start, start + len(words)
