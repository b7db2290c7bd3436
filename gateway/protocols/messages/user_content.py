"""Messages: the texts of a user message, each with its path.

Coding agents put `<system-reminder>` passages into their user's and their tools' texts. The passages change
from turn to turn and are nobody's words: they are left alone, and the text around them is read as if they
weren't there, so that a changed reminder moves no other text's noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.document import JsonPath
from crosswind.gateway.protocols.json_values import as_text
from crosswind.gateway.protocols.message_format import TextPart, ToolResultPart

_OPENING, _CLOSING = "<system-reminder>", "</system-reminder>"


@dataclass(frozen=True, slots=True)
class Passage:
    """The part [start, end) of the string at `path`."""

    path: JsonPath
    whole: str
    start: int
    end: int


class UserContent:
    """The content of a user message, a string or an array of blocks. A text's place is its number in the
    message, with those of tools' results.
    """

    def __init__(self, content: Any) -> None:
        self.parts: list[TextPart | ToolResultPart] = []
        self.is_turn = False
        """Whether it is a user's turn: not if it holds only tools' results and reminders."""
        self._passages: list[Passage] = []
        if isinstance(content, str):
            self._add_text(content, ("content",))
        for index, block in enumerate(content if isinstance(content, list) else []):
            if isinstance(block, dict):
                self._block(block, ("content", index))

    def replace(self, replacements: Sequence[tuple[int | None, str]]) -> Mapping[JsonPath, str]:
        """The strings by path, with the texts at these places replaced."""
        strings: dict[JsonPath, str] = {}
        # The last one first: the passages before it keep their offsets.
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
            self.is_turn = True

    def _add_text(self, text: str, path: JsonPath) -> None:
        texts = self._texts(text, path)
        self.parts += texts
        self.is_turn |= bool(texts)

    def _add_result(self, block: Mapping[str, Any], path: JsonPath) -> None:
        # A result with an error has failed without noise: it counts as a result, and its text is left alone.
        content = None if block.get("is_error") is True else block.get("content")
        texts = self._texts(content, path) if isinstance(content, str) else []
        if isinstance(content, list):
            for part, text in read_content_texts(content):
                texts += self._texts(text, (*path, part or 0, "text"))
        self.parts.append(ToolResultPart(as_text(block, "tool_use_id"), "", tuple(texts)))

    def _texts(self, text: str, path: JsonPath) -> list[TextPart]:
        texts = []
        for start, end in spans_outside_reminders(text):
            texts.append(TextPart(len(self._passages), text[start:end]))
            self._passages.append(Passage(path, text, start, end))
        return texts


def spans_outside_reminders(text: str) -> list[tuple[int, int]]:
    """The spans of a text outside of its reminders, without the white space between. An unclosed reminder is
    none.
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
