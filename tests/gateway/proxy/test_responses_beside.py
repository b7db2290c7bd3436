"""Requests that go on from a response and are no turns, such as one that counts its tokens: they name what
the provider knows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer, Call, ScriptedProvider, script
from crosswind.testing.replies import plain
from tests.gateway.agents import LinkedAgent, calling
from tests.gateway.proxy.faulty import KEPT, RESPONSES, call_responses, profile
from tests.gateway.proxy.test_stored_responses import NOISY, QUESTION
from tests.gateway.servers import Running, gateway, upstream

ROUTES = pytest.mark.parametrize("route", ["input_tokens", "compact"])


async def about(running: Running, route: str, body: Any, session: str | None = None) -> Any:
    base = running.data if session is None else f"{running.data}/s/{session}"
    key = {"authorization": "Bearer sk-client", "content-type": "application/json"}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await running.http.post(f"{base}/v1/responses/{route}", content=raw, headers=key)


@ROUTES
@pytest.mark.parametrize("calls", [(1,), (1, 0)], ids=["inside", "along with a real one"])
@pytest.mark.parametrize("session", [None, "one"])
async def test_they_go_on_from_the_last_round(
    tmp_path: Path, route: str, calls: tuple[int, ...], session: str | None
) -> None:
    policy = script(calling(*calls), *([calling(0)] if calls == (1,) else []))
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, noise=NOISY) as running,
        LinkedAgent(running) as agent,
    ):
        first = await agent.ask(QUESTION)
    kept = list(app.stored.responses.values())[-1].response
    [call] = first.calls
    result = {"type": "function_call_output", "call_id": call.id, "output": "2"}
    shown = app.bodies("/v1/responses")[0]["input"][0]
    compacted = {"object": "response.compaction", "output": [shown, {"type": "compaction", "id": "cmp_1"}]}
    async with upstream(plain(compacted)) as other, gateway(tmp_path, other, noise=NOISY) as running:
        asked = {"previous_response_id": first.id, "model": "m", "input": [result]}
        told = await about(running, route, asked, session)
        [seen] = other.requests
    assert seen.path == f"/v1/responses/{route}"
    assert seen.json["previous_response_id"] == kept["id"]
    assert (kept["id"] == first.id) == (calls == (1, 0))
    made = {one["call_id"] for one in kept["output"] if one["type"] == "function_call"}
    assert {one["call_id"] for one in seen.json["input"]} == made, "each call has its result"
    assert seen.json["input"][-1] == result
    assert shown["content"] != QUESTION
    assert told.json()["output"] == [shown | {"content": QUESTION}, compacted["output"][1]]


@ROUTES
async def test_what_is_not_ours_keeps_its_bytes(tmp_path: Path, route: str) -> None:
    bodies = [b'{ "input": "x", "previous_response_id": "resp_9" }', b'{"input": "x" }', b"[1, ", b""]
    async with (
        upstream(plain(b'{ "input_tokens": 9 }')) as app,
        gateway(tmp_path, app, noise=NOISY) as running,
    ):
        for body in bodies:
            told = await about(running, route, body, "s")
            assert (told.content, app.requests[-1].body) == (b'{ "input_tokens": 9 }', body)


@ROUTES
@pytest.mark.parametrize("linked", [True, False], ids=["by id", "whole history"])
async def test_they_name_calls_by_the_ids_that_the_policy_gave(
    tmp_path: Path, route: str, linked: bool
) -> None:
    """Noise gave two calls one id. A client that compacts names the response, or gives all its items."""
    policy = script(Answer(None, (Call("get_order", {"id": "W1"}), Call("get_order", {"id": "W2"}))))
    faults = profile("model.duplicated_call_id", tmp_path)
    async with ScriptedProvider(policy) as app, gateway(tmp_path, app.url, profile=faults) as running:
        asked = {"model": "m", "input": KEPT, "tools": RESPONSES.tools}
        made = await call_responses(running, asked)
        kept = list(app.stored.responses.values())[-1].response
    calls = RESPONSES.read(made).calls
    results = [{"type": "function_call_output", "call_id": one, "output": "2"} for one, _, _ in calls]
    assert len({one for one, _, _ in calls}) == 1
    history = [*KEPT, *made["output"], *results]
    body = {"previous_response_id": made["id"], "input": results} if linked else {"input": history}
    async with upstream(plain(b"{}")) as other, gateway(tmp_path, other, profile=faults) as running:
        await about(running, route, {"model": "m", **body}, "one")
        [seen] = other.requests
    true = [one["call_id"] for one in kept["output"] if one["type"] == "function_call"]
    assert len(set(true)) == 2
    named: dict[str, list[str]] = {"function_call": [], "function_call_output": []}
    for item in seen.json["input"]:
        if item.get("type") in named:
            named[item["type"]].append(item["call_id"])
    assert named == {"function_call": [] if linked else true, "function_call_output": true}
