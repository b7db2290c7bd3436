"""What language models wrote for operators of noise, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """What a model wrote for an operator, in a session that asked for it or was shown it."""

    session_id: str
    key: str
    """The content of what was asked, and of which model."""
    operator: str
    model: str
    text: str
    score: float | None
    """A judge's, from 1 to 5; None where none judged it."""
    created_us: int
