"""Faults on the link and at the provider: what clients meet, what is on record, and that a retry helps."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from crosswind.testing import ScriptedProvider
from tests.gateway.policy import Said, acting
from tests.gateway.servers import Running, gateway, upstream

TEXT = "The order has left the house and comes on Monday."
CALLS = (("c1", "get_order", {"id": "W1"}), ("c2", "get_order", {"id": "W2"}))
POLICY = acting(lambda body: Said(None, CALLS) if body.get("tools") else Said(TEXT))
ASKED = {"model": "tiny", "messages": [{"role": "user", "content": "Where is it?"}]}
TOOLS = [{"type": "function", "function": {"name": "get_order", "description": "One.", "parameters": {}}}]
KEY: Any = {"api_key": "unused-but-long", "max_retries": 0}
RETRY = {"x-stainless-retry-count": "1"}


def profile(operator: str, tmp: Path) -> str:
    path = tmp / "faults.yaml"
    path.write_text(
        "name: faults\nversion: 1\nsummary: One fault.\ncompose: all_of\n"
        "bounds: {faults_per_call: 1, faults_per_session: 5}\n"
        f"rules:\n  - operator: {operator}\n    severity: 1.0\n    when: {{probability: 1.0}}\n"
    )
    return str(path)


def faulty(tmp: Path, app: ScriptedProvider, operator: str) -> AbstractAsyncContextManager[Running]:
    return gateway(tmp, app, profile=profile(operator, tmp))


async def ask(running: Running, session: str = "one", retry: bool = False, **more: Any) -> httpx.Response:
    url = f"{running.data}/s/{session}/v1/chat/completions"
    return await running.http.post(url, json=ASKED | more, headers=RETRY if retry else {})


async def turns(running: Running) -> list[dict[str, Any]]:
    stored: list[dict[str, Any]] = (await running.trajectory("one"))["turns"]
    return stored


def texts(body: bytes) -> str:
    """The text of a stream, as far as it came."""
    lines = [line[6:] for line in body.decode().splitlines() if line.startswith("data: {")]
    chunks = [json.loads(line) for line in lines if line.endswith("}")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@pytest.mark.parametrize("operator", ["transport.hang", "transport.reset", "transport.truncated_body"])
async def test_a_broken_link_and_a_retry(tmp_path: Path, operator: str) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, operator) as running,
    ):
        with pytest.raises(httpx.TransportError):
            await ask(running)
        second = await ask(running, retry=True)
        assert second.json()["choices"][0]["message"]["content"] == TEXT
        first, retried = await turns(running)
        assert (first["index"], retried["index"], retried["attempt"]) == (0, 0, 1)
        assert first["error"]["source"] == "injected" and first["error"]["type"] == operator
        assert first["delivered"] == "no" and retried["error"] is None


async def test_a_status_on_the_way(tmp_path: Path) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, "transport.status") as running,
    ):
        first = await ask(running)
        assert first.status_code >= 500 and "crosswind" not in first.text.lower()
        assert not app.requests, "nobody was asked"
        assert (await ask(running, retry=True)).status_code == 200


async def test_markers_only_where_the_operator_asks_for_them(tmp_path: Path) -> None:
    named = profile("transport.status", tmp_path)
    for markers in (False, True):
        given: dict[str, Any] = {"profile": named, "store": f"sqlite:///{tmp_path}/{markers}.db"}
        async with upstream(POLICY) as app, gateway(tmp_path, app, markers=markers, **given) as running:
            injected = (await ask(running)).headers
            ours = (await running.http.get(f"{running.data}/nowhere")).headers
            assert injected.get("x-crosswind-injected") == ("transport.status" if markers else None)
            assert ours.get("x-crosswind-error") == ("not_found" if markers else None)


async def test_a_stream_that_is_cut_is_recorded_whole(tmp_path: Path) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, "transport.sse_cut") as running,
    ):
        got = b""
        with pytest.raises(httpx.TransportError):
            async with running.http.stream(
                "POST", f"{running.data}/s/one/v1/chat/completions", json=ASKED | {"stream": True}
            ) as answer:
                async for chunk in answer.aiter_raw():
                    got += chunk
        assert not got.endswith(b"\n\n"), "cut within an event"
        whole = await ask(running, retry=True, stream=True)
        assert texts(whole.content).strip() == TEXT and whole.content.endswith(b"data: [DONE]\n\n")
        first, _ = await turns(running)
        assert json.loads(first["produced"])["choices"][0]["message"]["content"].strip() == TEXT
        assert first["finish_reason"] == "stop" and first["delivered"] == "no"


@pytest.mark.parametrize(
    "operator", ["transport.sse_stall", "transport.first_token_delay", "transport.bandwidth"]
)
async def test_a_slow_stream_comes_whole(
    tmp_path: Path, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def noted(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("crosswind.gateway.proxy.client_link.asyncio.sleep", noted)
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, operator) as running,
    ):
        answer = await ask(running, stream=True)
        assert texts(answer.content).strip() == TEXT and answer.content.endswith(b"data: [DONE]\n\n")
        assert sum(waited) > 0.05
        assert (await turns(running))[0]["error"] is None


async def test_another_content_type(tmp_path: Path) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, "transport.wrong_content_type") as running,
    ):
        assert not (await ask(running)).headers["content-type"].startswith("application/json")
        assert (await ask(running, retry=True)).headers["content-type"].startswith("application/json")


async def test_a_request_that_is_delivered_twice(tmp_path: Path) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, "transport.duplicated_delivery") as running,
    ):
        assert (await ask(running)).json()["choices"][0]["message"]["content"] == TEXT
        assert len(app.requests) == 2 and app.requests[0].body == app.requests[1].body
        assert len(await turns(running)) == 1


@pytest.mark.parametrize(
    ("operator", "raised"),
    [
        ("model.rate_limited", openai.RateLimitError),
        ("model.overloaded", openai.InternalServerError),
        ("model.context_length", openai.BadRequestError),
    ],
)
async def test_a_provider_that_refuses(tmp_path: Path, operator: str, raised: type[Exception]) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, operator) as running,
        openai.AsyncOpenAI(
            base_url=f"{running.data}/s/one/v1", api_key="unused-but-long", max_retries=0
        ) as sdk,
    ):
        asked: Any = ASKED
        with pytest.raises(raised) as refused:
            await sdk.chat.completions.create(**asked)
        if operator == "model.rate_limited":
            assert int(refused.value.response.headers["retry-after"]) >= 1  # type: ignore[attr-defined]
        again = await sdk.chat.completions.create(**asked, extra_headers=RETRY)
        assert again.choices[0].message.content == TEXT
        assert (await turns(running))[0]["error"]["type"] == operator


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    ("operator", "finish"), [("model.empty", "stop"), ("model.content_filter", "content_filter")]
)
async def test_a_provider_that_says_nothing(tmp_path: Path, operator: str, finish: str, stream: bool) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, operator) as running,
    ):
        answer = await ask(running, stream=stream)
        if stream:
            assert texts(answer.content) == "" and f'"finish_reason":"{finish}"' in answer.text
            assert answer.content.endswith(b"data: [DONE]\n\n")
        else:
            choice = answer.json()["choices"][0]
            assert (choice["message"]["content"], choice["finish_reason"]) == ("", finish)
        assert not app.requests
        assert (await turns(running))[0]["delivered_view"] is not None


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    "operator",
    ["model.length_cut", "model.malformed_arguments", "model.unknown_tool", "model.duplicated_call_id"],
)
async def test_an_answer_that_comes_out_wrong(tmp_path: Path, operator: str, stream: bool) -> None:
    more: dict[str, Any] = {} if operator == "model.length_cut" else {"tools": TOOLS}
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, operator) as running,
    ):
        answer = await ask(running, stream=stream, **more)
        (turn,) = await turns(running)
        produced = json.loads(turn["produced"])["choices"][0]
        delivered = json.loads(turn["delivered_view"])["choices"][0]
        assert delivered != produced, "what was produced is on record as it was"
        calls = delivered["message"].get("tool_calls") or []
        if stream:
            assert texts(answer.content) == (delivered["message"]["content"] or "")
            assert f'"finish_reason":"{delivered["finish_reason"]}"' in answer.text
        else:
            assert answer.json()["choices"][0] == delivered
        match operator:
            case "model.length_cut":
                assert delivered["finish_reason"] == "length" and len(delivered["message"]["content"]) < len(
                    TEXT
                )
            case "model.malformed_arguments":
                with pytest.raises(ValueError):
                    [json.loads(call["function"]["arguments"]) for call in calls]
            case "model.unknown_tool":
                assert any(call["function"]["name"] != "get_order" for call in calls)
            case _:
                assert calls[0]["id"] == calls[1]["id"]


async def test_a_stream_that_the_provider_leaves(tmp_path: Path) -> None:
    async with (
        upstream(POLICY) as app,
        faulty(tmp_path, app, "model.stream_cut") as running,
    ):
        answer = await ask(running, stream=True)
        assert 'finish_reason": "stop' not in answer.text and b"[DONE]" not in answer.content
        assert 0 < len(texts(answer.content)) < len(TEXT)
        assert (
            json.loads((await turns(running))[0]["produced"])["choices"][0]["message"]["content"].strip()
            == TEXT
        )


async def test_a_session_has_only_so_many(tmp_path: Path) -> None:
    async with upstream(POLICY) as app:
        name = profile("model.overloaded", tmp_path)
        got: list[int] = []
        for _ in range(2):  # after a restart the count goes on
            async with gateway(tmp_path, app, profile=name) as running:
                for _ in range(6):
                    messages = [{"role": "user", "content": f"Number {len(got)}?"}]
                    got.append((await ask(running, messages=messages)).status_code)
        assert sum(status != 200 for status in got) == 5
