"""A tool's result in an HTTP answer."""

from __future__ import annotations

import json

import pytest

from crosswind.gateway.tools.failures import Failure
from crosswind.gateway.tools.http_results import HttpResult, answer_failure


def test_a_whole_body_keeps_its_charset() -> None:
    body = "Grüße".encode("latin-1")
    result = HttpResult.read("text/plain; charset=latin-1", body)
    assert result is not None and result.texts == ("Grüße",)
    assert result.write((None,)) == body
    assert result.write(("Grüß",)) == "Grüß".encode("latin-1")


def test_a_pointer_leaves_the_rest_of_the_answer_alone() -> None:
    body = b'{"id": 10000000000000000001, "out": [{"text": "a\\u0062"}, 2.50]}'
    result = HttpResult.read("application/json", body, "/out/0/text")
    assert result is not None and result.texts == ("ab",)
    assert result.write(("x",)) == b'{"id":10000000000000000001,"out":[{"text":"x"},2.50]}'
    part = HttpResult.read("application/problem+json", body, "/out")
    assert part is not None and part.texts == ('[{"text": "a\\u0062"}, 2.50]',)
    assert part.accept("no JSON") is not None and part.accept("[]") is None


@pytest.mark.parametrize(
    ("content_type", "body", "pointer"),
    [
        ("image/png", b"x", ""),
        ("text/event-stream", b"data: x\n\n", ""),
        ("application/json", b"", ""),
        ("application/json", b"{", "/a"),
        ("application/json", b'{"a": 1}', "/b"),
        ("application/json", b"[1]", "/7"),
        ("text/plain", b"\xff", ""),
        ("text/plain; charset=martian", b"x", ""),
    ],
)
def test_what_noise_cannot_read_is_no_result(content_type: str, body: bytes, pointer: str) -> None:
    assert HttpResult.read(content_type, body, pointer) is None


def test_a_valid_answer_stays_valid() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    result = HttpResult.read("application/json", b'{"n": 1}', "", schema)
    assert result is not None
    assert result.accept('{"n": 2}') is None
    assert result.accept('{"n": "2"}') is not None


PROBLEM = '{"type": "about:blank", "title": "Bad Gateway", "status": 502, "detail": "no route"}'
PAGE = "<html>\n<head><title>503 Service Temporarily Unavailable</title></head></html>"


@pytest.mark.parametrize(
    ("text", "status", "kind", "retry"),
    [
        (PROBLEM, 502, b"application/problem+json", None),
        (
            '{"statusCode": 429, "error": "Too many", "retryAfter": 7}',
            429,
            b"application/json",
            b"7",
        ),
        ('{"error": {"message": "no"}}', 503, b"application/json", b"2"),
        (PAGE, 503, b"text/html; charset=utf-8", b"2"),
        ('<?xml version="1.0"?><Error><Code>Busy</Code></Error>', 503, b"application/xml", b"2"),
        ("GetOrder failed: 502 Bad Gateway - no healthy upstream", 502, b"application/json", None),
        ("Request failed with status code 504", 504, b"application/json", None),
    ],
)
def test_what_a_stack_writes_as_a_body_is_the_body(
    text: str, status: int, kind: bytes, retry: bytes | None
) -> None:
    answer = answer_failure(Failure("result", text, 503, 2))
    headers = dict(answer.headers)
    assert (answer.status, headers[b"content-type"], headers.get(b"retry-after")) == (status, kind, retry)
    assert answer.body == text.encode() or json.loads(answer.body) == {"error": {"message": text}}
    assert (answer.body == text.encode()) is text.startswith(("{", "<"))


def test_a_failure_is_an_answer_as_apis_give_it() -> None:
    limited = answer_failure(Failure("result", "Too many requests", 429, 3))
    assert limited.status == 429 and dict(limited.headers)[b"retry-after"] == b"3"
    assert json.loads(limited.body) == {"error": {"message": "Too many requests"}}
    labelled = answer_failure(Failure("result", "Error 503: Upstream connection was reset.", 500))
    assert json.loads(labelled.body) == {"error": {"message": "Upstream connection was reset."}}
    assert labelled.status == 503
    own = answer_failure(Failure("result", '{"code": 5}', 500))
    assert own.body == b'{"code": 5}'
    assert b"www-authenticate" in dict(answer_failure(Failure("refusal", "no", 401)).headers)
