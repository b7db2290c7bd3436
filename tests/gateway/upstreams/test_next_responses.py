"""A response's head that is read by the one before on its connection is read as it would be without that."""

from __future__ import annotations

import pytest

from crosswind.gateway.upstreams.response_head import KnownHead, LikeResponse, learn, recognise

HEAD = b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 5\r\ncontent-type: a/b\r\n\r\n"
NAMED = [(b"date", b"today"), (b"content-length", b"5"), (b"content-type", b"a/b")]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LIKE = (HEAD + b"hello", HEAD.replace(b": 5", b": 12") + b"hello, there", HEAD.replace(b": 5", b": 0"))
UNLIKE = (
    HEAD.replace(b"today", b"later"),
    HEAD.replace(b": 5", b": "),
    HEAD.replace(b": 5", b": 5 "),
    HEAD.replace(b": 5", b": -5"),
    HEAD.replace(b": 5", b": 5\r\ncontent-length: 6"),
    HEAD.replace(b": 5", b": " + b"0" * 19 + b"5"),
    HEAD[:-2],
    b"",
)


@pytest.fixture(autouse=True)
def learned() -> None:
    learn(HEAD, NAMED)
    learn(STREAM, [(b"content-type", b"text/event-stream"), (b"transfer-encoding", b"chunked")])


def like(data: bytes) -> LikeResponse:
    known = recognise(data)
    assert known is not None
    made = LikeResponse.of(known, data)
    assert made is not None
    return made


def facts(known: KnownHead | None) -> object:
    assert known is not None
    lines = [known.write(edited=edited).lines for edited in (False, True, False, True)]
    return known.template.streams, known.headers, known.length, known.size, lines


@pytest.mark.parametrize("data", LIKE)
def test_another_length(data: bytes) -> None:
    assert facts(like(HEAD).recognise(data)) == facts(recognise(data))


@pytest.mark.parametrize("data", UNLIKE)
def test_anything_else(data: bytes) -> None:
    assert like(HEAD).recognise(data) is None


def test_a_stream() -> None:
    data = STREAM + b"5\r\nhello\r\n"
    assert facts(like(STREAM).recognise(data)) == facts(recognise(data))
    assert like(STREAM).recognise(HEAD) is None


def test_a_length_that_stands_there_twice() -> None:
    twice = HEAD.replace(b"today", b"5")
    known = recognise(twice)
    assert known is not None and LikeResponse.of(known, twice) is None
