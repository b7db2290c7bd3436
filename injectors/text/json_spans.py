"""Where the values of a JSON text stand, so that one can be replaced and all other bytes stay.

JSON and prose within strings are read, too: MCP's `content` and other envelopes carry results as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
"""Made once: `json.loads` makes one for each call that isn't strict."""
_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_HIGH_HALF, _LOW_HALF = re.compile(r"\\u[dD][89abAB]"), re.compile(r"\\u[dD][c-fC-F]")


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A text within a JSON text: the whole (0 levels), or what a string of it holds."""

    text: str
    levels: int = 0
    """The strings within which it stands: what is written into it is escaped so often."""
    start: int = 0
    places: Sequence[int] | None = None
    """Where each of its characters stands in the whole; None: one after the other, from `start` on."""
    ascii: bool = True
    """Whether the whole has characters of ASCII only, and escapes others."""

    def locate(self, at: int) -> int:
        return self.start + at if self.places is None else self.places[at]

    def escape(self, text: str) -> str:
        """The text as it is written at this level."""
        for _ in range(self.levels):
            text = json.dumps(text, ensure_ascii=self.ascii)[1:-1]
        return text


class Leaf(msgspec.Struct, frozen=True, gc=False):
    """A scalar of a JSON text: its place, its value and its token text[start:end] of the frame."""

    place: tuple[str | int, ...]
    value: Any
    start: int
    end: int


def find_leaves(text: str, most: int) -> Iterator[Leaf]:
    """The scalars of a text that is valid JSON, in order, `most` of them."""
    path: list[str | int] = []
    key: str | None = None
    found = 0
    for match in TOKEN.finditer(text):
        token = match[0]
        match token:
            case "{":
                path.append("")
                key = None
            case "[":
                path.append(0)
            case "}" | "]":
                path.pop()
            case ",":
                if path and isinstance(path[-1], int):
                    path[-1] += 1
                key = None
            case ":":
                path[-1] = key or ""
            case _:
                if token[0] == '"' and path and isinstance(path[-1], str) and key is None:
                    key = read_token(token)
                    continue
                yield Leaf(tuple(path), read_token(token), match.start(), match.end())
                found += 1
                if found == most:
                    return


def read_token(token: str) -> Any:
    """The value of a scalar's token in a JSON text."""
    return token[1:-1] if token[0] == '"' and "\\" not in token else _DECODER.decode(token)


def open_string(frame: Frame, leaf: Leaf) -> Frame:
    """What a string holds, as a frame of its own."""
    raw = frame.text[leaf.start + 1 : leaf.end - 1]
    ascii_only = frame.ascii
    if "\\" not in raw and frame.places is None:
        return Frame(leaf.value, frame.levels + 1, frame.start + leaf.start + 1, None, ascii_only)
    places: list[int] = []
    half = False
    for match in _ESCAPED.finditer(raw):
        if half and _LOW_HALF.match(match[0]):
            half = False  # The second half of a character.
            continue
        half = _HIGH_HALF.match(match[0]) is not None
        places.append(frame.locate(leaf.start + 1 + match.start()))
    places.append(frame.locate(leaf.end - 1))
    return Frame(leaf.value, frame.levels + 1, 0, places, ascii_only)
