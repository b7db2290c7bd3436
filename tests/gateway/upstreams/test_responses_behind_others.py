"""A response is read behind others on its connection as it is alone, and relayed with its own headers."""

from __future__ import annotations

import gzip

import pytest

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.headers import WrittenHeaders, drop_hop_by_hop
from crosswind.gateway.upstreams import response_head
from crosswind.gateway.upstreams.response import UpstreamResponse
from tests.gateway.upstreams.raw_server import PLENTY, open_pool, reply_with, send_request, serve

USUAL = (
    b"HTTP/1.1 200 OK\r\nDate: Mon\r\nSet-Cookie: a=1\r\nContent-Length: 5\r\nX-A: b\r\n"
    b"Content-Type: text/plain\r\n\r\nhello"
)
STREAM = b"HTTP/1.1 200 OK\r\nDate: Mon\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
ZIPPED = gzip.compress(b"hello", mtime=0)
ODD = {
    "another length": USUAL.replace(b"h: 5", b"h: 2").replace(b"hello", b"ab"),
    "no body": USUAL.replace(b"h: 5", b"h: 0").replace(b"hello", b""),
    "another status": USUAL.replace(b"200 OK", b"201 Created"),
    "another reason": USUAL.replace(b"200 OK", b"200 Fine"),
    "an error": USUAL.replace(b"200 OK", b"429 Slow").replace(b"X-A: b", b"Retry-After: 7"),
    "another cookie": USUAL.replace(b"a=1", b"a=2"),
    "two cookies": USUAL.replace(b"a=1", b"a=1\r\nSet-Cookie: b=2"),
    "no cookie": USUAL.replace(b"Set-Cookie: a=1\r\n", b""),
    "another date": USUAL.replace(b"Mon", b"Tue"),
    "a hop-by-hop header": USUAL.replace(b"X-A: b", b"Connection: x-a\r\nX-A: b"),
    "the last": USUAL.replace(b"X-A: b", b"Connection: close"),
    "two lengths": USUAL.replace(b"X-A: b", b"Content-Length: 3"),
    "a length in a value": USUAL.replace(b"X-A: b", b"X-A: Content-Length: 3"),
    "a folded line": USUAL.replace(b"X-A: b", b"X-A: b\r\n c"),
    "obs-text": USUAL.replace(b"X-A: b", b"X-A: \xff"),
    "a sign": USUAL.replace(b"h: 5", b"h: +5"),
    "chunks": USUAL.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked").replace(
        b"hello", b"5\r\nhello\r\n0\r\n\r\n"
    ),
    "a stream with a trailer": STREAM.replace(b"0\r\n\r\n", b"0\r\nX-T: 1\r\n\r\n"),
    "gzip": USUAL.replace(b"X-A: b", b"Content-Encoding: gzip")
    .replace(b"h: 5", b"h: %d" % len(ZIPPED))
    .replace(b"hello", ZIPPED),
    "too much": USUAL + b"x",
    "another case": USUAL.replace(b"Content-Length", b"content-length"),
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n" + USUAL,
}


def _write(answer: UpstreamResponse) -> bytes:
    """The head for clients, without the length."""
    if answer.head is not None:
        return answer.head.write(edited=False).lines
    kept = [field for field in drop_hop_by_hop(answer.headers) if field[0].lower() != b"content-length"]
    return WrittenHeaders.write(answer.status, kept).lines


async def read_last(*answers: bytes) -> object:
    """The last of these answers over one connection, and what is written of its head for clients."""
    response_head._templates.clear()
    async with serve(reply_with(*answers)) as server, open_pool(server) as pool:
        told: object = None
        for _ in answers:
            try:
                answer = await send_request(pool, server)
                body = await answer.read_all(PLENTY)
            except UpstreamError as error:
                return error.code
            told = (answer.status, _write(answer), answer.headers, answer.streams, answer.encoding, body)
            answer.close()
        return told


@pytest.mark.parametrize("before", [USUAL, STREAM], ids=["length", "chunks"])
@pytest.mark.parametrize("sent", ODD.values(), ids=ODD.keys())
async def test_a_response_is_read_behind_others_as_alone(before: bytes, sent: bytes) -> None:
    assert await read_last(before, before, before, sent) == await read_last(sent)
