"""Versions of an engine that names none: those that its publisher said served at a turn's two ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.gateway.engine import engine as scripted
from tests.gateway.servers import Running, gateway, upstream
from tests.policies.rollouts import HeldReply, record_turn


async def _ends(running: Running) -> tuple[Any, ...]:
    """A turn of a new rollout: its fitness and the versions at its two ends."""
    turn = await record_turn(running)
    return turn["fitness"], turn["policy_first"], turn["policy_last"]


async def test_turns_of_an_engine_that_names_no_versions_get_those_at_their_two_ends(
    tmp_path: Path,
) -> None:
    """As of vLLM that reloads from disk: a turn across a swap is unfit, since its spans can't be told."""
    held = HeldReply(scripted(choice={"weight_versions": None}))
    held.go_on.set()
    unknown = "version_span_unknown"
    async with upstream(held) as app, gateway(tmp_path, app) as running:

        async def tell(name: str, **said: bool) -> None:
            assert (await running.api("PUT", f"/api/versions/{name}", said)).status_code == 200

        assert await _ends(running) == ("fit", None, None)
        await tell("v1", trusted=True)
        assert await _ends(running) == ("fit", "v1", "v1")
        await tell("v2", swapping=True)
        assert await _ends(running) == (unknown, "v1", None)
        await tell("v2", swapping=False)
        assert await _ends(running) == ("fit", "v1", "v1")

        held.asked.clear()
        held.go_on.clear()
        turn = asyncio.create_task(_ends(running))
        await held.asked.wait()
        for name in ("v2", "v1", "v2"):
            await tell(name, swapping=True)
            await tell(name, trusted=True)
        held.go_on.set()
        assert await turn == (unknown, "v1", "v2")
        assert await _ends(running) == ("fit", "v2", "v2")
        await tell("v2", trusted=True)  # confirmed once more
        assert (await running.api("PUT", "/api/versions/v2", {})).status_code == 400
