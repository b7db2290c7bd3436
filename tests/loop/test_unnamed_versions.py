"""Versions of an engine that names none: those that its publisher said served at a turn's two ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.gateway.engine import engine as scripted
from tests.gateway.servers import Running, gateway, upstream

BODY = {"model": "policy", "messages": [{"role": "user", "content": "What of order #W1234?"}]}


async def _ends(running: Running, name: str) -> tuple[Any, ...]:
    """A turn of a new rollout: its fitness and the versions at its two ends."""
    group = {"group_id": name, "group_size": 2, "rollout_index": 0}
    session = (await running.api("POST", "/api/sessions", group)).json()["id"]
    assert (await running.chat(BODY, session)).status_code == 200
    (turn,) = (await running.trajectory(session))["turns"]
    return turn["fitness"], turn["policy_first"], turn["policy_last"]


async def test_turns_of_an_engine_that_names_no_versions_get_those_at_their_two_ends(
    tmp_path: Path,
) -> None:
    """As of vLLM that reloads from disk: a turn across a swap is unfit, since its spans can't be told."""
    waiting, go_on, hold = asyncio.Event(), asyncio.Event(), False
    reply = scripted(choice={"weight_versions": None})

    async def held(_: Any) -> Any:
        if hold:
            waiting.set()
            await go_on.wait()
        return reply

    unknown = "version_span_unknown"
    async with upstream(held) as app, gateway(tmp_path, app) as running:

        async def tell(name: str, **said: bool) -> None:
            assert (await running.api("PUT", f"/api/versions/{name}", said)).status_code == 200

        assert await _ends(running, "untold") == ("fit", None, None)
        await tell("v1", trusted=True)
        assert await _ends(running, "a") == ("fit", "v1", "v1")
        await tell("v2", swapping=True)
        assert await _ends(running, "b") == (unknown, "v1", None)
        await tell("v2", swapping=False)
        assert await _ends(running, "c") == ("fit", "v1", "v1")

        hold = True
        turn = asyncio.create_task(_ends(running, "across"))
        await waiting.wait()
        for name in ("v2", "v1", "v2"):
            await tell(name, swapping=True)
            await tell(name, trusted=True)
        go_on.set()
        assert await turn == (unknown, "v1", "v2")
        assert await _ends(running, "d") == ("fit", "v2", "v2")
        await tell("v2", trusted=True)  # confirmed once more
        assert (await running.api("PUT", "/api/versions/v2", {})).status_code == 400
