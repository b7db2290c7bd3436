"""A description in other words, of about the same length, with its facts in their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.schema.openings import FORMS, OPENING
from crosswind.injectors.operators.schema.wordings import WORDINGS
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.edits import edit, phrases, touches, unprotected
from crosswind.injectors.text.entities import plainly_begun, protected_spans

LENGTH = 0.2
"""The share of its length by which a description may grow or shrink."""

_PHRASE = phrases(*WORDINGS)


def rewordings(text: str, tools: Sequence[ToolSchema], rng: Stream, severity: float) -> list[dict[str, Any]]:
    """The edits that reword a share `severity` of the rewordable phrases, within the bound on its length."""
    out: list[dict[str, Any]] = []
    growth = 0
    for at, word, others in _candidates(text, tools):
        chosen, other = rng.chance(severity), rng.choice(others)
        other = other[0].upper() + other[1:] if word[0].isupper() else other
        change = len(other) - len(word)
        if chosen and abs(growth + change) <= max(1.0, LENGTH * len(text)):
            growth += change
            out.append(edit(at, word, other))
    return out


def _candidates(text: str, tools: Sequence[ToolSchema]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Where a word or phrase stands that can be reworded, and what can stand in its place."""
    protected = protected_spans(plainly_begun(text), tools)
    found = list(unprotected(_PHRASE, text, protected))
    opening = OPENING.match(text)
    if opening and not (found and found[0].start() <= opening.start(1)):
        word = opening.group(1)
        if not touches(protected, *opening.span(1)):
            yield opening.start(1), word, (FORMS[word.lower()],)
    for match in found:
        yield match.start(), match.group(), WORDINGS[match.group().lower()]
