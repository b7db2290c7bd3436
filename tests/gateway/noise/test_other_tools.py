"""Names that noise makes are none that a tool of another kind has: providers refuse those, and calls by them
would be mapped back, or answered inside.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import plain
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile, tool
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import Running, answer, gateway, upstream

FUNCTION = tool()["function"]
QUESTION = {"role": "user", "content": "What did ACME order?"}
OPERATORS = [ABBREVIATED, *(f"schema.{one}" for one in ("misleading_time", "bloat", "duplicate_description"))]


async def chat(running: Running, app: ScriptedProvider, session: str, others: list[str]) -> list[str]:
    app.steps[:] = [plain(answer())]
    tools = [*({"type": "custom", "custom": {"name": one}} for one in others), tool()]
    await running.chat({"model": "tiny", "messages": [QUESTION], "tools": tools}, session)
    return [one[one["type"]]["name"] for one in app.requests[-1].json["tools"]]


async def of_messages(running: Running, app: ScriptedProvider, session: str, others: list[str]) -> list[str]:
    app.steps[:] = [plain(messages.MESSAGE)]
    named = {"name": TOOL, "description": FUNCTION["description"]}
    tools = [
        *({"type": "bash_20250124", "name": one} for one in others),
        {**named, "input_schema": FUNCTION["parameters"]},
    ]
    await messages.post(running, messages.body(QUESTION, tools=tools), session)
    return [one["name"] for one in app.requests[-1].json["tools"]]


async def of_responses(running: Running, app: ScriptedProvider, session: str, others: list[str]) -> list[str]:
    app.steps[:] = [plain(responses.RESPONSE)]
    tools = [*({"type": "custom", "name": one} for one in others), {"type": "function", **FUNCTION}]
    await responses.post(running, {"model": "m", "input": [QUESTION], "tools": tools}, session)
    return [one["name"] for one in app.requests[-1].json["tools"]]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("ask", [chat, of_messages, of_responses])
async def test_noise_leaves_the_names_of_other_tools_alone(tmp_path: Path, ask: Any, operator: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=profile(operator)) as running:
        made = await ask(running, app, "one", [])
        others = sorted({*made} - {TOOL})
        for session in ("one", "two"):  # They come later, or are there from the start.
            names = await ask(running, app, session, others)
            functions = [name for name in names if name not in others]
            assert sorted(name for name in names if name in others) == others, "each is there once"
            assert functions, "and so is the function"


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("ask", [chat, of_messages, of_responses])
async def test_previews_and_checks_know_them_too(tmp_path: Path, ask: Any, operator: str) -> None:
    path, talk = tmp_path / "closed.yaml", tmp_path / "preview"
    path.write_text(profile(operator))
    async with upstream() as app, gateway(tmp_path, app, profile=str(path), seed=5) as running:
        others = sorted({*await ask(running, app, "free", [])} - {TOOL})
        await ask(running, app, "preview", others)
        met = await running.trajectory("preview")
    talk.write_text(met["turns"][0]["received"])
    shown = await asyncio.to_thread(noise, "preview", "--json", "--profile", path, "--seed", 5, talk)
    told = [json.loads(line)["after"] for line in shown.splitlines()]
    assert told == [one["after"] for one in met["events"]]
    for target in (talk, f"sqlite:///{tmp_path}/store.db"):
        checked = await asyncio.to_thread(
            noise, "check", path, target, "--seed", 5, "--seeds", 1, "--sessions", 1, "--json"
        )
        [counted] = json.loads(checked)["operators"]
        assert counted["injected"] == sum(one is not None for one in told), target
        assert counted["withheld"] == sum(one is None for one in told), target


def noise(*arguments: Any) -> str:
    result = CliRunner().invoke(root, ["noise", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout
