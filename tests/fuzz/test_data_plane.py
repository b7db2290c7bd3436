"""Requests of any kind: never a defect of ours, never a hang, and what we can't read goes on as it came."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.conversations import REQUESTS
from tests.fuzz.documents import VALUES, damaged, mutated, spelled
from tests.fuzz.stage import NOISY, OK, Stage

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
    ],
)
ROUTES = list(REQUESTS)


def passes(stage: Stage, path: str, body: bytes) -> None:
    """Without noise every byte goes on, and every byte comes back."""
    answer = stage.send(path, body)
    assert answer is not None and answer.status_code == 200 and answer.content == OK
    assert stage.upstream.bodies == [body]


def survives(stage: Stage, path: str, body: bytes, noise: str) -> None:
    """With noise an answer comes, and what is JSON stays JSON."""
    answer = stage.send(path, body, noise=noise)
    assert answer is not None and answer.status_code == 200
    for sent in stage.upstream.bodies:
        assert is_json(sent) or not is_json(body)


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.mark.parametrize("path", ROUTES)
def test_wrong_types_in_every_field(stage: Stage, path: str) -> None:
    @fuzzed
    @given(mutated(REQUESTS[path]).flatmap(spelled), st.sampled_from(NOISY), st.booleans())
    def test(body: bytes, noise: str, named: bool) -> None:
        route = f"/s/{stage.session()}/v1{path}" if named else f"/v1{path}"
        passes(stage, route, body)
        route = f"/s/{stage.session()}/v1{path}" if named else f"/v1{path}"
        survives(stage, route, body, noise)

    test()


@pytest.mark.parametrize("path", ROUTES)
def test_no_json_at_all(stage: Stage, path: str) -> None:
    @fuzzed
    @given(
        spelled(REQUESTS[path]).flatmap(damaged) | VALUES.flatmap(spelled) | st.binary(max_size=30),
        st.sampled_from(NOISY),
    )
    def test(body: bytes, noise: str) -> None:
        passes(stage, f"/s/{stage.session()}/v1{path}", body)
        survives(stage, f"/s/{stage.session()}/v1{path}", body, noise)

    test()


@pytest.mark.parametrize("path", ROUTES)
def test_a_history_that_is_another_one_each_turn(stage: Stage, path: str) -> None:
    """Turn after turn of one session, each with a history of its own."""
    bodies = st.lists(mutated(REQUESTS[path], most=2).flatmap(spelled), min_size=2, max_size=4)

    @settings(fuzzed, max_examples=max(1, EXAMPLES // 4))
    @given(bodies, st.sampled_from(NOISY))
    def test(bodies: list[bytes], noise: str) -> None:
        session = stage.session()
        for body in bodies:
            survives(stage, f"/s/{session}/v1{path}", body, noise)

    test()


DEEP = 100_000
NESTED = {
    "arrays": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "unclosed arrays": b"[" * DEEP,
    "unclosed objects": b'{"a":' * DEEP,
    "below every recursion limit": b"[" * 900 + b"]" * 900,
}


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("path", ROUTES)
def test_nested_deeply(stage: Stage, path: str, nested: str) -> None:
    """As a whole, as a member that is unknown, and in every place that is read."""
    deep, shell = NESTED[nested], b'{"model":"m","%s":%s}'
    history = {"/responses": b"input", "/completions": b"prompt", "/embeddings": b"input"}.get(
        path, b"messages"
    )
    bodies = [deep, b'{"%s":[],"x":%s}' % (history, deep)]
    bodies += [shell % (name, deep) for name in (history, b"tools", b"tool_choice", b"n", b"stream_options")]
    parts = (b'{"role":"user","content":%s}', b'{"role":"assistant","content":null,"tool_calls":%s}', b"%s")
    bodies += [shell % (history, b"[" + part % deep + b"]") for part in parts]
    message = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":%s}]}'
    bodies.append(shell % (history, b"[" + message % deep + b"]"))
    for body in bodies:
        passes(stage, f"/s/{stage.session()}/v1{path}", body)
        survives(stage, f"/s/{stage.session()}/v1{path}", body, "texts")
        survives(stage, f"/s/{stage.session()}/v1{path}", body, "tools")
        passes(stage, f"/v1{path}", body)


@pytest.mark.parametrize("path", ROUTES)
def test_too_large(stage: Stage, path: str) -> None:
    """Refused in the protocol's shape; what is just small enough goes on."""
    shell = b'{"model":"m","messages":[{"role":"user","content":"%s"}]}'
    passes(stage, f"/v1{path}", shell % (b"a" * ((4 << 20) - len(shell) + 2)))
    answer = stage.send(f"/v1{path}", shell % (b"a" * (4 << 20)))
    assert answer is not None and answer.status_code == 413 and answer.json()["error"]


RAW = st.sampled_from(
    [
        "/files",
        "/models",
        "/models/x",
        "/responses/resp_1",
        "/conversations/c/items",
        "/messages/count_tokens",
        "/audio",
    ]
)


@fuzzed
@given(
    st.binary(max_size=200),
    RAW,
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    st.sampled_from(NOISY),
)
def test_raw_routes(stage: Stage, body: bytes, path: str, method: str, noise: str) -> None:
    answer = stage.send(f"/v1{path}", body, method=method, noise=noise)
    assert answer is not None and answer.status_code == 200
    if path != "/models":
        assert stage.upstream.bodies == [body] and answer.content == OK


HEADER = st.text(
    st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30
) | st.sampled_from(
    ["9" * 5000, "-1", "1e5", "0", "²", "s/../s", "9223372036854775808", "gzip, identity;q=x", "a" * 300]
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "x-crosswind-session", "x-crosswind-seed", "x-crosswind-task", "x-crosswind-group",
            "x-crosswind-noise", "x-stainless-retry-count", "idempotency-key", "anthropic-version",
            "traceparent", "tracestate", "content-encoding", "accept-encoding", "content-type", "cookie",
            "te", "user-agent", "x-unknown",
        ]
    ),
    HEADER,
    max_size=5,
)  # fmt: skip


@fuzzed
@example({"x-crosswind-seed": "9" * 5000}, "/chat/completions", "texts")
@example({"x-stainless-retry-count": "²"}, "/chat/completions", "texts")
@example({"x-crosswind-seed": "9223372036854775808"}, "/chat/completions", "texts")
@given(HEADERS, st.sampled_from([*ROUTES, "/files", "/models"]), st.sampled_from(("off", *NOISY)))
def test_headers(stage: Stage, headers: dict[str, str], path: str, noise: str) -> None:
    body = json.dumps(REQUESTS.get(path, {})).encode()
    raw: Any = {name: value.strip().encode("latin-1") for name, value in headers.items()}
    answer = stage.send(f"/v1{path}", body, noise=noise, **raw)
    assert answer is not None and answer.status_code in (200, 400), answer.text


@fuzzed
@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"), max_size=30),
    st.booleans(),
)
def test_paths(stage: Stage, path: str, named: bool) -> None:
    prefix = "/s/" if named else "/v1/"
    answer = stage.send(prefix + path, b"{}")
    assert answer is not None and answer.status_code < 500
