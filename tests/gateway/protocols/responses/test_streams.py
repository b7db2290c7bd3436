"""Responses as streams: what is relayed, held back and recorded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import CUT, DONE, chunks
from tests.gateway.protocols.responses.conversation import (
    EVENTS,
    RESPONSE,
    STREAM,
    body,
    event,
    history,
    post,
)
from tests.gateway.protocols.responses.test_responses import words
from tests.gateway.proxy.test_byte_exact import HEADERS, seen_alike
from tests.gateway.servers import gateway, upstream


async def test_of_a_stream_that_was_cut_what_came_is_recorded(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        for length in range(1, len(EVENTS)):
            app.steps[:] = [chunks(*STREAM[:length], CUT)]
            with pytest.raises(httpx.RemoteProtocolError):
                await post(running, body(history(1), stream=True), f"s{length}")
            (turn,) = (await running.trajectory(f"s{length}"))["turns"]
            assert (turn["response_id"], turn["fitness"]) == ("resp_1", "upstream_error")
            assert json.loads(turn["produced"])["id"] == "resp_1"
            assert words(json.loads(turn["produced"])["output"]) == streamed(EVENTS[:length])


def streamed(events: list[dict[str, Any]]) -> list[str]:
    """What a stream said of each item."""
    out: list[str] = []
    for one in events:
        if one["type"] == "response.output_item.added":
            out.append("")
        elif one["type"].endswith(".delta"):
            out[one["output_index"]] += one["delta"]
    return out


@pytest.mark.parametrize(
    ("status", "more", "fitness", "finish"),
    [
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "engine_no_tokens", None),
        ("failed", {"error": {"code": "server_error", "message": "no"}}, "upstream_error", "failed"),
    ],
)
async def test_how_a_stream_ended_is_recorded(
    tmp_path: Path, status: str, more: dict[str, Any], fitness: str, finish: str | None
) -> None:
    ended = RESPONSE | {"status": status} | more
    last = event(EVENTS[-1] | {"type": f"response.{status}", "response": ended})
    async with upstream(chunks(*STREAM[:-1], last)) as app, gateway(tmp_path, app) as running:
        given = await post(running, body(history(1), stream=True), "s")
        assert given.content == b"".join([*STREAM[:-1], last])
        (turn,) = (await running.trajectory("s"))["turns"]
        assert json.loads(turn["produced"]) == ended
        assert (turn["fitness"], turn["finish_reason"]) == (fitness, finish or "max_output_tokens")
        assert (turn["error"] or {}).get("message") == (more.get("error") or {}).get("message")


@pytest.mark.parametrize("durability", ["strict", "strict_tools"])
async def test_what_clients_act_on_waits_for_the_disk(
    tmp_path: Path, durability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `strict` the completing event is held, with `strict_tools` all from the call's item on."""
    asked, recorded = asyncio.Event(), asyncio.Event()
    async with (
        upstream(chunks(*STREAM)) as app,
        gateway(tmp_path, app, durability=durability, durability_wait=30) as running,
    ):
        recorder = running.gateway.recorder
        durable = recorder.wait_durable

        async def waiting(ticket: Any) -> Any:
            asked.set()
            await recorded.wait()
            return await durable(ticket)

        monkeypatch.setattr(recorder, "wait_durable", waiting)
        opening = running.http.build_request(
            "POST", f"{running.data}/s/s/v1/responses", json=body(history(1), stream=True)
        )
        answer = await running.http.send(opening, stream=True)
        calls = [one.get("item", {}).get("type") == "function_call" for one in EVENTS]
        free = b"".join(STREAM[: calls.index(True) if durability == "strict_tools" else -1])
        came, parts = b"", answer.aiter_raw()
        while len(came) < len(free):
            came += await anext(parts)
        await asked.wait()
        assert came == free
        recorded.set()
        came += b"".join([one async for one in parts])
        assert came == b"".join(STREAM)


STREAMS = [
    STREAM,
    [b"".join(STREAM), DONE],
    [one.replace(b"\n", b"\r\n") for one in STREAM],
    [b": keep-alive\n\n", *STREAM[:-1], STREAM[-1][:40], STREAM[-1][40:], DONE],
    [*STREAM[:4], event({"type": "error", "message": "Busy", "sequence_number": 4})],
    [b"data: not json\n\n", b'data: {"type": 7}\n\n', b'data: {"type": "response.unheard_of"}\n\n'],
    [b'data: {"type": "response.completed", "response": 7}\n\n', b"data: unfinished"],
    [b'data: {"type": "response.output_item.done", "output_index": "x", "item": {}}\n\n'],
]


@pytest.mark.parametrize("durability", ["strict", "strict_tools", "relaxed"])
async def test_streams_keep_every_byte(tmp_path: Path, durability: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, durability=durability) as running:
        for parts in STREAMS:
            app.steps[:] = [chunks(*parts)]
            sent = json.dumps(body("hi", stream=True)).encode()
            answers = [
                await running.http.post(f"{url}/v1/responses", content=sent, headers=HEADERS)
                for url in (app.url, running.data)
            ]
            seen_alike(app)
            assert answers[1].content == answers[0].content == b"".join(parts)
            assert answers[1].headers == answers[0].headers
