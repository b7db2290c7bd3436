"""Conversations over the wire in Messages and Responses: noise stays put, and answers are recorded."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import chunks, plain
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import gateway, upstream

ANSWERS = {"messages": messages.MESSAGE, "responses": responses.RESPONSE}
PROTOCOLS = pytest.mark.parametrize("wire", [messages, responses], ids=ANSWERS)


@PROTOCOLS
async def test_noise_stays_put_and_changes_texts_alone(tmp_path: Path, wire: Any) -> None:
    async with upstream(plain({})) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for turn in range(1, 6):
            assert (await wire.post(running, wire.body_after(turn), "s")).status_code == 200
    for before, after in pairwise(app.requests):
        shown = before.body.partition(b'], "tools"' if wire is messages else b'], "instructions"')[0]
        assert after.body.startswith(shown), "each request begins with the messages of the one before"
    clean, sent = wire.body_after(5), app.requests[-1].body
    changes = list(zip(wire.texts(json.loads(sent)), wire.texts(clean), strict=True))
    # The user's texts and the first result of each logical call are touched, in parallel calls too; the
    # repeated call gets the truth.
    assert [new != old for new, old in changes] == [True, True, False, True, True, True, True]
    for new, old in changes:
        sent = sent.replace(json.dumps(new, ensure_ascii=False).encode(), json.dumps(old).encode(), 1)
    assert sent == json.dumps(clean).encode()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "wire,told",
    [
        (messages, ("messages", "claude-1", "msg_1", "tool_use")),
        (responses, ("responses", "m-1", "resp_1", "completed")),
    ],
    ids=ANSWERS,
)
async def test_what_the_policy_answered_is_recorded(
    tmp_path: Path, wire: Any, told: Any, streamed: bool
) -> None:
    answer = ANSWERS[told[0]]
    reply = chunks(*wire.STREAM) if streamed else plain(answer)
    async with upstream(reply) as app, gateway(tmp_path, app, capture="on") as running:
        asked = wire.body_after(1, stream=streamed)
        await wire.post(running, asked, "s")
        (turn,) = (await running.trajectory("s"))["turns"]
        assert json.loads(turn["produced"]) == answer and turn["usage"] == wire.USAGE
        assert tuple(turn[name] for name in ("protocol", "model", "response_id", "finish_reason")) == told
        assert (turn["fitness"], turn["error"]) == ("engine_no_tokens", None)
        assert app.requests[0].json == asked


@pytest.mark.parametrize(
    "wire,error",
    [
        (messages, {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}),
        (responses, {"type": "error", "sequence_number": 3, "code": "overloaded", "message": "Busy"}),
    ],
    ids=ANSWERS,
)
async def test_an_error_in_a_stream_is_the_upstreams(tmp_path: Path, wire: Any, error: Any) -> None:
    parts = [*wire.STREAM[:3], wire.event(error)]
    async with upstream(chunks(*parts)) as app, gateway(tmp_path, app) as running:
        assert (await wire.post(running, wire.body_after(1, stream=True), "s")).content == b"".join(parts)
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["fitness"] == "upstream_error"
        assert turn["error"] == {"source": "upstream", "type": "error_in_stream", "message": "Busy"}
