"""A session is deleted while its turns are under way: nothing of it comes back with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import Part, ReceivedRequest, Reply, plain
from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, answer, gateway, upstream
from tests.gateway.sessions.peers import workers

TURNS = 4


def held(arrived: asyncio.Semaphore, go: asyncio.Semaphore) -> Reply:
    """An answer that waits until it may go."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        arrived.release()
        await go.acquire()
        async for part in plain(answer())(seen):
            yield part

    return reply


async def deleted_in_flight(app: ScriptedProvider, one: Running, other: Running) -> None:
    """Turns of a session are under way at both while the first is told to delete it."""
    arrived, go = asyncio.Semaphore(0), asyncio.Semaphore(0)
    app.steps = [held(arrived, go)]
    session = (await one.api("POST", "/api/sessions", {})).json()["id"]
    asked = [
        asyncio.create_task((one, other)[turn % 2].chat(body(user(f"Where is order {turn}?")), session))
        for turn in range(TURNS)
    ]
    for _ in asked:
        await arrived.acquire()
    assert (await one.api("DELETE", f"/api/sessions/{session}")).is_success
    waiting = set(asked)
    while waiting:  # one after the other: each finds what became of the one before
        go.release()
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert all(ended.result().status_code == 200 for ended in done)
    for running in (one, other):
        await running.flush()
        assert (await running.api("GET", f"/api/sessions/{session}/trajectory")).status_code == 404
    assert not one.gateway.store.sessions()


async def test_turns_under_way_do_not_bring_a_deleted_session_back(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await deleted_in_flight(app, running, running)


async def test_nor_do_turns_of_other_workers(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app) as (one, other):
        await deleted_in_flight(app, one, other)


async def test_a_first_turn_under_way_is_waited_for(tmp_path: Path) -> None:
    arrived, go = asyncio.Semaphore(0), asyncio.Semaphore(0)
    async with upstream(held(arrived, go)) as app, gateway(tmp_path, app) as running:
        asked = asyncio.create_task(running.chat(body(user("Where is it?")), "unseen"))
        await arrived.acquire()
        refused = await running.api("DELETE", "/api/sessions/unseen")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")
        go.release()
        assert (await asked).is_success
        assert (await running.api("DELETE", "/api/sessions/unseen")).is_success
        assert (await running.api("GET", "/api/sessions/unseen")).status_code == 404
