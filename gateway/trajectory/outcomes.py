"""What reports on success read of a store: a row for each session, and one for each event of noise, without
what was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class SessionOutcome(msgspec.Struct, frozen=True, gc=False):
    """A session without its content."""

    number: int
    """Sessions that were opened later have greater ones."""
    id: str
    arm: str
    task_id: str | None
    rollout_index: int | None
    labels: Mapping[str, Any]
    profile: str | None
    operators: tuple[str, ...]
    """That its plan has a rule for."""
    reward_state: str
    reward: float | None
    components: Mapping[str, Any]
    noise_stopped: bool
    created_us: int
    turns: int = 0
    """Turns, not attempts at them."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ended_us: int | None = None
    """When its last turn was answered."""
    failed: str | None = None
    """ours or upstream: whose failure a turn ended in for good. A request that the upstream refused as wrong
    doesn't count."""


class NoiseEvent(msgspec.Struct, frozen=True, gc=False):
    """Noise that acted."""

    session: int
    """The session's number."""
    operator: str
    tool: str | None
    turn: int
    """-1: on a tool leg."""
    link: str | None
    """The tool leg's link."""
    at_us: int


class Withholding(msgspec.Struct, frozen=True, gc=False):
    """Noise that was drawn in a session and did not act, or why a request had none."""

    session: int
    operator: str
    """Empty: it is said of a request, not of an operator."""
    note: str
    count: int
