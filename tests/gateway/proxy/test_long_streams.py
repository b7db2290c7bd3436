"""Streams without an end: relayed in bounded memory, labelled, and released once they are complete."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import DONE, SSE, Part, ReceivedRequest, chunks
from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.dialogue import body, user
from tests.gateway.engine import engine
from tests.gateway.servers import Running, delta, event, gateway, peak_memory, read_stream, upstream

LIMIT = 64 << 10
SMALL: dict[str, Any] = {"limits": {"stream": LIMIT, "event": 8 << 10}}
ASKED = {**body(user("hello")), "stream": True}
PIECE = event([delta("x" * 1000)])
START = event([{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": None}])
END = event([delta(finish="stop")]) + event([], usage={"completion_tokens": 9}) + DONE
MESSAGE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "t", "usage": {}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *[{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "y" * 900}}] * 100,
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]
MESSAGES = [
    b"event: %b\ndata: %b\n\n" % (str(one["type"]).encode(), json.dumps(one).encode()) for one in MESSAGE
]
BODIES = {
    "/v1/chat/completions": [START, *[PIECE] * 100, END],
    "/v1/messages": MESSAGES,
}


async def turn_of(running: Running) -> dict[str, Any]:
    (turn,) = (await running.trajectory("s"))["turns"]
    return dict(turn)


@pytest.mark.parametrize("path", BODIES)
async def test_it_is_relayed_whole_and_its_turn_says_why_it_is_not_recorded(
    tmp_path: Path, path: str
) -> None:
    parts = BODIES[path]
    async with upstream(chunks(*parts)) as app, gateway(tmp_path, app, **SMALL) as running:
        came = await running.http.post(f"{running.data}/s/s{path}", json={**ASKED, "max_tokens": 9})
        assert came.content == b"".join(parts)
        turn = await turn_of(running)
        assert (turn["fitness"], turn["produced"], turn["error"]) == ("answer_too_large", None, None)
        assert (turn["upstream_status"], turn["delivered"]) == (200, "yes")


async def test_a_shorter_one_is_recorded(tmp_path: Path) -> None:
    parts = [START, *[PIECE] * 20, END]
    async with upstream(chunks(*parts)) as app, gateway(tmp_path, app, **SMALL) as running:
        assert (await running.chat(ASKED, "s")).content == b"".join(parts)
        turn = await turn_of(running)
        assert turn["fitness"] == "no_token_ids" and "x" * 20_000 in turn["produced"]


async def test_memory_is_bounded(tmp_path: Path) -> None:
    async def long(seen: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [SSE]
        for _ in range(300):
            yield PIECE * 100
        yield END

    async with upstream(long) as app, gateway(tmp_path, app, **SMALL) as running:
        url = f"{running.data}/s/s/v1/chat/completions"
        size = 0
        with peak_memory() as measure:
            async with running.http.stream("POST", url, json=ASKED) as came:
                async for piece in came.aiter_raw():
                    size += len(piece)
            peak = measure()
        assert size == 30_000 * len(PIECE) + len(END)
        assert peak < size // 4, "all sides together: the upstream's, the gateway's, the client's"


async def test_what_capture_added_is_taken_out_to_the_end_and_no_tokens_are_kept(tmp_path: Path) -> None:
    came, found = [], []
    for limit in (1 << 20, 300):
        given: dict[str, Any] = {"limits": {"stream": limit}, "store": f"sqlite:///{tmp_path}/{limit}.db"}
        async with upstream(engine()) as app, gateway(tmp_path, app, capture="on", **given) as running:
            came.append((await running.chat(ASKED, "s")).content)
            found.append(await turn_of(running))
    assert came[1] == came[0] and b"token_ids" not in came[0] and came[0].endswith(DONE)
    assert [turn["fitness"] for turn in found] == ["fit", "answer_too_large"]
    assert found[0]["completions"] and found[0]["prompt_ids"]
    assert (found[1]["completions"], found[1]["prompt_ids"]) == ([], None)


async def test_what_must_be_mapped_back_ends_with_an_error(tmp_path: Path) -> None:
    parts = [START, *[PIECE] * 100, END]
    async with (
        upstream(chunks(*parts)) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED), **SMALL) as running,
    ):
        url = f"{running.data}/s/s/v1/chat/completions"
        got = b""
        with pytest.raises(httpx.RemoteProtocolError):
            async with running.http.stream("POST", url, json={**ASKED, "tools": [tool()]}) as came:
                async for piece in came.aiter_raw():
                    got += piece
        assert b"upstream_too_large" in got.rsplit(b"data: ", 1)[-1]
        turn = await turn_of(running)
        assert (turn["fitness"], turn["produced"]) == ("upstream_error", None)


async def test_an_answer_that_noise_would_have_changed_goes_on_unchanged(tmp_path: Path) -> None:
    parts = [START, *[PIECE] * 100, END]
    async with (
        upstream(chunks(*parts)) as app,
        gateway(tmp_path, app, noise=profile("model.length_cut"), **SMALL) as running,
    ):
        assert (await running.chat(ASKED, "s")).content == b"".join(parts)
        stored = await running.trajectory("s")
        (said,) = [one for one in stored["events"] if one["operator"] == "model.length_cut"]
        assert said["after"] is None and "larger than `limits.stream`" in said["note"]
        assert stored["turns"][0]["fitness"] == "answer_too_large"


@pytest.mark.parametrize("slowly", [True, False], ids=["a trickle", "a flood"])
async def test_what_follows_the_completion_for_ever_does_not_keep_it(tmp_path: Path, slowly: bool) -> None:
    """The upstream goes on until the client has what completes the answer."""
    seen = asyncio.Event()
    patience = {"after_completion": 0.05 if slowly else 3600.0}

    async def keeping_alive(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [SSE]
        yield START + event([delta(finish="stop")])
        while not seen.is_set():
            await asyncio.sleep(0.01 if slowly else 0)
            yield b": still here\n\n"
        yield DONE

    async with (
        upstream(keeping_alive) as app,
        gateway(tmp_path, app, timeouts=patience, **SMALL) as running,
    ):
        url = f"{running.data}/s/s/v1/chat/completions"
        async with asyncio.timeout(60), running.http.stream("POST", url, json=ASKED) as came:
            got = await read_stream(came, lambda got: b'"stop"' in got and seen.set())
        assert got.endswith(DONE)
        assert (await turn_of(running))["fitness"] == "no_token_ids"
