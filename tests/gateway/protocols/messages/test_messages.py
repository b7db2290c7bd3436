"""Anthropic's Messages over the wire: noise stays put, nothing else moves, errors have the right shape."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import SSE, Reply, chunks, plain
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.messages import conversation as wire
from tests.gateway.protocols.messages.conversation import (
    MESSAGE,
    STREAM,
    VERSION,
    body,
    event,
    history,
    post,
    text,
    texts,
    user,
)
from tests.gateway.proxy.test_byte_exact import HEADERS, random_body, seen_alike
from tests.gateway.servers import gateway, upstream


async def test_cache_markers_and_blocks_move_no_noise(tmp_path: Path) -> None:
    """As coding agents do: the marker is on the last message, and strings become blocks to bear it."""
    shown = []
    for run in ("plain", "marked"):
        (tmp_path / run).mkdir()
        async with upstream(plain(MESSAGE)) as app, gateway(tmp_path / run, app, noise=PROFILE) as running:
            for turn in range(5):
                messages = history(turn + 1) if run == "plain" else marked(history(turn + 1))
                request = json.dumps(body(*messages), indent=None if run == "plain" else 1).encode()
                assert (await post(running, request, "s")).status_code == 200
            shown.append([texts(seen.json) for seen in app.requests])
    assert shown[0] == shown[1]
    assert app.requests[-1].json["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    *before, last = copy.deepcopy(messages)
    if isinstance(last["content"], str):
        last["content"] = [text(last["content"])]
    for block in last["content"]:
        if isinstance(block.get("content"), str):
            block["content"] = [text(block["content"])]
    last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return [*before, last]


def reminder(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


async def test_reminders_come_and_go_without_moving_any_noise(tmp_path: Path) -> None:
    asked = "Please tell me where order W17 is, it was to come on Monday."
    results = wire.facts("W17")
    versions = [
        [user(asked)],
        [user(text(reminder("It is noon.")), text(asked))],
        [user(text(f"{reminder('It is one.')}\n\n{asked}\n{reminder('Be brief.')}"), text(reminder("!")))],
        [user(asked), wire.policy(wire.call("t", "W17")), user(wire.result("t", results))],
        [
            user(asked),
            wire.policy(wire.call("t", "W17")),
            user(wire.result("t", results), text(reminder("The list is empty."))),
        ],
        [
            user(asked),
            wire.policy(wire.call("t", "W17")),
            user(wire.result("t", [text(results + "\n" + reminder("Mind the file.")), text(reminder("x"))])),
        ],
    ]
    async with upstream(plain(MESSAGE)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for messages in versions:
            assert (await post(running, body(*messages), "s")).status_code == 200
        shown = [texts(seen.json) for seen in app.requests]
        words = shown[0][0]
        assert words != asked
        assert shown[1] == [reminder("It is noon."), words]
        assert shown[2] == [f"{reminder('It is one.')}\n\n{words}\n{reminder('Be brief.')}", reminder("!")]
        fault = shown[3][1]
        assert fault != results and shown[3] == [words, fault]
        assert shown[4] == [words, fault, reminder("The list is empty.")]
        assert shown[5] == [words, f"{fault}\n{reminder('Mind the file.')}", reminder("x")]


async def test_errors_of_tools_are_left_alone(tmp_path: Path) -> None:
    failed = wire.result("t", "no such order: W17", is_error=True)
    messages = [user("Where is order W17?"), wire.policy(wire.call("t", "W17")), user(failed)]
    async with upstream(plain(MESSAGE)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        assert (await post(running, body(*messages), "s")).status_code == 200
        assert app.requests[0].json["messages"][2] == user(failed)
        assert app.requests[0].json["messages"][0] != messages[0]


def gzipped(*parts: bytes) -> Reply:
    async def reply(_: Any) -> Any:
        yield 200, [SSE, (b"content-encoding", b"gzip")]
        squeezed = gzip.compress(b"".join(parts))
        for start in range(0, len(squeezed), 50):
            yield squeezed[start : start + 50]

    return reply


STREAMS = {
    "plain": chunks(*STREAM),
    "crlf": chunks(*(event(one, b"\r\n") for one in wire.EVENTS)),
    "cut anywhere": chunks(*(b"".join(STREAM)[at : at + 7] for at in range(0, sum(map(len, STREAM)), 7))),
    "comments": chunks(b": hello\n\n", *STREAM, b": bye\n\n"),
    "no stop": chunks(*STREAM[:-1]),
    "unheard of": chunks(b"event: new\ndata: [1]\n\n", event({"type": "newer"}), b"data: {\n\n", *STREAM),
    "gzip": gzipped(*STREAM),
}


@pytest.mark.parametrize("stream", STREAMS)
async def test_streams_keep_every_byte(tmp_path: Path, stream: str) -> None:
    async with upstream(STREAMS[stream]) as app, gateway(tmp_path, app) as running:
        request = json.dumps(body(*history(2), stream=True)).encode()
        got = [
            await running.http.post(
                f"{url}/v1/messages?beta=true", content=request, headers=HEADERS | VERSION
            )
            for url in (app.url, running.data)
        ]
        assert got[0].content == got[1].content and got[0].headers == got[1].headers
        seen_alike(app)


async def test_plain_requests_and_answers_keep_every_byte(tmp_path: Path) -> None:
    rng = random.Random(2)
    own = [b"", b"{}", b'{"messages":[{"role":"user","role":"user","content":"a"}]}', b"[]", b"\xff"]
    async with upstream() as app, gateway(tmp_path, app) as running:
        for request in [random_body(rng) for _ in range(15)] + own:
            app.steps[:] = [
                plain(rng.choice([random_body(rng), b"{}", b"\xff"]), rng.choice([200, 400, 529]))
            ]
            got = [
                await running.http.post(f"{url}/v1/messages", content=request, headers=HEADERS | VERSION)
                for url in (app.url, running.data)
            ]
            assert got[0].content == got[1].content and got[0].headers == got[1].headers
            seen_alike(app)


KINDS = {
    "unknown session": (404, "not_found_error"),
    "closed session": (409, "conflict_error"),
    "wrong key": (401, "authentication_error"),
    "profile": (403, "permission_error"),
    "body": (413, "request_too_large"),
    "headers": (431, "invalid_request_error"),
    "no upstream": (502, "api_error"),
}


@pytest.mark.parametrize("case", KINDS)
async def test_our_errors_are_in_anthropics_shape(tmp_path: Path, case: str) -> None:
    """On every route that its clients use; only where a body is read it can be too large."""
    status, kind = KINDS[case]
    given = {"sessions": "strict", "limits": {"body": 200, "header": 2000}, "steering": True}
    async with gateway(tmp_path, "http://127.0.0.1:9", **given) as running:
        session = (await running.api("POST", "/api/sessions", {})).json()["id"]
        if case == "closed session":
            await running.api("POST", f"/api/sessions/{session}/close")
        headers = {
            "wrong key": {"x-api-key": "cw-wrong"},
            "profile": {"x-crosswind-profile": "chaos/flaky-tools"},
            "headers": {"x-large": "x" * 3000},
        }
        request = {"model": "m", "messages": [user("hi" * 200 if case == "body" else "hi")]}
        routes = [("POST", "messages", request)]
        if case != "body":
            routes += [("POST", "messages/count_tokens", request), ("GET", "models", None)]
        for method, path, content in routes:
            url = f"{running.data}/s/{'none' if case == 'unknown session' else session}/v1/{path}"
            named = VERSION | headers.get(case, {})
            answer = await running.http.request(method, url, json=content, headers=named)
            assert answer.status_code == status, answer.text
            error = answer.json()
            assert error.keys() == {"type", "error"} and error["type"] == "error"
            assert error["error"].keys() == {"type", "message"} and error["error"]["type"] == kind


async def test_a_client_of_openais_gets_openais_shape(tmp_path: Path) -> None:
    async with gateway(tmp_path, "http://127.0.0.1:9", sessions="strict") as running:
        answer = await running.http.get(f"{running.data}/s/none/v1/models")
        assert answer.json()["error"]["code"] == "session_not_found"


async def test_counting_tokens_is_about_the_clients_own_history(tmp_path: Path) -> None:
    async with upstream(plain({"input_tokens": 9})) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        request = json.dumps(body(*history(3))).encode()
        url = f"{running.data}/s/s/v1/messages/count_tokens"
        answer = await running.http.post(url, content=request, headers=VERSION)
        assert answer.json() == {"input_tokens": 9} and app.requests[0].body == request
