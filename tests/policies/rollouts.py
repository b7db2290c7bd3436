"""Rollouts of which the gateway records turns, as training reads them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.gateway.servers import Running

BODY = {
    "model": "policy",
    "messages": [{"role": "user", "content": "What of order #W1234?"}],
    "max_tokens": 4,
}


STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


async def open_rollout(running: Running, **more: Any) -> str:
    """A session of a group, which is what training reads."""
    body = {"group_id": "g", "group_size": 2, "rollout_index": 0, **more}
    return str((await running.api("POST", "/api/sessions", body)).json()["id"])


async def record_turn(
    running: Running, body: dict[str, Any] = BODY, session: str | None = None
) -> dict[str, Any]:
    """The record of a new rollout's one turn, or of the first turn of the session."""
    session = session or await open_rollout(running)
    given = await running.chat(body, session)
    assert given.status_code == 200, given.text
    (turn,) = (await running.trajectory(session))["turns"]
    return dict(turn)


async def record_fitness(running: Running, session: str | None = None) -> str:
    """Whether such a turn may train."""
    return str((await record_turn(running, session=session))["fitness"])


@dataclass
class HeldReply:
    """A reply that waits, once it is asked for, until it is let go."""

    reply: Any
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, _: Any) -> Any:
        self.asked.set()
        await self.go_on.wait()
        return self.reply
