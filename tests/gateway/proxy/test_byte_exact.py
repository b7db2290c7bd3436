"""Noise off is invisible: what the upstream gets and what the client gets is what they would have had without
us.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import DONE, chunks, plain
from tests.gateway.servers import delta, event, gateway, upstream

TEXTS = [
    "hi",
    "",
    "línea\u2028é",
    '\\ " / \b\f\n\r\t',
    "\ud83d",
    "😀",
    " [DONE] ",
    '{"role": "user"}',
    "a" * 3000,
]


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kinds = [
        lambda: rng.choice(TEXTS),
        lambda: rng.randint(-(10**20), 10**20),
        lambda: rng.random() * 1e-7,
        lambda: None,
    ]
    if depth < 3:
        kinds.append(lambda: [random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))])
        kinds.append(
            lambda: {rng.choice(TEXTS): random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}
        )
    return rng.choice(kinds)()


def random_message(rng: random.Random) -> dict[str, Any]:
    parts = [{"type": "text", "text": rng.choice(TEXTS), "cache_control": {"type": "ephemeral"}}]
    content = rng.choice([rng.choice(TEXTS), None, parts, random_value(rng)])
    return {
        "role": rng.choice(["system", "user", "assistant", "tool", "odd"]),
        "content": content,
        "x": random_value(rng),
    }


def random_body(rng: random.Random) -> bytes:
    """A chat body as clients of all kinds may write it."""
    body = {
        "model": "tiny",
        "messages": [random_message(rng) for _ in range(rng.randint(0, 6))],
        "stream": False,
    }
    body.update(
        {
            rng.choice(["tools", "n", "metadata", "extra_body", "temperature"]): random_value(rng)
            for _ in range(3)
        }
    )
    items = list(body.items())
    rng.shuffle(items)
    text = json.dumps(
        dict(items), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]), separators=None
    )
    return (
        rng.choice([b"", b" ", b"\r\n"]) + text.encode("utf-8", "surrogatepass") + rng.choice([b"", b"\n\t"])
    )


ODD_BODIES = [
    b"",
    b"not json",
    b"[]",
    b'{"messages":[1]}',
    b'{"messages":[],"messages":[{}]}',
    b'{"messages":{}}',
    b"\xff\xfe",
]
HEADERS = {
    "x-custom": "kept",
    "authorization": "Bearer sk-client",
    "content-type": "application/json; charset=utf-8",
}


def seen_alike(app: ScriptedProvider) -> None:
    """The last two requests were the same, but for the connection's own headers."""
    direct, through = app.requests[-2:]
    own = ("host", "connection", "x-crosswind-via")
    assert through.body == direct.body
    assert (through.method, through.path) == (direct.method, direct.path)
    alike = [
        {name: value for name, value in one.headers.items() if name not in own} for one in (direct, through)
    ]
    assert alike[0] == alike[1]


@pytest.mark.parametrize("record", ["full", "none"])
async def test_plain_requests_and_answers_keep_every_byte(tmp_path: Path, record: str) -> None:
    rng = random.Random(1)
    async with upstream() as app, gateway(tmp_path, app, record=record) as running:
        for body in [random_body(rng) for _ in range(40)] + ODD_BODIES:
            raw = rng.choice(
                [random_body(rng), b"", b"{ }", json.dumps(random_value(rng)).encode(), b"\x00\xff"]
            )
            app.steps[:] = [plain(raw, rng.choice([200, 200, 201, 400, 429, 500]), (b"x-request-id", b"r-1"))]
            headers = HEADERS | {"accept-encoding": "gzip, deflate"}
            answers = [
                await running.http.post(f"{url}/v1/chat/completions?a=%2F&b", content=body, headers=headers)
                for url in (app.url, running.data)
            ]
            seen_alike(app)
            assert answers[1].status_code == answers[0].status_code
            assert answers[1].content == answers[0].content == raw
            assert answers[1].headers == answers[0].headers


STREAMS = [
    [event([delta("a")]), event([delta("b")]), event([delta(finish="stop")]), DONE],
    [event([delta("a")]) + event([delta(finish="stop")]) + event([], usage={"completion_tokens": 1}) + DONE],
    [b": keep-alive\n\n", event([delta("a")]).replace(b"\n\n", b"\r\n\r\n"), event([delta(finish="length")])],
    [
        event([delta("é😀")])[:30],
        event([delta("é😀")])[30:],
        event([delta(finish="stop")])[:-1],
        b"\n" + DONE,
    ],
    [b'data: {"error": {"message": "overloaded"}}\n\n', DONE],
    [
        b"data: not json\n\n",
        b"event: x\nid: 1\ndata: {}\n\n",
        event([delta(finish="stop")]),
        b"data: unfinished",
    ],
]


@pytest.mark.parametrize("durability", ["strict", "strict_tools", "relaxed"])
async def test_streams_keep_every_byte(tmp_path: Path, durability: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, durability=durability) as running:
        for parts in STREAMS:
            app.steps[:] = [chunks(*parts)]
            body = b'{"messages": [{"role": "user", "content": "hi"}], "stream": true}'
            answers = [
                await running.http.post(f"{url}/v1/chat/completions", content=body, headers=HEADERS)
                for url in (app.url, running.data)
            ]
            seen_alike(app)
            assert answers[1].content == answers[0].content == b"".join(parts)
            assert answers[1].headers == answers[0].headers


async def test_everything_else_passes_through(tmp_path: Path) -> None:
    async with upstream(plain(b"\x00\x01raw", 207, (b"x-a", b"b"))) as app, gateway(tmp_path, app) as running:
        for method, path, body in [
            ("GET", "/v1/models", None),
            ("POST", "/v1/embeddings?x=%20", b"\x00\xff" * 70_000),
            ("DELETE", "/v1/files/a%2Fb", None),
            ("GET", "/s/some/v1/models", None),
            ("PUT", "/v1/chat/completions", b"{}"),
        ]:
            through = await running.http.request(method, running.data + path, content=body)
            assert (through.status_code, through.content, through.headers["x-a"]) == (
                207,
                b"\x00\x01raw",
                "b",
            )
            assert (app.requests[-1].method, app.requests[-1].body) == (method, body or b"")
            assert app.requests[-1].path == path.replace("/s/some", "")


async def test_an_encoded_answer_is_relayed_as_it_came_and_recorded_as_text(tmp_path: Path) -> None:
    import gzip

    raw = gzip.compress(
        b'{"id": "r1", "choices": [{"index": 0, "message": {"content": "zipped"}, "finish_reason": "stop"}]}'
    )
    async with (
        upstream(plain(raw, 200, (b"content-encoding", b"gzip"))) as app,
        gateway(tmp_path, app) as running,
    ):
        given = await running.chat(
            {"messages": [{"role": "user", "content": "x"}]}, "z", accept_encoding="gzip, br, zstd"
        )
        assert given.json()["choices"][0]["message"]["content"] == "zipped"
        assert given.headers["content-encoding"] == "gzip"
        assert app.requests[0].headers["accept-encoding"] == "gzip, br, zstd"
        assert "zipped" in (await running.trajectory("z"))["turns"][0]["produced"]


async def test_our_own_headers_and_hop_by_hop_ones_stay_here(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await running.chat(
            {"messages": []},
            x_crosswind_session="s",
            x_crosswind_profile="everything",
            connection="x-hop",
            x_hop="1",
            te="trailers",
        )
        assert not {
            name
            for name in app.requests[0].headers
            if name.startswith("x-crosswind") or name in ("x-hop", "te")
        } - {"x-crosswind-via"}
