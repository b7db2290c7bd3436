"""A head that is read by the one before on its connection is read as it would be without that."""

from __future__ import annotations

import pytest

from crosswind.gateway.http.request_head import HeadReader, ReadLimits, RequestHead

LIMITS = ReadLimits(url=1000, header=4000, lines=50)
FIRST = b"POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Crosswind-Session: s\r\n\r\nhello"
NEXT = (
    FIRST,
    FIRST.replace(b": 5", b": 12").replace(b"hello", b"hello, there"),
    FIRST.replace(b": 5", b": 0").replace(b"hello", b""),
    FIRST.replace(b": 5", b": 05"),
)
UNLIKE = (
    FIRST.replace(b": s", b": t"),
    FIRST.replace(b": 5", b": 5 "),
    FIRST.replace(b": 5", b": +5"),
    FIRST.replace(b": 5", b": "),
    FIRST.replace(b": 5", b": 5\r\nContent-Length: 5"),
    FIRST.replace(b": 5", b": 5\r\nTransfer-Encoding: chunked"),
    FIRST.replace(b": 5", b": " + b"0" * 19 + b"5"),
    FIRST.replace(b": 5", b": 6"),
    FIRST.replace(b": 5\r\n", b": 5\n"),
    FIRST + FIRST,
    FIRST[:-1],
    b"",
)


def facts(read: tuple[RequestHead, bytes] | None) -> object:
    if read is None:
        return None
    head, body = read
    return head.template.method, head.headers, head.first, head.length, head.raw, body


@pytest.fixture
def reader() -> HeadReader:
    made = HeadReader(LIMITS)
    assert made.read_request(FIRST) is not None
    return made


@pytest.mark.parametrize("data", NEXT)
def test_another_length(reader: HeadReader, data: bytes) -> None:
    first = reader.read_request(FIRST)
    assert first is not None and first[0].like is not None
    found = first[0].like.read(data)
    assert found is not None
    assert facts(found) == facts(HeadReader(LIMITS).read_request(data))


@pytest.mark.parametrize("data", UNLIKE)
def test_anything_else(reader: HeadReader, data: bytes) -> None:
    first = reader.read_request(FIRST)
    assert first is not None and first[0].like is not None
    assert first[0].like.read(data) is None


@pytest.mark.parametrize("name", [b"Idempotency-Key", b"traceparent"])
def test_heads_that_are_new_each_time(name: bytes) -> None:
    read = HeadReader(LIMITS).read_request(FIRST.replace(b"Host: a", b"Host: a\r\n%b: 1" % name))
    assert read is not None and read[0].like is None
