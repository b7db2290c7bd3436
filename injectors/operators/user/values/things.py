"""Nouns for people, in the names of parameters."""

from __future__ import annotations

PERSONS = frozenset(
    """
    artist assignee attendee author beneficiary contact customer doctor employee friend guest member name
    owner patient payee person player receiver recipient sender user username
    """.split()
)
