"""Counts in words."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "") -> str:
    """The number with its noun, which agrees with it: 1 session, 2,000 sessions."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
