"""Answers of any kind from an upstream: no defect of ours, no hang, and without noise every byte."""

from __future__ import annotations

import copy
import gzip
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.conversations import ANSWERS, EVENTS, FIRST
from tests.fuzz.documents import VALUES, damaged, mutated, spelled
from tests.fuzz.stage import NOISY, SECRET, Stage, http_answer, streamed
from tests.fuzz.test_data_plane import EXAMPLES, ROUTES, fuzzed

STREAMED = list(EVENTS)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
DONE = b"data: [DONE]\n\n"


def asked(path: str, **more: Any) -> bytes:
    return json.dumps(FIRST[path] | more).encode()


def follow_up(path: str, answer: Any) -> bytes:
    """What a client sends next that takes over whatever it was answered."""
    body = copy.deepcopy(FIRST[path])
    made = answer if isinstance(answer, dict) else {}
    choices = made.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if path == "/chat/completions":
        body["messages"] += [
            message,
            {"role": "tool", "tool_call_id": "c9", "content": '{"status":"shipped","total":1}'},
        ]
    elif path == "/messages":
        results = [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"status":"shipped","total":1}'}
        ]
        body["messages"] += [
            {"role": "assistant", "content": made.get("content")},
            {"role": "user", "content": results},
        ]
    elif path == "/responses":
        output = made.get("output")
        body["input"] = [
            *(output if isinstance(output, list) else [output]),
            {"type": "function_call_output", "call_id": "call_1", "output": '{"status":"shipped","total":1}'},
        ]
        body["previous_response_id"] = made.get("id")
    return json.dumps(body).encode()


def led(
    stage: Stage, path: str, answer: bytes, next_body: bytes, noise: str, whole: bool = True, **more: Any
) -> None:
    """A turn that is answered so, and one after it; then what the provider keeps is asked for."""
    session = stage.session()
    for body in (asked(path, **more), next_body):
        got = stage.send(f"/s/{session}/v1{path}", body, answer, noise=noise)
        assert got is not None or not whole, (noise, stage.said)
    if path == "/responses":
        for rest in ("", "/input_items"):
            kept = stage.send(
                f"/s/{session}/v1/responses/resp_1{rest}", None, answer, noise=noise, method="GET"
            )
            assert kept is not None or not whole


@pytest.mark.parametrize("path", ROUTES)
def test_wrong_types_in_every_field(stage: Stage, path: str) -> None:
    @fuzzed
    @given(mutated(ANSWERS[path]), st.data(), st.sampled_from(("off", *NOISY)))
    def test(answer: Any, data: Any, noise: str) -> None:
        raw = data.draw(spelled(answer))
        if noise == "off":
            got = stage.send(f"/s/{stage.session()}/v1{path}", asked(path), http_answer(raw))
            assert got is not None and got.content == raw
        led(stage, path, http_answer(raw), follow_up(path, answer), noise)

    test()


@pytest.mark.parametrize("path", STREAMED)
def test_wrong_types_in_every_event(stage: Stage, path: str) -> None:
    @fuzzed
    @given(mutated(EVENTS[path], most=4), st.data(), ENDS, st.sampled_from(("off", *NOISY)))
    def test(events: Any, data: Any, end: bytes, noise: str) -> None:
        stream = [event(one, end, data) for one in (events if isinstance(events, list) else [events])]
        whole = data.draw(st.booleans())
        answer = streamed(*stream, DONE, complete=whole)
        led(stage, path, answer, follow_up(path, ANSWERS[path]), noise, whole, stream=True)

    test()


def event(value: Any, end: bytes, data: Any) -> bytes:
    kind = value.get("type") if isinstance(value, dict) else None
    name = (
        b"event: " + kind.encode("utf-8", "replace") + end
        if isinstance(kind, str) and "\n" not in kind
        else b""
    )
    return name + b"data: " + data.draw(spelled(value)) + end + end


@pytest.mark.parametrize("path", STREAMED)
def test_streams_that_are_none(stage: Stage, path: str) -> None:
    """Cut anywhere, damaged anywhere, in pieces of any size, and without an end."""
    whole = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in EVENTS[path]) + DONE

    @fuzzed
    @given(
        damaged(whole) | st.binary(max_size=60),
        st.lists(st.integers(1, len(whole)), max_size=4),
        st.booleans(),
        st.sampled_from(("off", *NOISY)),
    )
    def test(raw: bytes, cuts: list[int], complete: bool, noise: str) -> None:
        places = [0, *sorted(cuts), len(raw)]
        parts = [raw[start:end] for start, end in pairwise(places)]
        answer = streamed(*parts, complete=complete)
        if noise == "off" and complete:
            got = stage.send(f"/s/{stage.session()}/v1{path}", asked(path, stream=True), answer)
            assert got is not None and got.content == raw
        led(stage, path, answer, follow_up(path, ANSWERS[path]), noise, complete, stream=True)

    test()


