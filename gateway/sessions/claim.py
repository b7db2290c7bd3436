"""What a request says about its session."""

from __future__ import annotations

import msgspec

from crosswind.gateway.http.auth import Caller


class SessionClaim(msgspec.Struct, frozen=True):
    """What a request says about its session."""

    session_id: str | None
    identity: str
    caller: Caller
    profile: str | None = None
    seed: int | None = None
    task_id: str | None = None
    group_id: str | None = None
