"""Whatever the control plane is given: refused in words that say what to mend, or kept and shown."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import Running, gateway, upstream

JSON = {"content-type": "application/json"}
HALF = "half an emoji \ud83d"


async def test_texts_that_utf8_cannot_say_are_shown_as_they_are(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        put = await running.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE})
        assert put.is_success
        asked = json.dumps({"profile": "flaky", "labels": {"note": HALF}})
        made = await running.http.post(f"{running.control}/api/sessions", content=asked, headers=JSON)
        session = made.json()["id"]
        rewarded = await running.http.post(
            f"{running.control}/api/sessions/{session}/reward",
            content=json.dumps({"reward": 1.0, "components": {"why": HALF}}),
            headers=JSON,
        )
        assert rewarded.is_success
        said = {
            "role": "user",
            "content": f"Find the cheapest flight to London and book a seat, please: {HALF}",
        }
        raw = json.dumps({"model": "tiny", "messages": [said]}).encode()
        assert (await running.chat(raw, session)).is_success
        listed = await running.sessions()
        assert [one["labels"]["note"] for one in listed] == [HALF]
        assert (await running.api("GET", f"/api/sessions/{session}")).json()["labels"] == {"note": HALF}
        events = (await running.api("GET", f"/api/sessions/{session}/events")).json()["events"]
        assert any(HALF[-1] in json.dumps(event, ensure_ascii=False) for event in events)
        found = (await running.api("GET", f"/api/sessions/{session}/trajectory")).json()
        assert found["events"] == events
        assert found["session"]["reward_components"] == {"why": HALF}
        assert json.loads(found["turns"][0]["received"]) == json.loads(raw)
    report = ["report", "--out", f"{tmp_path}/report.html"]
    for command, says in ((["replay", session], ""), (report, "no drop in success to tell: ")):
        full = [
            sys.executable,
            "-m",
            "crosswind.gateway.cli",
            *command,
            "--store",
            f"sqlite:///{tmp_path}/store.db",
        ]
        told = await asyncio.to_thread(subprocess.run, full, capture_output=True, text=True)
        assert told.returncode == 0 and told.stderr.startswith(says) and told.stderr.count("\n") == bool(says)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_numbers_that_json_does_not_have_are_refused_and_the_store_is_not_blamed(
    running: Running, number: str
) -> None:

    async def post(path: str, body: str) -> httpx.Response:
        return await running.http.post(running.control + path, content=body, headers=JSON)

    refused = await post("/api/sessions", f'{{"labels": {{"cost": {number}}}}}')
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "labels")
    session = (await running.api("POST", "/api/sessions", {})).json()["id"]
    reward = f"/api/sessions/{session}/reward"
    refused = await post(reward, f'{{"reward": 1, "components": {{"parts": [{number}]}}}}')
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "components")
    assert (await post(reward, f'{{"reward": {number}}}')).status_code == 400
    assert running.gateway.recorder.state().refused == 0


@pytest.mark.parametrize("headers", [{"host": "[::1"}, {"origin": "http://[::1"}])
async def test_an_address_that_is_none_is_nobodys(running: Running, headers: dict[str, str]) -> None:
    refused = await running.http.get(f"{running.control}/api/sessions", headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


async def test_of_sessions_that_bring_one_key_at_the_same_moment_one_stays_open(running: Running) -> None:
    key = {"api_key": f"cw-{'k' * 32}"}
    opened = await asyncio.gather(*(running.api("POST", "/api/sessions", key) for _ in range(8)))
    assert [one.status_code for one in opened] == [201] * 8
    listed = (await running.api("GET", "/api/sessions")).json()["sessions"]
    assert sorted(one["status"] for one in listed) == ["closed"] * 7 + ["open"]


async def test_a_response_that_nobody_can_have_got_is_asked_for_at_the_upstream(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, profile="noisyagent") as running:
        raw = json.dumps({"model": "tiny", "input": "Go on.", "previous_response_id": HALF}).encode()
        asked = await running.http.post(f"{running.data}/v1/responses", content=raw, headers=JSON)
        assert asked.is_success and app.requests[0].json["previous_response_id"] == HALF
        call = {"id": HALF, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        history = [
            {"role": "user", "content": "Look it up, please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": HALF, "content": "It is there."},
        ]
        raw = json.dumps({"model": "tiny", "messages": history}).encode()
        assert (await running.chat(raw)).is_success and (await running.chat(raw)).is_success
