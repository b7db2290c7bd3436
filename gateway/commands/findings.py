"""A finding of `crosswind doctor`, and how it is printed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum


class Mark(StrEnum):
    """What a finding means."""

    GOOD = "good"
    NOTE = "note"
    """It serves, and something is to be known about it."""
    BAD = "bad"
    """It can't be used as it is."""


@dataclass(frozen=True, slots=True)
class Finding:
    mark: Mark
    text: str
    """One line: what was looked at, what was found, and the fix."""


def good(text: str) -> Finding:
    return Finding(Mark.GOOD, text)


def note(text: str) -> Finding:
    return Finding(Mark.NOTE, text)


def bad(text: str) -> Finding:
    return Finding(Mark.BAD, " ".join(text.split()))


_SIGNS = {Mark.GOOD: "✓", Mark.NOTE: "!", Mark.BAD: "✗"}
_PLAIN_SIGNS = {Mark.GOOD: "ok  ", Mark.NOTE: "note", Mark.BAD: "FAIL"}
"""For an output that has no such characters."""


def format_finding(finding: Finding) -> str:
    signs = _SIGNS if _can_print("✓✗") else _PLAIN_SIGNS
    return f"{signs[finding.mark]} {finding.text}"


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
