"""Responses in any split, with every kind of framing, and cut anywhere."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.upstreams.response import UpstreamResponse
from tests.gateway.upstreams.raw_server import PLENTY, Server, open_pool, reply_with, send_request, serve

BODIES = st.binary(max_size=300)
NAMES = st.from_regex(rb"x-[a-z]{1,8}", fullmatch=True)
VALUES = st.from_regex(rb"([!-~]([ -~]{0,20}[!-~])?)?", fullmatch=True)
INTERIM = st.sampled_from(
    [
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n",
        b"HTTP/1.1 199 Unknown\r\ncontent-length: 5\r\n\r\nhello",
    ]
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, int, list[tuple[bytes, bytes]], bytes, bool]:
    """A response: its bytes, status, headers and body, and whether its end closes the connection."""
    status = draw(st.sampled_from([200, 201, 204, 304, 404, 500]))
    headers = draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))
    body = b"" if status in (204, 304) else draw(BODIES)
    framing = "none" if status in (204, 304) else draw(st.sampled_from(["length", "chunked", "close"]))
    lines = [b"%b:%b" % (name, draw(st.sampled_from([b" ", b"", b"  "])) + value) for name, value in headers]
    sent = body
    if framing == "length":
        lines.append(b"Content-Length: %d" % len(body))
        headers.append((b"Content-Length", b"%d" % len(body)))
    elif framing == "chunked":
        lines.append(b"Transfer-Encoding: chunked")
        headers.append((b"Transfer-Encoding", b"chunked"))
        places = [0, *sorted(draw(st.lists(st.integers(0, len(body)), max_size=4))), len(body)]
        parts = [body[start:end] for start, end in pairwise(places) if start < end]
        trailer = draw(st.sampled_from([b"", b"x-sum: 1\r\n"]))
        sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"
    head = b"\r\n".join([b"HTTP/1.1 %d Any Reason" % status, *lines, b"", b""])
    return draw(INTERIM) + head + sent, status, headers, body, framing == "close"


async def pour_body(answer: UpstreamResponse, data: st.DataObject) -> bytes:
    """Read the body with `pour`, which `take` interrupts now and then."""
    body = b""

    def take(chunk: bytes) -> bool:
        nonlocal body
        body += chunk
        return data.draw(st.booleans(), label="goes on")

    while not answer.complete:
        await answer.pour(take)
    return body


@settings(max_examples=60, deadline=None)
@given(st.lists(answers(), min_size=1, max_size=4), st.data())
def test_answers_in_any_split_come_as_they_are(
    scripted: list[tuple[bytes, int, list[tuple[bytes, bytes]], bytes, bool]], data: st.DataObject
) -> None:
    """Several in a row, over as few connections as their ends allow; each twice, since the second head is
    recognised by the first.
    """
    scripted = [one for one in scripted for _ in range(2)]
    cuts = [data.draw(st.lists(st.integers(1, len(raw)), max_size=4), label="cuts") for raw, *_ in scripted]
    script = iter(zip(scripted, cuts, strict=True))

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await server.request(reader)
            (raw, _, _, _, closes), places = next(script)
            for start, end in pairwise([0, *sorted(places), len(raw)]):
                writer.write(raw[start:end])
                await writer.drain()
                await asyncio.sleep(0)
            if closes:
                return

    async def test() -> None:
        async with serve(talk) as server, open_pool(server) as pool:
            for _, status, headers, body, _ in scripted:
                answer = await send_request(pool, server)
                assert (answer.status, answer.headers) == (status, headers)
                assert (
                    await (pour_body(answer, data) if data.draw(st.booleans()) else answer.read_all(PLENTY))
                    == body
                )
                answer.close()
            assert server.connections <= 1 + sum(closes for *_, closes in scripted)

    asyncio.run(test())


@settings(max_examples=40, deadline=None)
@given(answers(), st.data())
def test_an_answer_that_is_cut_short_is_told_as_such(
    scripted: tuple[bytes, int, list[tuple[bytes, bytes]], bytes, bool], data: st.DataObject
) -> None:
    raw, status, _, body, closes = scripted
    head = len(raw) - len(raw.split(b"Any Reason", 1)[1].split(b"\r\n\r\n", 1)[1])
    kept = data.draw(st.integers(0, len(raw) - 1), label="kept")

    async def test() -> None:
        async with serve(reply_with(raw[:kept], close=True)) as server, open_pool(server) as pool:
            told: list[str] = []
            if kept < head:
                with pytest.raises(UpstreamError, match="broke the connection") as failed:
                    await send_request(pool, server, told=told)
                assert (failed.value.code, failed.value.unprocessed) == ("upstream_broken", False)
                return
            answer = await send_request(pool, server, told=told)
            if closes or status in (204, 304):
                # Nothing says how long it should have been.
                assert body.startswith(await answer.read_all(PLENTY))
            else:
                with pytest.raises(UpstreamError, match="before its end"):
                    await (pour_body(answer, data) if data.draw(st.booleans()) else answer.read_all(PLENTY))
                assert told == ["upstream_cut"]
            answer.close()
            assert pool.in_flight == 0

    asyncio.run(test())


def test_what_came_behind_one_answer_says_nothing_about_the_next() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Of: one answer too much\r\nContent-Length: 2\r\n\r\n"

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await server.request(reader)
            writer.write(head + (b"ok and more" if len(server.heads) == 1 else b"ok"))

    async def test() -> None:
        async with serve(talk) as server, open_pool(server) as pool:
            for _ in range(4):
                answer = await send_request(pool, server)
                assert await answer.read_all(PLENTY) == b"ok"
                answer.close()
            assert server.connections == 2

    asyncio.run(test())


@pytest.mark.parametrize("again", [False, True])
async def test_a_streams_type_is_known_in_any_case_and_its_encodings_in_all_lines(again: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\n"
    head += b"content-encoding: deflate\r\ncontent-encoding: gzip\r\n\r\nok"
    async with serve(reply_with(head, head)) as server, open_pool(server) as pool:
        for _ in range(1 + again):  # the second is recognised
            answer = await send_request(pool, server)
            await answer.read_all(PLENTY)
            answer.close()
        assert (answer.streams, answer.encoding) == (True, "deflate,gzip")
