"""While a trainer lags, new sessions that it would train on are told to come later, and nothing else is."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from crosswind.gateway.client import AsyncClient, GatewayError
from crosswind.gateway.trajectory.backlog import Backlog
from crosswind.simulators.environment import load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.groups import GroupPlan, jobs
from crosswind.simulators.episodes.runner import EpisodeRunner
from tests.gateway.servers import Running, gateway, upstream

HELLO = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}]}
LIMITED: dict[str, Any] = {"train": {"lag_limit": 2, "lag_every": 3600, "retry_after": 7}}
"""Tests say themselves when the gateway looks."""


async def tell(running: Running, waiting: int, *, alone: bool = False, at_work: bool = True) -> None:
    """A run with steps of two groups has so many that wait."""
    position = 2**60
    labels = {} if alone else {"purpose": "train"}
    row = Backlog("mine", position, waiting, 2, alone, labels, at_work).to_setting(1)
    await asyncio.to_thread(running.gateway.store.write, [row])
    await running.gateway.trainer_lag.look()


async def open_session(running: Running, **body: Any) -> httpx.Response:
    return await running.api("POST", "/api/sessions", {"labels": {"purpose": "train"}, **body})


async def test_only_new_groups_are_refused_and_the_client_is_told_when_to_come(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, **LIMITED) as running:
        begun = (await open_session(running, group_id="g1", group_size=2)).json()["id"]
        await tell(running, waiting=5)
        refused = await open_session(running, group_id="g2", group_size=2)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
        assert refused.json()["error"]["code"] == "trainer_lags"
        assert "'mine' is 2.5 steps behind, more than train.lag_limit" in refused.json()["error"]["message"]
        async with AsyncClient(running.control) as client:
            with pytest.raises(GatewayError) as raised:
                await client.open_session(group_id="g2", labels={"purpose": "train"})
            assert (raised.value.status, raised.value.retry_after) == (429, 7.0)

        assert (await open_session(running, group_id="g1", group_size=2)).status_code == 201, "it has begun"
        assert (await running.chat(HELLO, begun)).status_code == 200, "it runs"
        assert (await running.chat(HELLO, "visit")).status_code == 200, "no trainer wants it"
        others: tuple[dict[str, Any], ...] = (
            {"group_id": "g3", "labels": {"purpose": "eval"}},
            {"labels": {}},
        )
        assert [(await open_session(running, **one)).status_code for one in others] == [201, 201]
        told = (await running.api("GET", "/metrics")).text
        assert "crosswind_train_lag_steps 2.5" in told
        assert "crosswind_sessions_refused_for_lag_total 2.0" in told

        for waiting, at_work in ((4, True), (99, False)):
            await tell(running, waiting, at_work=at_work)
            assert (await open_session(running, group_id=f"g-{waiting}")).status_code == 201


async def test_a_slow_store_holds_up_the_new_session_and_no_other_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its group has begun stands in the store."""
    async with upstream() as app, gateway(tmp_path, app, steering=True, **LIMITED) as running:
        behind = Backlog("mine", 2**60, 5, 2, False, {}).to_setting(1)
        await asyncio.to_thread(running.gateway.store.write, [behind])
        await running.gateway.trainer_lag.look()
        asked, free = threading.Event(), threading.Event()
        store = running.gateway.store
        read = store.sessions

        def read_slowly(**query: Any) -> Any:
            asked.set()
            assert free.wait(30), "the event loop waited for the store"
            return read(**query)

        monkeypatch.setattr(store, "sessions", read_slowly)
        named = {"x_crosswind_group": "g1"}
        opening = asyncio.create_task(running.chat(HELLO, "slow", **named))
        assert await asyncio.to_thread(asked.wait, 60)
        assert (await running.chat(HELLO, "another")).status_code == 200
        assert not opening.done()
        free.set()
        assert (await opening).status_code == 429


