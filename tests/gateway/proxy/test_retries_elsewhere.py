"""Retries that another worker gets: attempts at the same turn, with the same noise, counted once."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from crosswind.gateway.trajectory.store import open_store
from crosswind.testing import Answer, Dialogue
from crosswind.testing.replies import plain
from crosswind.trainer.rollouts.groups import last_attempts
from tests.gateway.dialogue import PROFILE, body, history, user
from tests.gateway.engine import engine
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers

COUNTED = {"x-stainless-retry-count": "1"}
KEYED = {"idempotency-key": "one-request"}
CHAT = "/v1/chat/completions"


class Slow:
    """An engine whose first answer comes when it is told to."""

    def __init__(self) -> None:
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()
        self.count = 0

    async def __call__(self, _: Dialogue) -> Answer:
        self.count += 1
        if self.count == 1:
            self.asked.set()
            await self.go_on.wait()
        return engine()


@pytest.mark.parametrize("marks", [COUNTED, KEYED], ids=["counted", "keyed"])
async def test_while_the_first_attempt_is_in_flight(tmp_path: Path, marks: dict[str, str]) -> None:
    slow = Slow()
    async with upstream(slow) as app, workers(tmp_path, app, noise=PROFILE, capture="on") as (first, second):
        opened = (await first.api("POST", "/api/sessions", {"task_id": "t", "group_id": "g"})).json()
        path = f"/s/{opened['id']}{CHAT}"
        asked = body(*history(3))
        async with httpx.AsyncClient(trust_env=False) as leaving:
            given_up = asyncio.create_task(
                leaving.post(first.data + path, json=asked, headers=KEYED if marks is KEYED else {})
            )
            await slow.asked.wait()
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
        again = await second.http.post(second.data + path, json=asked, headers=marks)
        assert again.status_code == 200
        (call,) = first.gateway.data.proxy.shared._calls.values()
        assert call.task is not None
        slow.go_on.set()
        await call.task
        for running in (first, second):
            await running.flush()
        assert app.requests[0].body == app.requests[1].body, "the same noise"
        assert app.requests[0].texts() != [message["content"] for message in history(3)]
        with closing(open_store(f"sqlite:///{tmp_path}/store.db")) as store:
            trajectory = store.trajectory(opened["id"])
    assert trajectory is not None
    assert [(turn.index, turn.attempt, turn.fitness) for turn in trajectory.turns] == [
        (0, 0, "fit"),
        (0, 1, "fit"),
    ]
    assert [turn.attempt for turn in last_attempts(trajectory.turns)] == [1], "training takes one of them"


@pytest.mark.parametrize("marks", [COUNTED, KEYED], ids=["counted", "keyed"])
async def test_a_conversation_that_names_no_session_is_opened_once(
    tmp_path: Path, marks: dict[str, str]
) -> None:
    busy = plain({"error": {"message": "busy"}}, 503)
    async with upstream(busy, engine()) as app, workers(tmp_path, app) as (first, second):
        asked = {"model": "tiny", "messages": [user("Where is order W17?")]}
        headers = KEYED if marks is KEYED else {}
        assert (await first.http.post(first.data + CHAT, json=asked, headers=headers)).status_code == 503
        assert (await second.http.post(second.data + CHAT, json=asked, headers=marks)).status_code == 200
        assert await places(tmp_path, [first, second]) == [[(0, 0), (0, 1)]]
        # Somebody else's conversation begins alike, and is no retry.
        await second.http.post(second.data + CHAT, json=asked)
        assert await places(tmp_path, [first, second]) == [[(0, 0)], [(0, 0), (0, 1)]]


async def places(tmp_path: Path, peers: list[Running]) -> list[list[tuple[int, int]]]:
    """The turns' index and attempt, by session; the shortest session first."""
    for running in peers:
        await running.flush()
    found: dict[str, list[tuple[int, int]]] = {}
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        query = "SELECT session, turn_index, attempt FROM turn ORDER BY 2, 3"
        for session, index, attempt in store.execute(query):
            found.setdefault(session, []).append((index, attempt))
    return sorted(found.values(), key=len)


async def test_another_body_under_a_known_key_is_a_turn_of_its_own(tmp_path: Path) -> None:
    async with upstream(engine()) as app, workers(tmp_path, app) as (first, second):
        for running, turns in ((first, 1), (second, 2)):
            url = f"{running.data}/s/s{CHAT}"
            assert (await running.http.post(url, json=body(*history(turns)), headers=KEYED)).is_success
        assert await places(tmp_path, [first, second]) == [[(0, 0), (1, 0)]]


async def test_alone_a_key_marks_a_retry_too(tmp_path: Path) -> None:
    async with upstream(plain({}, 503), engine()) as app, gateway(tmp_path, app) as running:
        for _ in range(2):
            await running.http.post(f"{running.data}/s/s{CHAT}", json=body(user("hi")), headers=KEYED)
        assert await places(tmp_path, [running]) == [[(0, 0), (0, 1)]]


@pytest.mark.parametrize("marks", [COUNTED, KEYED], ids=["counted", "keyed"])
async def test_after_a_restart_a_retry_is_known_still(tmp_path: Path, marks: dict[str, str]) -> None:
    asked, headers = body(*history(3)), KEYED if marks is KEYED else {}
    async with upstream(engine()) as app:
        async with gateway(tmp_path, app, noise=PROFILE, capture="on") as running:
            assert (
                await running.http.post(f"{running.data}/s/s{CHAT}", json=asked, headers=headers)
            ).is_success
        async with gateway(tmp_path, app, noise=PROFILE, capture="on") as running:
            url = f"{running.data}/s/s{CHAT}"
            assert (await running.http.post(url, json=asked, headers=marks)).is_success
            assert (await running.http.post(url, json=asked)).is_success
            assert await places(tmp_path, [running]) == [[(0, 0), (0, 1), (1, 0)]]
        assert app.requests[0].body == app.requests[1].body, "the same noise"


async def test_after_a_restart_a_keyed_retry_opens_no_further_session(tmp_path: Path) -> None:
    asked = {"model": "tiny", "messages": [user("Where is order W17?")]}
    async with upstream(engine()) as app:
        for _ in range(2):
            async with gateway(tmp_path, app) as running:
                assert (await running.http.post(running.data + CHAT, json=asked, headers=KEYED)).is_success
                assert (await running.http.post(running.data + CHAT, json=asked)).is_success
                found = await places(tmp_path, [running])
        assert found == [[(0, 0)], [(0, 0)], [(0, 0), (0, 1)]]
        with closing(sqlite3.connect(tmp_path / "store.db")) as store:
            assert KEYED["idempotency-key"] not in "\n".join(store.iterdump())
