"""Embeddings: recorded where a session is named, never perturbed, and every byte kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from crosswind.testing import Answer, Dialogue, ScriptedProvider
from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE
from tests.gateway.proxy.test_byte_exact import HEADERS, seen_alike
from tests.gateway.servers import gateway, upstream

VECTORS = {
    "object": "list",
    "model": "tiny-embed",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.1, -2e-7, 1e30]}],
    "usage": {"prompt_tokens": 4, "total_tokens": 4},
}
BODIES = [
    b'{ "model":"m", "input" : "Where is order W17?" }',
    b'{"model":"m","input":["a","b"],"encoding_format":"base64"}',
    b'{"model":"m","input":[[1,2],[3]]}',
    b'{"input":1,"input":2}',
    b"nonsense",
]


@pytest.mark.parametrize("vectors", [VECTORS, {**VECTORS, "data": [{"embedding": "AACAPw=="}]}, [1]])
async def test_every_byte_is_kept_under_noise_too(tmp_path: Path, vectors: Any) -> None:
    (tmp_path / "flaky.yaml").write_text(PROFILE)
    reply = plain(json.dumps(vectors, indent=1).encode())
    async with (
        upstream(reply) as app,
        gateway(tmp_path, app, profile=str(tmp_path / "flaky.yaml"), capture="on") as running,
    ):
        for request in BODIES:
            for path in ("/v1", "/s/s/v1"):
                urls = (f"{app.url}/v1/embeddings", f"{running.data}{path}/embeddings")
                got = [await running.http.post(url, content=request, headers=HEADERS) for url in urls]
                assert got[0].content == got[1].content and got[0].headers == got[1].headers
                seen_alike(app)
        turns = (await running.trajectory("s"))["turns"]
        assert [turn["received"].encode() for turn in turns] == BODIES[:3]
        assert {turn["protocol"] for turn in turns} == {"embeddings"}
        assert {turn["fitness"] for turn in turns} == {"nothing_sampled"}
        if isinstance(vectors, dict):
            assert turns[0]["usage"] == VECTORS["usage"] and turns[0]["model"] == "tiny-embed"
            assert json.loads(turns[0]["produced"]) == vectors
        sessions = (await running.api("GET", "/api/sessions")).json()
        assert [one["id"] for one in sessions["sessions"]] == ["s"], "nothing is inferred from them"


async def test_the_real_sdk(tmp_path: Path) -> None:
    def policy(dialogue: Dialogue) -> Answer:
        raise AssertionError("no policy is asked")

    async with ScriptedProvider(policy) as app, gateway(tmp_path, app.url, upstream_key="sk-up") as running:
        session = (await running.api("POST", "/api/sessions", {})).json()
        async with openai.AsyncOpenAI(base_url=session["base_url"], api_key=session["api_key"]) as client:
            # The SDK asks for base64 unless it is told otherwise.
            packed = await client.embeddings.create(model="tiny", input=["a", "b"])
            plainly = await client.embeddings.create(model="tiny", input=["a", "b"], encoding_format="float")
        assert [one.embedding for one in packed.data] == pytest.approx(
            [pytest.approx(one.embedding, rel=1e-6) for one in plainly.data]
        )
        assert len((await running.trajectory(session["id"]))["turns"]) == 2 and not app.refusals


async def test_an_error_is_the_upstreams(tmp_path: Path) -> None:
    body = {"error": {"message": "no such model", "type": "x", "param": None, "code": None}}
    async with upstream(plain(body, 404)) as app, gateway(tmp_path, app) as running:
        answer = await running.http.post(f"{running.data}/s/s/v1/embeddings", json={"input": "a"})
        assert answer.status_code == 404 and answer.json() == body
        (turn,) = (await running.trajectory("s"))["turns"]
        assert (turn["error"]["type"], turn["fitness"]) == ("status_404", "nothing_sampled")
