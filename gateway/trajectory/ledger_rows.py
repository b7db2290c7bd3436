"""The rows of the ledger: message parts, tool names, delivered ids and destroyed answers of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Shown(msgspec.Struct, frozen=True):
    """A message part as the policy saw it. Clean parts have no decisions."""

    session_id: str
    anchor: str
    site: str
    ordinal: int
    turn_index: int
    clean_hash: str
    decisions: tuple[Mapping[str, Any], ...] = ()
    """Each {operator, rule, slot, severity, draw, logical_call, recovery, version}, in order of
    application."""
    text: str | None = None
    """The noisy text; None for a clean part."""
    branch: str = ""


class NameMap(msgspec.Struct, frozen=True):
    """A tool name as the client declared it and as the policy saw it, for one session."""

    session_id: str
    declared: str
    shown: str
    turn_index: int


class DeliveredId(msgspec.Struct, frozen=True):
    """An id of a delivered call or text, by which a later request without a session id is recognised."""

    name: str
    session_id: str


class DestroyedAnswer(msgspec.Struct, frozen=True):
    """An answer to the first request of a conversation, of a client that names no session, that noise
    destroyed: an equal request may be its retry.
    """

    session_id: str
    turn_index: int
    attempt: int
    alike: str
    """The digest of what the conversation's draws follow from."""
    conversation: str
    """The digest of the conversation: its messages, model and tools."""
    depth: int
    """How many answers to such requests were destroyed one after the other, this one included."""
    at_us: int
    taken: bool = False
    """Whether a later request was taken for its retry. Not stored: the session has a later turn then."""


class LedgerTextsErased(msgspec.Struct, frozen=True):
    """Erase the texts of a closed session's ledger; its decisions stay."""

    session_id: str