async def test_live_traffic_gets_the_refusal_in_the_form_of_its_protocol(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, **LIMITED) as running:
        assert (await running.chat(HELLO, "old")).status_code == 200
        await tell(running, waiting=5, alone=True)
        url = f"{running.data}/s/new"
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as chat:
            with pytest.raises(openai.RateLimitError) as by_openai:
                await chat.chat.completions.create(**HELLO)  # type: ignore[call-overload]
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as claude:
            with pytest.raises(anthropic.RateLimitError) as by_anthropic:
                await claude.messages.create(max_tokens=9, **HELLO)  # type: ignore[call-overload]
        for raised in (by_openai, by_anthropic):
            assert raised.value.response.headers["retry-after"] == "7"
        assert (await running.chat(HELLO, "old")).status_code == 200
        assert len(app.requests) == 2, "what was refused reached nobody"
        await tell(running, waiting=0, alone=True)
        assert (await running.chat(HELLO, "new")).status_code == 200


async def test_the_refusal_names_the_lag_of_the_run_that_would_train_on_the_session(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, **LIMITED) as running:
        other = Backlog("other", 2**60, 99, 1, False, {"purpose": "pretrain"}).to_setting(1)
        await asyncio.to_thread(running.gateway.store.write, [other])
        await tell(running, waiting=5)
        refused = await open_session(running, group_id="g1", group_size=2)
        assert "'mine' is 2.5 steps behind" in refused.json()["error"]["message"]


async def test_what_completes_after_the_last_look_counts_as_well(tmp_path: Path) -> None:
    """A trainer that is in a long step, or was killed, tells nothing."""
    async with upstream() as app, gateway(tmp_path, app, **LIMITED) as running:
        row = Backlog("mine", 0, 0, 1, True, {}).to_setting(1)
        await asyncio.to_thread(running.gateway.store.write, [row])
        for number in range(3):
            assert (await running.chat(HELLO, f"s{number}")).status_code == 200
            await running.api("POST", f"/api/sessions/s{number}/reward", {"reward": 1.0})
            await running.api("POST", f"/api/sessions/s{number}/close")
        await running.flush()
        await running.gateway.trainer_lag.look()
        assert running.gateway.trainer_lag.steps == 3.0
        assert (await running.chat(HELLO, "s3")).status_code == 429


async def test_rollouts_wait_until_the_trainer_has_caught_up(tmp_path: Path) -> None:
    patient = {"train": {**LIMITED["train"], "retry_after": 1}}
    retail = load("retail")
    async with upstream() as app, gateway(tmp_path, app, **patient) as running:
        await tell(running, waiting=5)
        async with AsyncClient(running.control) as client:
            runner = EpisodeRunner(retail, ToolAgent(retail, AgentSettings(max_turns=1)), client)
            job = next(jobs(retail, GroupPlan("train", "practice", 0, 2, groups=1)))
            playing = asyncio.create_task(runner.run(job))
            while not running.gateway.trainer_lag.refused:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await tell(running, waiting=0)
            record = await playing
            await runner.close()
        assert record.session_id is not None and record.error is None


async def test_a_rollout_is_void_where_the_trainer_lags_for_longer_than_it_waits(
    tmp_path: Path,
) -> None:
    """It doesn't ask before it was told to."""
    retail = load("retail")
    async with upstream() as app, gateway(tmp_path, app, **LIMITED) as running:
        await tell(running, waiting=5)
        async with AsyncClient(running.control) as client:
            agent = ToolAgent(retail, AgentSettings(max_turns=1))
            runner = EpisodeRunner(retail, agent, client, lag_within_s=5.0)
            job = next(jobs(retail, GroupPlan("train", "practice", 0, 2, groups=1)))
            record = await runner.run(job)
            await runner.close()
        assert running.gateway.trainer_lag.refused == 1
        assert await running.sessions() == []
    assert (record.session_id, record.verdict) == (None, None)
    assert record.error == "open session: 429, the trainer lagged for 5 s"
