"""What a request says about its session."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.auth import Caller


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says about its session."""

    session_id: str | None
    identity: str
    caller: Caller
    profile: str | None = None
    seed: int | None = None
    task_id: str | None = None
    group_id: str | None = None
