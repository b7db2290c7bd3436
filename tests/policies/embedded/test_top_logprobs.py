"""The likeliest tokens at each place, as the embedded engine tells them and the gateway records them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.servers import gateway
from tests.policies.asking import CAPTURED, ask
from tests.policies.conftest import Served
from tests.policies.rollouts import STREAMED, open_rollout

ASKED: dict[str, Any] = {
    "model": "policy",
    "messages": [{"role": "user", "content": "What of order #W1234?"}],
    "max_tokens": 6,
    "seed": 3,
}


def _content(served: Served, **more: Any) -> tuple[list[int], list[int], list[dict[str, Any]]]:
    """The prompt, the sampled ids and the log-probabilities' objects."""
    answer = ask(served.url, ASKED | CAPTURED | more)
    choice = answer["choices"][0]
    return answer["prompt_token_ids"], choice["token_ids"], choice["logprobs"]["content"]


def test_they_are_the_likeliest_by_the_engines_own_scores(served: Served) -> None:
    prompt, ids, content = _content(served, top_logprobs=3, return_tokens_as_token_ids=True)
    assert [entry["token"] for entry in content] == [f"token_id:{token}" for token in ids]
    vocabulary = range(0, 300)
    for place, entry in enumerate(content):
        top = {int(one["token"].removeprefix("token_id:")): one["logprob"] for one in entry["top_logprobs"]}
        assert len(top) == 3 and list(top.values()) == sorted(top.values(), reverse=True)
        before = prompt + ids[:place]
        others = [token for token in vocabulary if token not in top][:8]
        scored = served.client.score([before] * (3 + len(others)), [[token] for token in (*top, *others)])
        values = [row[0] for row in scored.logprobs]
        assert values[:3] == pytest.approx(list(top.values()), abs=1e-4)
        assert max(values[3:]) <= values[2] + 1e-4
        assert entry["logprob"] <= values[0] + 1e-4


def test_they_are_named_by_their_texts_unless_asked_otherwise(served: Served) -> None:
    _, _, named = _content(served, top_logprobs=2)
    assert not any("token_id" in one["token"] for entry in named for one in entry["top_logprobs"])
    alone = [entry["logprob"] for entry in _content(served)[2]]
    assert [entry["logprob"] for entry in named] == pytest.approx(alone, abs=1e-5)
    assert not any(entry["top_logprobs"] for entry in _content(served)[2])


@STREAMED
async def test_the_gateway_records_them(tmp_path: Path, served: Served, stream: bool) -> None:
    async with gateway(tmp_path, served.url, capture_top=3) as running:
        session = await open_rollout(running)
        given = await running.chat(ASKED | {"stream": stream}, session)
        assert given.status_code == 200 and "token_id" not in given.text
        (turn,) = (await running.trajectory(session))["turns"]
    assert turn["fitness"] == "fit" and turn["entropy"]["estimate"] == "top_k"
    (completion,) = turn["completions"]
    _, ids, content = _content(served, top_logprobs=3, return_tokens_as_token_ids=True)
    assert completion["token_ids"] == ids
    recorded = [[f"token_id:{token}" for token, _ in place] for place in completion["top_logprobs"]]
    assert recorded == [[one["token"] for one in entry["top_logprobs"]] for entry in content]
    assert json.loads(turn["sent"])["top_logprobs"] == 3
