"""Requests that are hardly HTTP: an answer or a closed connection, never a hang."""

from __future__ import annotations

import gzip

import pytest

from tests.fuzz.stage import SECRET, Stage

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + SECRET.encode() + b"\r\n"
REQUESTS = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "half a head": POST,
    "length too long": POST + b"content-length: 999\r\n\r\n" + BODY,
    "length too short": POST + b"content-length: 5\r\n\r\n" + BODY,
    "negative length": POST + b"content-length: -5\r\n\r\n" + BODY,
    "length of no digits": POST + b"content-length: \xb2\r\n\r\n" + BODY,
    "length of many digits": POST + b"content-length: " + b"9" * 5000 + b"\r\n\r\n" + BODY,
    "two lengths": POST + b"content-length: 5\r\ncontent-length: 7\r\n\r\n" + BODY,
    "length and chunks": POST
    + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks of no size": POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "chunks without an end": POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "giant chunk": POST + b"transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    "unknown coding": POST + b"transfer-encoding: x\r\n\r\n{}",
    "large head": POST + b"x: " + b"a" * 100_000 + b"\r\n\r\n",
    "many fields": POST + b"x: y\r\n" * 20_000 + b"\r\n",
    "NUL in a field": POST + b"x: \x00\r\ncontent-length: 0\r\n\r\n",
    "a line folded": POST + b"x: a\r\n b\r\ncontent-length: 0\r\n\r\n",
    "no host": b"GET /v1/models HTTP/1.1\r\n\r\n",
    "a proxy's request": b"GET http://evil.example/v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
    "a broken escape": b"GET /s/%zz%ff%00/v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
    "a path of bytes": b"GET /s/\xff\xfe/v1/models?\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    "an upgrade to nothing": POST + b"connection: upgrade\r\nupgrade: x\r\ncontent-length: 0\r\n\r\n",
    "half a WebSocket": b"GET /v1/x HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "expects": POST + b"expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
    "two at once": (POST + b"content-length: 2\r\n\r\n{}") * 2,
}


@pytest.mark.parametrize("case", REQUESTS)
def test_hardly_a_request(stage: Stage, case: str) -> None:
    answer = stage.raw(REQUESTS[case])
    assert answer == b"" or answer.startswith(b"HTTP/1.1 "), answer
    assert not answer.startswith(b"HTTP/1.1 500"), answer
    assert SECRET.encode() not in answer


def test_a_compressed_request_goes_on_as_it_came(stage: Stage) -> None:
    """It isn't opened: a bomb costs what its bytes cost."""
    bomb = gzip.compress(b"[" * (64 << 20))
    answer = stage.send("/v1/chat/completions", bomb, noise="texts", **{"content-encoding": "gzip"})
    assert answer is not None and answer.status_code == 200
    assert stage.upstream.bodies == [bomb]
