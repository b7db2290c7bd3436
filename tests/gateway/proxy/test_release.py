"""When an answer is released: once its turn is on disk, or was waited for long enough."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import DONE, Reply, chunks
from tests.gateway.proxy.test_streams import BODY, CALL, WAIT_S, Gate, streaming
from tests.gateway.servers import delta, event, gateway, upstream


@pytest.mark.parametrize("durability", ["strict", "strict_tools"])
async def test_the_completing_event_comes_after_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    reply = chunks(
        event([delta("a")]),
        event([{"index": 0, "delta": {"tool_calls": CALL}, "finish_reason": None}]),
        event([delta(finish="tool_calls")]),
        DONE,
    )
    async with (
        upstream(reply) as app,
        gateway(tmp_path, app, durability_wait=WAIT_S, durability=durability) as running,
    ):
        gate = Gate(running, monkeypatch)
        async with streaming(running) as answer:
            got = b""
            async for chunk in answer.aiter_raw():
                got += chunk
                if b"finish_reason" not in got.replace(b'"finish_reason": null', b""):
                    assert (b"tool_calls" in got) <= (durability == "strict")
                    await gate.reached()
                    gate.open.set()
                else:
                    gate.order.append("completing")
        gate.committed_before("completing")
        (turn,) = (await running.trajectory("s"))["turns"]
        assert (turn["durable"], turn["delivered"], turn["finish_reason"]) == ("yes", "yes", "tool_calls")


async def test_a_plain_body_comes_after_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with upstream() as app, gateway(tmp_path, app, durability_wait=WAIT_S) as running:
        gate = Gate(running, monkeypatch)

        async def ask() -> None:
            await running.chat(BODY | {"stream": False}, "s")
            gate.order.append("answer")

        asking = asyncio.create_task(ask())
        await gate.reached()
        assert not asking.done()
        gate.open.set()
        await asking
        gate.committed_before("answer")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_slow_disk_delays_an_answer_only_so_long_and_the_turn_says_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    replies: list[Reply] = (
        [chunks(event([delta("a")]), event([delta(finish="stop")]), DONE)] if stream else []
    )
    async with upstream(*replies) as app, gateway(tmp_path, app, durability_wait=0.01) as running:
        gate = Gate(running, monkeypatch)
        answer = await running.chat(BODY | {"stream": stream}, "s")
        assert answer.status_code == 200
        assert gate.order == [], "released although nothing is on disk"
        gate.open.set()
        (turn,) = (await running.trajectory("s"))["turns"]
        assert (turn["durable"], turn["delivered"]) == ("late", "yes")


async def test_relaxed_waits_for_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        upstream() as app,
        gateway(tmp_path, app, durability="relaxed", durability_wait=WAIT_S) as running,
    ):
        gate = Gate(running, monkeypatch)
        await running.chat(BODY | {"stream": False}, "s")
        assert gate.order == []
        gate.open.set()
        assert (await running.trajectory("s"))["turns"][0]["durable"] == "late"


async def test_a_full_disk_stops_no_traffic_and_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crosswind.gateway.trajectory.store import StoreUnavailable

    async with upstream() as app, gateway(tmp_path, app) as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()
        write, full = running.gateway.store.write, True

        def writing(rows: Sequence[Any]) -> None:
            if full:
                raise StoreUnavailable("database or disk is full; free space")
            write(rows)

        monkeypatch.setattr(running.gateway.store, "write", writing)
        assert (await running.chat(BODY | {"stream": False}, opened["id"])).status_code == 200
        for path, posted in (
            ("", {}),
            (f"/{opened['id']}/reward", {"reward": 1.0}),
            (f"/{opened['id']}/close", None),
        ):
            refused = await running.api("POST", f"/api/sessions{path}", posted)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_durable")
            assert "free space" in refused.json()["error"]["message"]
        assert (await running.api("GET", "/readyz")).status_code == 503
        full = False
        stored = await running.trajectory(opened["id"])
        assert [turn["durable"] for turn in stored["turns"]] == ["late"]
        assert (stored["session"]["status"], stored["session"]["reward_state"]) == ("open", "pending")
        assert (await running.api("GET", "/readyz")).status_code == 200