@pytest.mark.parametrize("path", ROUTES)
def test_answers_that_are_no_json(stage: Stage, path: str) -> None:
    @settings(fuzzed, max_examples=max(1, EXAMPLES // 2))
    @given(
        spelled(ANSWERS[path]).flatmap(damaged) | VALUES.flatmap(spelled) | st.binary(max_size=30),
        st.sampled_from([200, 201, 400, 429, 500, 529]),
        st.sampled_from(["application/json", "text/html", "", "text/event-stream"]),
        st.sampled_from(("off", *NOISY)),
    )
    def test(raw: bytes, status: int, kind: str, noise: str) -> None:
        answer = http_answer(raw, status=status, kind=kind)
        got = stage.upstream_says(f"/s/{stage.session()}/v1{path}", asked(path), answer, noise)
        assert got is None or got.status_code in (status, 502)
        if noise == "off":
            assert got is not None and got.content == raw

    test()


WIRE = [
    b"", b"\x00", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n",
    b"HTTP/1.1 999 X\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 7\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nx: \xff\x00\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nx: caf\xc3\xa9\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nno colon\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nx: " + b"a" * (1 << 17) + b"\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-encoding: \xff, br, x\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\ndata: {",
]  # fmt: skip


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/files", "/models"])
@pytest.mark.parametrize("answer", range(len(WIRE)))
def test_what_is_hardly_http(stage: Stage, path: str, answer: int) -> None:
    for noise in ("off", "answers"):
        stage.upstream_says(f"/v1{path}", asked(path) if path in FIRST else b"{}", WIRE[answer], noise)


@pytest.mark.parametrize("path", STREAMED)
@pytest.mark.parametrize("noise", ["off", "tools"])
def test_a_compressed_bomb_is_bounded(stage: Stage, path: str, noise: str) -> None:
    """Relayed as it came; where it would have to be read it is an upstream's failure."""
    bomb = gzip.compress(b"data: " + b"a" * (64 << 20) + b"\n\n")
    for kind in ("application/json", "text/event-stream"):
        got = stage.upstream_says(
            f"/s/{stage.session()}/v1{path}",
            asked(path),
            http_answer(bomb, "content-encoding: x-gzip", kind=kind),
            noise,
        )
        if noise == "off":
            assert got is not None and got.content == bomb
        else:
            assert got is None or len(got.content) < 8 << 20


@pytest.mark.parametrize("path", STREAMED)
@pytest.mark.parametrize("noise", ["off", "tools"])
def test_giant_events(stage: Stage, path: str, noise: str) -> None:
    """Larger than what is looked into, in many small pieces."""
    giant = b"data: " + b'{"a":"' + b"a" * (2 << 20) + b'"}\r\n\r\n'
    parts = [giant[at : at + 1000] for at in range(0, len(giant), 1000)]
    got = stage.send(
        f"/s/{stage.session()}/v1{path}", asked(path, stream=True), streamed(*parts, DONE), noise=noise
    )
    assert got is not None and got.content == giant + DONE


@pytest.mark.parametrize("path", STREAMED)
def test_a_secret_that_the_upstream_says_again_is_not_kept(stage: Stage, path: str) -> None:
    """In an error's message, in a stream's error event, in a text: stored masked, and logged nowhere."""
    said = {"error": {"message": f"Incorrect key: {SECRET}", "type": SECRET, "code": SECRET}}
    event = b"event: error\ndata: " + json.dumps({"type": "error", **said}).encode() + b"\n\n"
    for answer in (
        http_answer(json.dumps(said).encode(), status=401),
        http_answer(json.dumps(said).encode()),
        streamed(event),
    ):
        got = stage.send(f"/s/{stage.session()}/v1{path}", asked(path, stream=True), answer)
        assert got is not None
    stage.send(
        f"/s/{stage.session()}/v1{path}",
        asked(path, model=SECRET, user=SECRET),
        http_answer(json.dumps({"model": SECRET, "id": SECRET}).encode()),
    )
    stage.still_serves()
