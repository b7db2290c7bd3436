"""What a process that holds a session in memory asks before it takes the next turn: did others add to it?

Rows are numbered within the store, and a session's newer rows have greater numbers. A process keeps the
numbers up to which it has seen a session, compares them with `Store.session_state`, and reads what lies
between. Its own rows come along; to take one in twice changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from crosswind.gateway.trajectory.record import SessionStatus


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session is, as the store has it. A row is the newest one's number, 0 where there is none."""

    turn_row: int
    shown_row: int
    name_row: int
    status: SessionStatus
    noise_stopped: bool
    quarantine: str | None


@dataclass(frozen=True, slots=True)
class TurnHead:
    """Where a turn stands in its session, without its bodies: what the places of later turns depend on."""

    row: int
    index: int
    attempt: int
    parent: int | None
    branch: str
    received: bytes | None
    """The key of the chain of messages that the agent sent, `Chain.key`; None where none is stored."""
    response_id: str | None
    request: bytes | None = None
    """The digest of its body."""
    idempotency: str | None = None
    """The digest of the key under which its client sent it."""
    destroyed: bool = False
    """Noise destroyed its answer."""
    met: int = 0
    """What befell its exchange: noise on the link and of the provider, whether or not it destroyed."""
