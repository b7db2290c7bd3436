"""A simulated user's instructions are rewritten before the task begins, in every protocol, and stay so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crosswind.injectors.operators.user.simulated_user.interaction_pattern import HEADINGS, OBJECTIVES
from crosswind.testing.replies import ReceivedRequest, plain
from tests.gateway.dialogue import body, user
from tests.gateway.noise_model.writer import configured, prompts, writer
from tests.gateway.servers import Running, gateway, upstream
from tests.studies.replay.test_replay import replayed

TOLD = (
    "You are Mia, a customer. You want the status of order #W2378156. You know your e-mail: mia@example.com."
)
PROFILE = """\
name: difficult-users
rules:
  - {operator: user.interaction_pattern, severity: 1.0, options: {kind: ambiguous}}
"""


def system(text: str = TOLD) -> dict[str, Any]:
    return {"role": "system", "content": text}


def told(seen: ReceivedRequest) -> str:
    text = seen.json["messages"][0]["content"]
    assert isinstance(text, str)
    return text


async def test_they_are_rewritten_once_and_stay_so_after_a_restart_and_in_a_replay(tmp_path: Path) -> None:
    opening = [system(), user("How can I help you?")]
    later = [*opening, {"role": "assistant", "content": "Where is my order?"}, user("Which one?")]
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(body(*opening), "u")
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(body(*later), "u")
            stored = await running.trajectory("u")
    first, second = map(told, app.requests)
    assert first == second and first.startswith(TOLD)
    assert any(heading in first for heading in HEADINGS) and first.endswith(OBJECTIVES)
    assert app.requests[0].texts()[1:] == ["How can I help you?"]
    (event,) = stored["events"]
    assert (event["operator"], event["site"]) == ("user.interaction_pattern", "instructions")
    assert (event["before"], event["after"]) == (TOLD, first)
    replay = await replayed(tmp_path, "u", "--json")
    assert [turn["outcome"] for turn in json.loads(replay.stdout)["turns"]] == ["same", "same"]


async def test_messages_and_responses_have_theirs_apart_and_clients_get_their_own_back(
    tmp_path: Path,
) -> None:
    said = {"role": "user", "content": "How can I help you?"}
    blocks = [{"type": "text", "text": TOLD, "cache_control": {"type": "ephemeral"}}]
    bodies = {
        "messages": {"model": "m", "max_tokens": 9, "system": TOLD, "messages": [said]},
        "messages?blocks": {"model": "m", "max_tokens": 9, "system": blocks, "messages": [said]},
        "responses": {"model": "m", "instructions": TOLD, "input": [said]},
        "responses?developer": {"model": "m", "input": [{"role": "developer", "content": TOLD}, said]},
    }
    echo = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [],
        "instructions": "noisy",
    }
    async with upstream(plain(echo)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for number, (path, sent) in enumerate(bodies.items()):
            answer = await post(running, f"/s/{number}/v1/{path}", sent)
            if path == "responses":
                assert answer["instructions"] == TOLD
    message, parts, response, developer = (seen.json for seen in app.requests)
    for text in (
        message["system"],
        parts["system"][0]["text"],
        response["instructions"],
        developer["input"][0]["content"],
    ):
        assert text.startswith(TOLD) and text.endswith(OBJECTIVES)
    assert parts["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert developer["input"][1] == said


async def post(running: Running, path: str, sent: dict[str, Any]) -> dict[str, Any]:
    answer = await running.http.post(running.data + path, json=sent)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_the_kill_switch_gives_the_user_its_own_instructions_back(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(body(system(), user("Hello")), "u")
        await running.api("PUT", "/api/noise", {"enabled": False})
        await running.chat(body(system(), user("Hello"), {"role": "assistant", "content": "hello"}), "u")
    assert told(app.requests[0]) != TOLD == told(app.requests[1])


async def test_a_request_without_instructions_and_other_noise_are_left_alone(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(body(user("Hello")), "u")
        await running.chat(body(system("  "), user("Hello")), "v")
    assert [seen.texts() for seen in app.requests] == [["Hello"], ["  ", "Hello"]]


async def test_a_model_may_write_the_pattern_and_the_objective_stays(tmp_path: Path) -> None:
    pattern = "You mumble about 'that parcel' and hope that nobody asks which one."
    async with (
        writer(pattern) as scribe,
        upstream() as app,
        gateway(tmp_path, app, noise=PROFILE, noise_model=configured(scribe)) as running,
    ):
        await running.chat(body(system(), user("Hello")), "u")
    assert told(app.requests[0]).startswith(TOLD)
    assert pattern in told(app.requests[0]) and told(app.requests[0]).endswith(OBJECTIVES)
    assert prompts(scribe)[0][1] == TOLD
