"""Capture on vLLM's other routes: Completions with token ids, Responses and Messages whole and without."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.gateway.servers import gateway
from tests.policies.rollouts import STREAMED, open_rollout
from tests.policies.vllm.conftest import Reciting
from tests.policies.vllm.recorded import CAPTURE, assert_true, events, post, post_bare, turns

pytestmark = pytest.mark.vllm

_MADE_UP = re.compile(
    rb'(?:chatcmpl|resp|msg|rs|fc|call)_?-?[0-9a-f]{8,}|"(?:created_at|created|completed_at)":[0-9.]+'
)
_TEXTLESS = {
    "responses": {"model": "policy", "input": "thought", "max_output_tokens": 30, "temperature": 0},
    "messages": {
        "model": "policy",
        "messages": [{"role": "user", "content": "thought"}],
        "max_tokens": 30,
        "temperature": 0,
    },
}


@STREAMED
async def test_completions(tmp_path: Path, recites: Reciting, stream: bool) -> None:
    asking = {
        "model": "policy",
        "prompt": "Hello there",
        "max_tokens": 12,
        "n": 2,
        "seed": 3,
        "stream": stream,
    }
    async with gateway(tmp_path, recites.url, capture_top=2) as running:
        session = await open_rollout(running)
        given = await post(running, session, "/completions", asking)
        (turn,) = await turns(running, session)
    assert_true(turn, recites.path)
    assert len(turn["completions"]) == 2 and turn["entropy"]["estimate"] == "top_k"
    assert _texts(given) == _texts(post_bare(recites.url, "/completions", asking))
    assert not any(name.encode() in given.content for name in CAPTURE) and b"token_id:" not in given.content


def _texts(response: httpx.Response) -> dict[int, str]:
    bodies = events(response) if "event-stream" in response.headers["content-type"] else [response.json()]
    texts: dict[int, str] = {}
    for body in bodies:
        for choice in body["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
    return texts


@STREAMED
@pytest.mark.parametrize("protocol", _TEXTLESS)
async def test_routes_without_token_ids_are_recorded_whole(
    tmp_path: Path, recites: Reciting, protocol: str, stream: bool
) -> None:
    asking = _TEXTLESS[protocol] | ({"stream": True} if stream else {})
    async with gateway(tmp_path, recites.url) as running:
        session = await open_rollout(running)
        given = await post(running, session, f"/{protocol}", asking)
        (turn,) = await turns(running, session)
    bare = post_bare(recites.url, f"/{protocol}", asking)
    assert (given.status_code, turn["fitness"]) == (200, "engine_no_tokens")
    assert _said(given) == _said(bare) and len(_said(given)) > 0
    if not stream:
        assert _MADE_UP.sub(b"", given.content) == _MADE_UP.sub(b"", bare.content)
    assert json.loads(turn["sent"]) == asking
    assert _said(given) in turn["produced"] and turn["usage"]["output_tokens"] > 0


def _said(response: httpx.Response) -> str:
    """The text of an answer, streamed in however many pieces, as JSON spells it."""
    if "event-stream" not in response.headers["content-type"]:
        body = response.json()
        parts = body["content"] if "content" in body else body["output"][0]["content"]
        return json.dumps(parts[0]["text"], ensure_ascii=False)[1:-1]
    pieces = []
    for line in response.text.splitlines():
        if line.startswith("data: {"):
            delta = json.loads(line.removeprefix("data: ")).get("delta", {})
            pieces.append(delta if isinstance(delta, str) else delta.get("text", ""))
    return json.dumps("".join(pieces), ensure_ascii=False)[1:-1]
