"""Streams and durability: relayed chunk by chunk, and completed only once the turn is on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import CUT, DONE, JSON, Part, ReceivedRequest, Reply, chunks
from tests.gateway.servers import Running, delta, event, gateway, read_stream, upstream

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "stream": True}
CALL = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}]
WAIT_S = 60.0


class Gate:
    """A store whose writes wait until the gate is open; what happens is noted in order."""

    def __init__(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.order: list[str] = []
        write = running.gateway.store.write

        def gated(rows: Sequence[Any]) -> None:
            self.entered.set()
            assert self.open.wait(WAIT_S)
            write(rows)
            self.order.append("commit")

        monkeypatch.setattr(running.gateway.store, "write", gated)

    def committed_before(self, event: str) -> None:
        """The turn was on disk first. The row that says that it was delivered may be there too by then."""
        assert "commit" in self.order[: self.order.index(event)]

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.entered.wait, WAIT_S)


def streaming(running: Running, session: str = "s", **more: Any) -> Any:
    return running.http.stream("POST", f"{running.data}/s/{session}/v1/chat/completions", json=BODY | more)


async def test_the_first_byte_is_relayed_before_the_second_chunk_exists(tmp_path: Path) -> None:
    seen = [asyncio.Event() for _ in range(3)]

    async def before(number: int) -> None:
        if 0 < number <= 3:
            await asyncio.wait_for(seen[number - 1].wait(), WAIT_S)

    parts = [event([delta(text)]) for text in "abc"]
    reply = chunks(*parts, event([delta(finish="stop")]), DONE, before=before)

    def note(got: bytes) -> None:
        for number, text in enumerate("abc"):
            if f'"content": "{text}"'.encode() in got:
                seen[number].set()

    async with upstream(reply) as app, gateway(tmp_path, app) as running, streaming(running) as answer:
        assert (await read_stream(answer, note)).endswith(DONE)


async def test_a_client_that_goes_away_cancels_the_upstream(tmp_path: Path) -> None:
    async def forever(number: int) -> None:
        if number == 1:
            await asyncio.Event().wait()

    async with (
        upstream(chunks(event([delta("a")]), b"", before=forever)) as app,
        gateway(tmp_path, app) as running,
    ):
        async with streaming(running) as answer:
            assert b'"a"' in await anext(answer.aiter_raw())
        await asyncio.wait_for(app.client_left.wait(), WAIT_S)
        turns = await eventually(running, 1)
        assert (turns[0]["delivered"], turns[0]["fitness"]) == ("no", "client_error")
        assert turns[0]["error"]["source"] == "client"
        assert '"a"' in turns[0]["produced"]


async def eventually(running: Running, count: int, session: str = "s") -> list[dict[str, Any]]:
    """The session's turns, once there are so many."""
    async with asyncio.timeout(WAIT_S):
        while True:
            turns: list[dict[str, Any]] = (await running.trajectory(session)).get("turns", [])
            if len(turns) >= count:
                return turns


async def test_a_stream_that_the_upstream_cuts_is_cut_for_the_client_and_attributed(tmp_path: Path) -> None:
    async with upstream(chunks(event([delta("a")]), CUT)) as app, gateway(tmp_path, app) as running:
        with pytest.raises(httpx.RemoteProtocolError):
            async with streaming(running) as answer:
                await read_stream(answer)
        (turn,) = await eventually(running, 1)
        assert (turn["error"]["source"], turn["fitness"], turn["delivered"]) == (
            "upstream",
            "upstream_error",
            "no",
        )


async def test_a_plain_answer_that_the_upstream_cuts_is_a_502(tmp_path: Path) -> None:
    async def half(_: ReceivedRequest) -> Any:
        head: Part = (200, [JSON, (b"content-length", b"1000")])
        yield head
        yield b'{"id": '
        yield CUT

    async with upstream(half) as app, gateway(tmp_path, app) as running:
        answer = await running.chat(BODY | {"stream": False}, "s")
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_cut")
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["error"]["source"] == "upstream"


async def test_an_error_inside_a_stream_is_the_upstreams(tmp_path: Path) -> None:
    reply = chunks(b'data: {"error": {"message": "overloaded", "code": 529}}\n\n', DONE)
    async with upstream(reply) as app, gateway(tmp_path, app) as running:
        await running.chat(BODY, "s")
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["error"] == {"source": "upstream", "type": "error_in_stream", "message": "overloaded"}


