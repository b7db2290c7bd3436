"""Retries of clients that name no session, nor mark retries: they get past faults of their first request."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing import Answer
from tests.gateway.dialogue import TOOLS, user
from tests.gateway.servers import Running, gateway, upstream, wait_until
from tests.gateway.sessions.peers import workers

HOUR_NS = 3600 * 10**9
QUESTION = "Please tell me where order W17 is."


def noise(operator: str = "transport.truncated_body", more: str = "") -> str:
    return f"name: faulty\nrules:\n- {{operator: {operator}, severity: 1.0}}\n{more}"


@asynccontextmanager
async def faulty(tmp: Path, operator: str, more: str = "", **given: Any) -> AsyncIterator[Running]:
    """A gateway whose one rule has this operator."""
    async with (
        upstream(lambda _: SAID) as app,
        gateway(tmp, app, noise=noise(operator, more), **given) as running,
    ):
        yield running


BODIES: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": [user(QUESTION)], "tools": TOOLS},
    "/responses": {"input": QUESTION, "store": False},
    "/messages": {"messages": [user(QUESTION)], "max_tokens": 100},
}
SAID = Answer("I have looked it up for you in our books, and the order has been " * 3 + "Delivered")
ENDS = ("[DONE]", "response.completed", "message_stop")


async def post(running: Running, path: str = "/chat/completions", **more: Any) -> bool:
    """Whether a request is answered."""
    body = json.dumps({"model": "tiny", **BODIES[path], **more})
    head = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    try:
        given = await running.http.post(f"{running.data}/v1{path}", content=body, headers=head)
    except httpx.TransportError:
        return False
    kind = "text/event-stream" if more.get("stream") else "application/json"
    labelled = given.headers["content-type"].startswith(kind)
    whole = not more.get("stream") or any(end in given.text for end in ENDS)
    return given.status_code == 200 and labelled and "Delivered" in given.text and whole


async def count_faults(running: Running, **more: Any) -> int:
    """How many faults a client meets that asks until it is answered."""
    faults = 0
    while not await post(running, **more):
        faults += 1
        assert faults < 50, "never answered"
    return faults


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
async def test_an_equal_first_request_gets_through_after_a_fault(
    tmp_path: Path, path: str, stream: bool
) -> None:
    operators = ["model.empty", "transport.sse_cut" if stream else "transport.truncated_body"]
    if path == "/chat/completions":
        operators += ["transport.reset", "model.overloaded", "transport.wrong_content_type"]
    async with upstream(lambda _: SAID) as app:
        for operator in operators:
            folder = tmp_path / operator
            folder.mkdir()
            async with gateway(folder, app, noise=noise(operator)) as running:
                met = [await post(running, path, stream=stream) for _ in range(4)]
                assert met == [False, True] * 2, f"{operator}: each sample meets one fault"
                found = await running.sessions()
                assert len(found) == 2
                assert all(one["confidence"] == 0.5 and "destroyed" in one["quarantine"] for one in found)
                for one in found:
                    turns = (await running.trajectory(one["id"]))["turns"]
                    assert [(turn["index"], turn["attempt"]) for turn in turns] == [(0, 0), (0, 1)]


async def test_another_worker_knows_what_was_destroyed(tmp_path: Path) -> None:
    async with (
        upstream(lambda _: SAID) as app,
        workers(tmp_path, app, noise=noise("transport.sse_cut")) as (first, second),
    ):
        assert not await post(first, stream=True)
        assert await post(second, stream=True), "its retry, before its stream is on record, too"
        assert not await post(second, stream=True)
        assert await post(first, stream=True)


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_clock_that_is_set_neither_keeps_nor_loses_what_was_destroyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """In one run, and where the gateway starts again afterwards."""
    told, passed = time.time_ns, time.monotonic_ns
    async with faulty(tmp_path, "transport.truncated_body") as running:
        assert not await post(running)
        monkeypatch.setattr(time, "time_ns", lambda: told() + hours * HOUR_NS)
        assert await post(running), "it is the retry"
        assert not await post(running)
        monkeypatch.setattr(time, "monotonic_ns", lambda: passed() + HOUR_NS)
        assert not await post(running), "an hour later it is a sample"
        await running.flush()
    monkeypatch.setattr(time, "time_ns", told)
    async with faulty(tmp_path, "transport.truncated_body") as running:
        assert await post(running), "the retry of the last sample"


async def test_the_next_run_knows_what_was_destroyed(tmp_path: Path) -> None:
    async with faulty(tmp_path, "transport.truncated_body") as running:
        assert not await post(running)
        await running.flush()
    for _ in range(2):
        async with faulty(tmp_path, "transport.truncated_body") as running:
            assert await post(running), "the count of the run before"
            assert not await post(running), "each count is taken once"
            await running.flush()


async def test_samples_that_begin_together_stay_samples(tmp_path: Path) -> None:
    together = asyncio.Barrier(6)

    async def sample(running: Running) -> list[bool]:
        await together.wait()
        return [await post(running), await post(running)]

    async with faulty(tmp_path, "model.overloaded") as running:
        met = await asyncio.gather(*(sample(running) for _ in range(6)))
        assert sum(one.count(False) for one in met) >= 6, "each meets its fault"
        assert len(await running.sessions()) == 6


@pytest.mark.parametrize("seed", range(4))
async def test_every_client_is_answered_within_the_bound_on_faults(tmp_path: Path, seed: int) -> None:
    """Samples of one task that begin and ask again whenever they happen to, some through another worker."""
    dice = random.Random(seed)
    bound = dice.choice((1, 2, 3))
    bounds = f"bounds: {{faults_per_call: {dice.choice((1, 2))}, faults_per_session: {bound}}}\n"
    operator = dice.choice(("transport.reset", "model.empty", "transport.status"))

    async def client(peers: list[Running], turns: asyncio.Semaphore) -> int:
        for faults in range(20):
            for _ in range(dice.randrange(12)):
                await asyncio.sleep(0)
            async with turns:
                if await post(dice.choice(peers)):
                    return faults
        raise AssertionError("never answered")

    async with (
        upstream(lambda _: SAID) as app,
        workers(tmp_path, app, noise=noise(operator, bounds)) as peers,
    ):
        turns = asyncio.Semaphore(3)
        faults = await asyncio.gather(*(client(peers, turns) for _ in range(12)))
        assert 1 <= max(faults) <= bound


async def test_a_client_whose_prompt_tells_the_time_gets_through_at_the_bound(tmp_path: Path) -> None:
    bounds = "bounds: {faults_per_session: 2}\n"
    async with faulty(tmp_path, "transport.truncated_body", bounds) as running:
        met = []
        for second in range(4):
            told = {"role": "system", "content": f"It is 12:00:{second:02}."}
            met.append(await post(running, messages=[told, user(QUESTION)]))
        assert met == [False, False, True, True]
        assert await count_faults(running, model="another") == 1, "another model's samples are others"
        notes = [
            event["note"]
            for one in await running.sessions()
            if "may be the retry" in (one["quarantine"] or "")
            for event in (await running.trajectory(one["id"]))["events"]
        ]
        assert len(notes) == 2 and all("Withheld: the answers to equal" in note for note in notes)


async def test_other_conversations_with_the_same_question_spare_no_fault(tmp_path: Path) -> None:
    """Their system prompts differ in words. Each one's retry gets through, also beside the others."""
    roles = ["a clerk", "a nurse", "a pilot", "a baker", "a judge", "a smith"]
    bounds = "bounds: {faults_per_session: 2}\n"
    async with faulty(tmp_path, "transport.truncated_body", bounds) as running:

        async def ask(role: str) -> bool:
            prompt = {"role": "system", "content": f"You are {role}. It is {next(seconds)}."}
            return await post(running, messages=[prompt, user(QUESTION)])

        seconds = itertools.repeat("noon")
        assert [await ask(role) for role in roles] == [False] * 6
        assert [await ask(role) for role in roles] == [True] * 6
        seconds = (f"Monday, {hour}:00 PM, id {uuid.UUID(int=hour << 96)}" for hour in itertools.count())
        met = [[await ask(role) for role in roles] for _ in range(3)]
        assert met == [[False] * 6, [False] * 6, [True] * 6], "each role is spared at its own bound"


