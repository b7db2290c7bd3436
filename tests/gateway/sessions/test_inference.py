"""Requests that name no session: told apart by what was delivered, joined or linked where retried."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.gateway.proxy.shared_calls import SharedCall, SharedCalls
from crosswind.testing import Answer, Call, Decide, Dialogue, ResultItem
from crosswind.testing.replies import Part, ReceivedRequest, plain
from tests.gateway.dialogue import PROFILE, TOOLS, result, user
from tests.gateway.servers import Running, answer, gateway, upstream

ASKED = user("Please tell me where order W17 is, it was to come on Monday.")
RETRY = {"x-stainless-retry-count": "1"}


def calling() -> Decide:
    """Calls a tool with an id that no other answer has, then says something."""
    numbers = iter(range(100))

    def policy(dialogue: Dialogue) -> Answer:
        if isinstance(dialogue.items[-1], ResultItem):
            return Answer("It is on its way.")
        return Answer(None, (Call("get_order", {"order_id": "W17"}, f"call_{next(numbers)}"),))

    return policy


async def chat(running: Running, messages: list[dict[str, Any]], **headers: str) -> dict[str, Any]:
    body = {"model": "tiny", "messages": messages, "tools": TOOLS}
    given = await running.http.post(f"{running.data}/v1/chat/completions", json=body, headers=headers)
    assert given.status_code == 200, given.text
    message: dict[str, Any] = given.json()["choices"][0]["message"]
    return message


async def turns_of(running: Running, session: str) -> list[int]:
    return [turn["index"] for turn in (await running.trajectory(session))["turns"]]


async def test_conversations_that_begin_alike_are_told_apart_by_their_calls(tmp_path: Path) -> None:
    async with upstream(calling()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        lines = [[ASKED], [ASKED]]
        for line in lines:
            line.append(await chat(running, line))
        for line in lines:
            line.append(result(line[-1]["tool_calls"][0]["id"], "W17"))
            line.append(await chat(running, line))
        for line in lines:
            line.append(user("And when does it come?"))
            await chat(running, line)
        found = await running.sessions()
        assert len(found) == 2 and all(one["identity"] == "inferred" for one in found)
        assert all(one["quarantine"] is None and 0.5 < one["confidence"] < 1 for one in found)
        for one in found:
            assert await turns_of(running, one["id"]) == [0, 1, 2]
        first = [seen.texts()[0] for seen in app.requests]
        assert len(set(first)) == 1 and first[0] != ASKED["content"], "alike conversations get alike noise"


async def test_a_text_alone_tells_them_apart_too_and_another_process_knows(tmp_path: Path) -> None:
    texts = iter(["One moment.", "Let me look.", "Here.", "There."])
    async with upstream(lambda _: Answer(next(texts))) as app:
        async with gateway(tmp_path, app) as running:
            lines = [[ASKED], [ASKED]]
            for line in lines:
                line.append(await chat(running, line))
            await running.flush()
        async with gateway(tmp_path, app) as running:
            for line in lines:
                line.append(user("And now?"))
                await chat(running, line)
            found = await running.sessions()
            assert len(found) == 2 and all(one["quarantine"] is None for one in found)
            for one in found:
                assert await turns_of(running, one["id"]) == [0, 1]


async def test_what_cannot_be_resolved_is_served_and_quarantined(tmp_path: Path) -> None:
    async with upstream(plain(answer("Same."))) as app, gateway(tmp_path, app) as running:
        await chat(running, [ASKED, {"role": "assistant", "content": "Never said here."}, user("So?")])
        (unknown,) = await running.sessions()
        assert unknown["confidence"] < 0.5 and "not delivered here" in unknown["quarantine"]
        for _ in range(2):
            await chat(running, [user("Hello?")])
        await chat(running, [user("Hello?"), {"role": "assistant", "content": "Same."}, user("So?")])
        doubtful = [one for one in await running.sessions() if "alike" in (one["quarantine"] or "")]
        assert len(doubtful) == 1 and doubtful[0]["confidence"] <= 0.9


async def test_a_marked_retry_of_a_first_turn_opens_no_second_session(tmp_path: Path) -> None:
    busy = plain({"error": {"message": "busy"}}, 503)
    async with upstream(busy, plain(answer())) as app, gateway(tmp_path, app) as running:
        body = {"model": "tiny", "messages": [ASKED]}
        url = f"{running.data}/v1/chat/completions"
        assert (await running.http.post(url, json=body)).status_code == 503
        assert (await running.http.post(url, json=body, headers=RETRY)).status_code == 200
        (one,) = await running.sessions()
        turns = (await running.trajectory(one["id"]))["turns"]
        assert [(turn["index"], turn["attempt"]) for turn in turns] == [(0, 0), (0, 1)]


class Held:
    """An upstream that answers when it is told to."""

    def __init__(self, status: int = 200) -> None:
        self.status, self.count = status, 0
        self.open, self.asked = asyncio.Event(), asyncio.Event()

    async def reply(self, seen: ReceivedRequest) -> AsyncIterator[Part]:
        self.count += 1
        self.asked.set()
        await self.open.wait()
        async for part in plain(answer(f"answer {self.count}"), self.status)(seen):
            yield part


async def training(running: Running, **more: Any) -> str:
    opened = await running.api("POST", "/api/sessions", {"task_id": "t", "group_id": "g", **more})
    return str(opened.json()["base_url"]) + "/chat/completions"


async def given_up(held: Held, url: str, body: dict[str, Any]) -> None:
    """A request whose client goes away while the upstream is at it."""
    async with httpx.AsyncClient(trust_env=False) as leaving:
        request = asyncio.create_task(leaving.post(url, json=body))
        await held.asked.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)


async def finish_call(running: Running, held: Held) -> dict[Any, SharedCall]:
    """Let the one call in flight end; gives the calls that are kept."""
    calls = running.gateway.data.proxy.shared._calls
    (call,) = calls.values()
    held.open.set()
    assert call.task is not None
    await call.task
    return calls


async def test_a_retry_joins_the_call_whose_client_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, joined = Held(), asyncio.Event()
    find = SharedCalls.find

    def noted(calls: SharedCalls, key: Any) -> Any:
        joined.set()
        return find(calls, key)

    monkeypatch.setattr(SharedCalls, "find", noted)
    async with upstream(held.reply) as app, gateway(tmp_path, app) as running:
        url = await training(running)
        body = {"model": "tiny", "messages": [ASKED]}
        await given_up(held, url, body)
        second = asyncio.create_task(running.http.post(url, json=body, headers=RETRY))
        await joined.wait()
        held.open.set()
        assert (await second).json()["choices"][0]["message"]["content"] == "answer 1"
        assert held.count == 1, "one call for both"
        (turn,) = (await running.trajectory(url.split("/")[4]))["turns"]
        assert turn["delivered"] == "yes"


async def test_a_retry_gets_the_answer_that_came_while_nobody_waited(tmp_path: Path) -> None:
    held = Held()
    async with upstream(held.reply) as app, gateway(tmp_path, app) as running:
        url = await training(running)
        body = {"model": "tiny", "messages": [ASKED]}
        await given_up(held, url, body)
        calls = await finish_call(running, held)
        again = await running.http.post(url, json=body, headers=RETRY)
        assert again.json()["choices"][0]["message"]["content"] == "answer 1" and held.count == 1
        (turn,) = (await running.trajectory(url.split("/")[4]))["turns"]
        assert (turn["attempt"], turn["delivered"]) == (0, "yes")
        assert not calls, "it was delivered, so it is not kept"


async def test_a_call_that_failed_while_nobody_waited_is_made_anew(tmp_path: Path) -> None:
    held = Held(503)
    async with upstream(held.reply, plain(answer("anew"))) as app, gateway(tmp_path, app) as running:
        url = await training(running)
        body = {"model": "tiny", "messages": [ASKED]}
        await given_up(held, url, body)
        await finish_call(running, held)
        again = await running.http.post(url, json=body, headers=RETRY)
        assert again.json()["choices"][0]["message"]["content"] == "anew"
        turns = (await running.trajectory(url.split("/")[4]))["turns"]
        assert [(turn["attempt"], turn["upstream_status"]) for turn in turns] == [(0, 503), (1, 200)]


async def test_an_equal_idempotency_key_is_a_retry_and_another_body_is_none(tmp_path: Path) -> None:
    async with upstream(plain(answer())) as app, gateway(tmp_path, app) as running:
        url = f"{running.data}/s/one/v1/chat/completions"
        for text in ("a", "a", "b"):
            body = {"model": "tiny", "messages": [user(text)]}
            await running.http.post(url, json=body, headers={"idempotency-key": "k"})
        turns = (await running.trajectory("one"))["turns"]
        assert [(turn["index"], turn["attempt"]) for turn in turns] == [(0, 0), (0, 1), (1, 0)]


async def test_without_grace_the_upstream_is_left_at_once(tmp_path: Path) -> None:
    held = Held()
    async with upstream(held.reply) as app, gateway(tmp_path, app, retry_grace=0) as running:
        url = await training(running)
        await given_up(held, url, {"model": "tiny", "messages": [ASKED]})
        await asyncio.wait_for(app.client_left.wait(), 60)
