"""Observations in users' messages, live in each protocol: the policy sees their noise, and the audit that
they say what they said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import plain
from tests.gateway import dialogue
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import Running, answer, gateway, upstream
from tests.studies.audit.stores import broken, tamper

PROMPT = (
    "Your task is: put the mug into the sink, W17.\n"
    "Prior observation: You are in the kitchen. You see a lamp 1."
    "\nCurrent observation: You open the drawer 2.\nAdmissible actions are: go to sink 1"
)
MARK = r"observation: (.*)"
PROFILE = f"""\
name: rooms
rules:
  - {{operator: state.irrelevant, severity: 0.2, where: {{observation: '{MARK}'}}}}
  - {{operator: user.redundant, severity: 1}}
  - {{operator: user.typos, severity: 0.5}}
"""


async def _chat(running: Running) -> Any:
    return await running.chat(dialogue.body(dialogue.user(PROMPT)), "s")


async def _messages(running: Running) -> Any:
    return await messages.post(running, messages.body(messages.user(PROMPT)), "s")


async def _responses(running: Running) -> Any:
    return await responses.post(running, responses.body(PROMPT), "s")


@pytest.mark.parametrize(
    "post,reply",
    [
        (_chat, answer("go to sink 1")),
        (_messages, messages.MESSAGE | {"content": [{"type": "text", "text": "go to sink 1"}]}),
        (_responses, responses.response(1, responses.said("go to sink 1"))),
    ],
    ids=["chat", "messages", "responses"],
)
async def test_noise_on_observations_holds_live(
    tmp_path: Path, post: Callable[[Running], Awaitable[Any]], reply: dict[str, Any]
) -> None:
    async with upstream(plain(reply)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        assert (await post(running)).status_code == 200
        events = (await running.trajectory("s"))["events"]
        sent = app.requests[0].body.decode()
    assert [one["operator"] for one in events][:1] == ["state.irrelevant"] and len(events) == 3
    assert "W17" in sent and "go to sink 1" in sent
    added = next(one for one in events if one["operator"] == "state.irrelevant")
    assert len(added["after"]) > len(PROMPT) + 300
    assert await asyncio.to_thread(broken, tmp_path) == []


@pytest.mark.parametrize(
    "tampering",
    [
        "after = replace(after, 'drawer 2', 'shelf 2')",
        "after = replace(after, 'W17', 'W18')",
        "after = after || ', go to sink 2'",
        "after = 'Well. ' || after",
        "after = replace(after, 'Admissible', 'Possible')",
    ],
)
async def test_an_observation_that_lost_what_it_said_is_caught(tmp_path: Path, tampering: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await _chat(running)
        await running.flush()
    tamper(tmp_path, f"UPDATE event SET {tampering} WHERE operator = 'state.irrelevant'")
    found = await asyncio.to_thread(broken, tmp_path)
    assert "observations" in {one["guarantee"] for one in found}, found