async def test_a_completed_stream_is_released_though_the_upstream_does_not_end_it(tmp_path: Path) -> None:
    finished = asyncio.Event()

    async def before(number: int) -> None:
        if number == 2:
            await asyncio.wait_for(finished.wait(), WAIT_S)

    reply = chunks(event([delta("a")]), event([delta(finish="stop")]), b": bye\n\n", before=before)
    async with upstream(reply) as app, gateway(tmp_path, app, timeouts={"after_completion": 0.01}) as running:
        async with streaming(running) as answer:
            got = await read_stream(answer, lambda got: b'"stop"' in got and finished.set())
        assert got.endswith(b": bye\n\n")


async def test_a_streamed_answer_is_recorded_as_the_plain_one_that_it_amounts_to(tmp_path: Path) -> None:
    import json

    parts = [
        event([{"index": 0, "delta": {"role": "assistant", "content": "he"}, "finish_reason": None}]),
        event([delta("llo")]),
        event(
            [
                {
                    "index": 0,
                    "delta": {"tool_calls": [CALL[0] | {"function": {"name": "f", "arguments": '{"a"'}}]},
                }
            ]
        ),
        event([{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}}]),
        event([delta(finish="tool_calls")]),
        event([], usage={"completion_tokens": 4}),
        DONE,
    ]
    async with upstream(chunks(*parts)) as app, gateway(tmp_path, app) as running:
        await running.chat(BODY, "s")
        (turn,) = (await running.trajectory("s"))["turns"]
        produced = json.loads(turn["produced"])
        assert produced["choices"] == [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "hello",
                    "tool_calls": [
                        {"function": {"name": "f", "arguments": '{"a": 1}'}, "id": "c1", "type": "function"}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ]
        assert (produced["object"], produced["usage"]) == ("chat.completion", {"completion_tokens": 4})
        assert (turn["stream"], turn["response_id"], turn["model"]) == (True, "chatcmpl-1", "tiny")
        assert turn["first_token_us"] <= turn["total_us"]


@pytest.mark.parametrize(
    ("timeouts", "code"),
    [({"first_byte": 0.05}, "upstream_timeout"), ({"between_chunks": 0.05}, "upstream_stalled")],
)
async def test_a_slow_upstream_is_a_504(tmp_path: Path, timeouts: dict[str, float], code: str) -> None:
    async def stuck(_: ReceivedRequest) -> Any:
        if code == "upstream_timeout":
            await asyncio.Event().wait()
        head: Part = (200, [JSON])
        yield head
        yield b"{"
        await asyncio.Event().wait()

    async with upstream(stuck) as app, gateway(tmp_path, app, timeouts=timeouts) as running:
        answer = await running.chat(BODY | {"stream": False}, "s")
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, code)
        assert answer.json()["error"]["type"] == "upstream_error"


async def test_an_unreachable_upstream_is_a_502_in_shape(tmp_path: Path) -> None:
    async with gateway(tmp_path, "http://127.0.0.1:1") as running:
        for answer in (await running.chat(BODY, "s"), await running.http.get(f"{running.data}/v1/models")):
            error = answer.json()["error"]
            assert (answer.status_code, error["type"], error["code"]) == (
                502,
                "upstream_error",
                "upstream_unreachable",
            )
            assert "start it, or correct its address" in error["message"]
        (turn,) = (await running.trajectory("s"))["turns"]
        assert (turn["error"]["source"], turn["upstream_status"], turn["produced"]) == (
            "upstream",
            None,
            None,
        )


async def test_every_choice_must_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [delta("a"), {"index": 1, "delta": {"content": "b"}, "finish_reason": None}]
    first, second = [delta(finish="stop")], [{"index": 1, "delta": {}, "finish_reason": "stop"}]
    async with (
        upstream(chunks(event(two), event(first), event(second), DONE)) as app,
        gateway(tmp_path, app, durability_wait=WAIT_S) as running,
    ):
        gate = Gate(running, monkeypatch)
        async with streaming(running, n=2) as answer:
            got = b""
            async for chunk in answer.aiter_raw():
                got += chunk
                if got.count(b'"stop"') == 1:
                    await gate.reached()
                    gate.open.set()
                elif got.count(b'"stop"') == 2:
                    gate.order.append("completing")
        gate.committed_before("completing")


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