async def test_a_marked_retry_leaves_no_count_and_who_goes_on_neither(tmp_path: Path) -> None:
    async with faulty(tmp_path, "model.length_cut") as running:
        body = {"model": "tiny", **BODIES["/chat/completions"]}
        cut = (await running.chat(body)).json()["choices"][0]["message"]
        assert not cut["content"].endswith("Delivered")
        retried = await running.chat(body, x_stainless_retry_count="1")
        assert retried.json()["choices"][0]["message"]["content"].endswith("Delivered")
        assert not await post(running), "a sample of its own"
        assert await post(running)
        cut = (await running.chat(body)).json()["choices"][0]["message"]
        await running.chat({**body, "messages": [*body["messages"], cut, user("Go on.")]})
        assert not await post(running), "the client before went on from what it got"
        assert {one["quarantine"] is None for one in await running.sessions()} == {True, False}


async def test_a_client_that_gives_up_on_a_hanging_answer_gets_its_next_one(tmp_path: Path) -> None:
    async with faulty(tmp_path, "transport.hang") as running:
        body = {"model": "tiny", **BODIES["/chat/completions"]}
        async with httpx.AsyncClient(trust_env=False, timeout=0.3) as hasty:
            with pytest.raises(httpx.TransportError):
                await hasty.post(f"{running.data}/v1/chat/completions", json=body)
        await wait_until(running.gateway.data.proxy.recording.inference.destroyed.count)
        assert await post(running)


async def test_a_closed_or_deleted_session_is_not_gone_on_with(tmp_path: Path) -> None:
    async with faulty(tmp_path, "transport.truncated_body") as running:
        for call in (("POST", "/close"), ("DELETE", "")):
            known = {one["id"] for one in await running.sessions()}
            assert not await post(running)
            (lost,) = {one["id"] for one in await running.sessions()} - known
            await running.api(call[0], f"/api/sessions/{lost}{call[1]}")
            assert await post(running)
        found = await running.sessions()
        assert len(found) == 3 and sum(one["status"] == "closed" for one in found) == 1


async def test_counts_are_bounded_in_time_and_number(tmp_path: Path) -> None:
    few: dict[str, Any] = {"limits": {"destroyed_answers": 1}, "record": "none"}
    async with faulty(tmp_path, "transport.reset", **few) as running:
        assert not await post(running)
        assert not await post(running, model="another"), "from now on this is the one count that is left"
        assert not await post(running)
    soon: dict[str, Any] = {"timeouts": {"unnamed_retry": 0.000001}}
    async with faulty(tmp_path, "transport.reset", **soon) as running:
        assert not any([await post(running) for _ in range(3)])
