"""Several workers and a profile's file that is edited while they serve."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx

from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import upstream
from tests.loop.children import Children
from tests.loop.test_workers import CLEAN, chat, clients, serve, until, workers


async def test_a_worker_that_is_started_again_has_the_profile_that_the_others_have(
    children: Children, tmp_path: Path
) -> None:
    """Though its file was edited since, and wasn't reloaded; then all have what it says now."""
    file = tmp_path / "flaky.yaml"
    file.write_text(PROFILE)
    async with upstream() as app, clients(17) as (operator, *several):
        gateway = await serve(children, app, tmp_path / "store.db", "--profile", str(file))
        connections = iter(several)

        async def shown(name: str) -> list[bool]:
            """For each connection, two to a worker or so: whether the policy is shown the clean result."""
            for number in range(4):
                await chat(next(connections), gateway, f"{name}-{number}", 2)
            return [seen.texts()[-1] == CLEAN for seen in app.requests[-4:]]

        async def killed() -> None:
            first, *_ = await workers(gateway)
            os.kill(first, signal.SIGKILL)

            def again(given: httpx.Response) -> bool:
                return given.status_code == 200 and given.json()["workers"][0]["pid"] != first

            await until(operator, f"{gateway.control}/readyz", again)

        assert await shown("before") == [False] * 4
        file.write_text("name: flaky\nversion: 2\nrules: []\n")
        await killed()
        assert await shown("killed") == [False] * 4
        reloaded = await operator.post(f"{gateway.control}/api/reload")
        assert reloaded.json() == {"changed": [str(file)]}
        assert await shown("reloaded") == [True] * 4
        file.write_text(PROFILE)
        await killed()
        assert await shown("killed again") == [True] * 4
