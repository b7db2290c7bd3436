"""Several workers, and the file of a profile or of a phrase pack that is edited while they serve."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx

from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import upstream
from tests.loop.children import Children, Gateway
from tests.loop.test_workers import CLEAN, chat, clients, serve, until, workers
from tests.own_packs import WORDS, conversation, write_packs, write_profile

NEW = "A shelf mark may still change during the stocktake."


async def kill_first_worker(operator: httpx.AsyncClient, gateway: Gateway) -> None:
    """Kill a worker, and wait until it is started again."""
    first, *_ = await workers(gateway)
    os.kill(first, signal.SIGKILL)

    def again(given: httpx.Response) -> bool:
        return given.status_code == 200 and given.json()["workers"][0]["pid"] != first

    await until(operator, f"{gateway.control}/readyz", again)


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

        assert await shown("before") == [False] * 4
        file.write_text("name: flaky\nversion: 2\nrules: []\n")
        await kill_first_worker(operator, gateway)
        assert await shown("killed") == [False] * 4
        reloaded = await operator.post(f"{gateway.control}/api/reload")
        assert reloaded.json() == {"changed": [str(file)]}
        assert await shown("reloaded") == [True] * 4
        file.write_text(PROFILE)
        await kill_first_worker(operator, gateway)
        assert await shown("killed again") == [True] * 4


async def test_a_worker_that_is_started_again_has_the_packs_that_the_others_have(
    children: Children, tmp_path: Path
) -> None:
    packs = write_packs(tmp_path)
    given = "--profile", str(write_profile(tmp_path)), "--packs", str(packs)
    async with upstream() as app, clients(9) as (operator, *several):
        gateway = await serve(children, app, tmp_path / "store.db", *given)
        connections = iter(several)

        async def shown(name: str) -> set[str]:
            """What is drawn in two sessions, one in each worker."""
            for number in range(2):
                url = f"{gateway.data}/s/{name}-{number}/v1/chat/completions"
                assert (await next(connections).post(url, json=conversation())).is_success
            said = [seen.texts()[-1] for seen in app.requests[-2:]]
            return {words for one in said for words in (WORDS, NEW) if words in one}

        assert await shown("before") == {WORDS}
        write_packs(tmp_path, version=8, words=NEW)
        await kill_first_worker(operator, gateway)
        assert await shown("killed") == {WORDS}
        reloaded = await operator.post(f"{gateway.control}/api/reload")
        assert reloaded.json() == {"changed": [str(packs)]}
        assert await shown("reloaded") == {NEW}
        (packs / "en" / "general.jsonl").write_text("half a pa")
        await kill_first_worker(operator, gateway)
        assert await shown("killed again") == {NEW}
