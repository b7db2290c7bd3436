"""The ledger of what a session was shown, as rows: parts of messages, names, and what was delivered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Shown(msgspec.Struct, frozen=True):
    """A row of the ledger: a message part as the policy was shown it. Clean parts have no decisions."""

    session_id: str
    anchor: str
    site: str
    ordinal: int
    turn_index: int
    clean_hash: str
    decisions: tuple[Mapping[str, Any], ...] = ()
    """Each {operator, rule, slot, severity, draw, logical_call, recovery}, in order of application."""
    text: str | None = None
    """The noisy text; None where the part was shown clean."""
    branch: str = ""


class NameMap(msgspec.Struct, frozen=True):
    """A tool name as the client declared it and as the policy saw it, for one session."""

    session_id: str
    declared: str
    shown: str
    turn_index: int


class DeliveredId(msgspec.Struct, frozen=True):
    """What was delivered in a session, and by which a later turn that names none is known: a call, a text."""

    name: str
    session_id: str


class LedgerTextsErased(msgspec.Struct, frozen=True):
    """The texts of a session's ledger are to go, its decisions stay: no more turns will come."""

    session_id: str
