"""Turns of which nothing is changed or recorded: clients and upstreams can't tell them from recorded ones."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import CUT, JSON, SSE, Part, ReceivedRequest, Reply, chunks, plain
from tests.gateway.servers import Running, answer, delta, event, gateway, upstream

SAID = {
    "model": "m",
    "messages": [{"role": "user", "content": "Please tell me where order W17 is, it was to come on Monday."}],
}
LARGE = b'"' + b"x" * (96 << 10) + b'"'
EVENTS = [event([delta("a")]), event([delta("b")]), event([delta(finish="stop")]), b"data: [DONE]\n\n"]


def broken(*parts: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> Reply:
    """A reply that the upstream breaks off."""

    async def reply(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, list(headers)
        for part in parts:
            yield part
        yield CUT

    return reply


STEPS: list[Any] = [
    plain(answer()),
    plain(b"\x00\xff", 207, (b"x-request-id", b"r-1")),
    plain({"error": {"message": "too many"}}, 429, (b"retry-after", b"1")),
    plain(LARGE),
    plain(gzip.compress(b'{"id": "c"}'), 200, (b"content-encoding", b"gzip")),
    chunks(*EVENTS),
    chunks(b"".join(EVENTS)),
    chunks(b"data: unfinished"),
    broken(b'{"id": ', headers=(JSON, (b"content-length", b"100"))),
    broken(EVENTS[0], headers=(SSE,)),
    broken(EVENTS[0], headers=(SSE, (b"content-length", b"1000"))),
    broken(gzip.compress(EVENTS[0]), headers=(SSE, (b"content-encoding", b"gzip"))),
]


async def ask(running: Running, path: str) -> tuple[Any, ...]:
    """The status, the headers and the raw bytes of an answer, and whether it ends as it should."""
    raw, ended = b"", True
    async with running.http.stream("POST", running.data + path, json=SAID) as told:
        try:
            async for part in told.aiter_raw():
                raw += part
        except httpx.RemoteProtocolError:
            ended = False
    own = "x-request-id" if told.status_code == 502 else None  # the gateway's number of its own error
    headers = [(name, value) for name, value in told.headers.multi_items() if name not in (own, "request-id")]
    return told.status_code, headers, raw, ended


@pytest.mark.parametrize("path", ["/s/one/v1/chat/completions", "/s/one/v1/messages"])
async def test_answers_are_those_of_recorded_turns(tmp_path: Path, path: str) -> None:
    seen: list[Any] = []
    for record in ("full", "none"):
        async with (
            upstream() as app,
            gateway(tmp_path, app, record=record, limits={"answer": 64 << 10}) as running,
        ):
            told = []
            for step in STEPS:
                app.steps[:] = [step]
                told.append(await ask(running, path))
            own = {"host": "", "x-crosswind-via": ""}
            sent = [(one.path, one.body, {**one.headers, **own}) for one in app.requests]
        seen.append((told, sent))
    (told, sent), (told_unread, sent_unread) = seen
    for recorded, unread in zip(told, told_unread, strict=True):
        assert recorded == unread
    assert sent == sent_unread


async def test_a_session_that_nobody_opened_is_refused_where_that_is_configured(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, record="none", sessions="strict") as running:
        assert (await running.chat(SAID, "unknown")).status_code == 404
    assert not app.requests


async def test_what_noise_acts_on_is_read(tmp_path: Path) -> None:
    noise = "name: n\nrules:\n- {operator: user.redundant, severity: 1.0, when: {probability: 1.0}}\n"
    async with upstream() as app, gateway(tmp_path, app, record="none", noise=noise) as running:
        await running.chat(SAID, "one")
    assert app.requests[0].json != SAID


@pytest.mark.parametrize("profile", ["off", "noisyagent"])
async def test_bodies_that_cant_be_read_are_forwarded_as_they_came(tmp_path: Path, profile: str) -> None:
    bodies = [b"", b"no JSON", b"[]", b'{"messages": 1}', b'{"messages": [1], "messages": [2]}']
    async with upstream() as app, gateway(tmp_path, app, record="none", profile=profile) as running:
        for body in bodies:
            url = f"{running.data}/s/one/v1/chat/completions"
            told = await running.http.post(url, content=body, headers={"content-type": "application/json"})
            assert told.status_code == 200
    assert [one.body for one in app.requests] == bodies
