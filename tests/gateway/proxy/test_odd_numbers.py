"""Numbers in answers that no record's columns can hold: the answer goes to the client as it came, the turn is
recorded all the same, and its text tells the number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import DONE, chunks, plain
from tests.gateway.servers import answer, gateway, upstream

GREAT = 10**30
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


def likely(**entry: Any) -> dict[str, Any]:
    told = {"token": "token_id:7", "logprob": -1.0} | entry
    return {
        "token_ids": [1],
        "logprobs": {"content": [{"token": "t", "logprob": -1, "top_logprobs": [told]}]},
    }


def tokens(*names: str) -> dict[str, Any]:
    top = [{"token": name, "logprob": -1.0} for name in names]
    return {"token_ids": [1], "logprobs": {"content": [{"token": "t", "logprob": -1, "top_logprobs": top}]}}


CHOICES: dict[str, dict[str, Any]] = {
    "index": {"index": GREAT},
    "index below 0": {"index": -GREAT},
    "token ids": {"token_ids": [GREAT]},
    "token ids of 64 bits": {"token_ids": [2**40]},
    "token ids that are none": {"token_ids": ["a", None, 1.5]},
    "a log-probability": {
        "token_ids": [1],
        "logprobs": {"content": [{"token": "t", "logprob": 10**400, "top_logprobs": []}]},
    },
    "a likely token's": likely(logprob=-1e300),
    "a likely token": likely(token=f"token_id:{GREAT}"),
    "a likely token of many digits": likely(token="token_id:" + "9" * 5000),
    "many likely tokens": tokens(*(f"token_id:{one}" for one in range(300))),
    "versions": {"token_ids": [1], "weight_versions": [{"version": "v", "start": 0, "end": GREAT}]},
}
ANSWERS = {
    **{name: answer(choices=[answer()["choices"][0] | one]) for name, one in CHOICES.items()},
    "usage": answer(usage={"prompt_tokens": GREAT, "completion_tokens": 10**400}),
    "created": answer(created=GREAT),
    "the prompt's ids": answer(prompt_token_ids=[GREAT]),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_turn_with_them_is_recorded(tmp_path: Path, name: str, stream: bool) -> None:
    came = {"prompt_token_ids": [1, 2], **ANSWERS[name]}
    body = json.dumps(came).encode()
    if stream:
        [choice] = came["choices"]
        delta = {"delta": choice["message"]} | {key: one for key, one in choice.items() if key != "message"}
        body = json.dumps(came | {"choices": [delta]}).encode()
    reply = chunks(b"data: " + body + b"\n\n", DONE) if stream else plain(body)
    async with upstream(reply) as app, gateway(tmp_path, app) as running:
        got = await running.chat(BODY | {"stream": stream}, "new")
        assert got.status_code == 200 and body in got.content
        (turn,) = (await running.trajectory("new"))["turns"]
        assert turn["fitness"] != "fit" and turn["durable"] == "yes"
        assert json.loads(turn["produced"])["choices"][0]["message"]["content"] == "hello"
        if name.startswith("index"):
            assert json.loads(turn["produced"])["choices"][0]["index"] in (GREAT, -GREAT)
        assert len(turn["completions"]) == (0 if name.startswith("index") else 1)
