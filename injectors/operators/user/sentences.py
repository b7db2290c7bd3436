"""A user's message as sentences, and how to append others without changing its own bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crosswind.injectors.text.json_payload import is_container, parse_json

_WORD = re.compile(r"\w")
_ABBREVIATIONS = "".join(
    rf"(?<!\b{word}\.)"
    for word in ("Dr", "Mr", "Mrs", "Ms", "St", "No", "Jr", "Sr", "Prof", "vs", "e\\.g", "z\\.B")
)
"""A full stop behind these ends no sentence."""
_BREAK = re.compile(rf"(?<=[.!?]){_ABBREVIATIONS}\s+|(?<=[。！？])|\n+")
_ENDS = ".!?…。！？:"


def is_prose(text: str) -> bool:
    """Whether the message has words and is no JSON document: only there can a sentence be added."""
    return _WORD.search(text) is not None and not is_container(parse_json(text))


def append_sentences(text: str, sentences: Iterable[str]) -> str:
    """Append sentences, on a line of their own where the text doesn't end in a finished sentence."""
    added = " ".join(sentences)
    if not added:
        return text
    return f"{text}{find_separator(text)}{added}"


def find_separator(text: str) -> str:
    """What separates the text from a sentence appended to it."""
    if text[-1:].isspace():
        return ""
    return " " if text[-1:] in _ENDS and "\n" not in text else "\n"


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The spans [start, end) of the sentences, in order, without the white space between them."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() > start:
            spans.append((start, match.start()))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans
