"""Live traffic teaches: `openai`'s client as it is, sessions without groups, and rewards that come late."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from itertools import islice
from pathlib import Path

import openai
import pytest

from crosswind.gateway.client import AsyncClient
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import equip, load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from tests.loop.children import Children, Gateway

SESSIONS = 1500
LATE = 96
"""A session's reward comes when so many others have ended since, at the earliest."""
AT_ONCE = 32
SECONDS = 1200.0
NOISE = """
name: tool-noise
compose: one_of
levels: [0.0, 0.15, 0.3, 0.45, 0.6, 0.75]
level: 4
bounds: {faults_per_call: 1, faults_per_session: 10}
rules: [{operator: tool.timeout}, {operator: tool.incomplete}, {operator: tool.misleading}]
"""
SETTINGS = (
    "optimiser.learning_rate=5e-5",
    "optimiser.mini_batches=2",
    "optimiser.weight_decay=0",
    "loss.kl=0.02",
    "staleness=8",
)


@pytest.mark.slow
def test_success_under_tool_noise_rises_by_ten_points_in_1500_sessions(
    children: Children, tmp_path: Path
) -> None:
    noise = tmp_path / "tool-noise.yaml"
    noise.write_text(NOISE)
    engine = children.engine()
    gateway = children.gateway(
        *(engine, tmp_path / "s.db", "--capture", "on", "--profile", str(noise)),
        environment={"CROSSWIND_DOSE__SHARE": "0.8"},
    )
    measure(children, gateway, noise, tmp_path / "before.json")
    trainer = children.start(
        *(
            "train",
            "run",
            "--preset",
            "live",
            "--policy",
            "retail",
            "--label",
            "purpose=live",
            "--wait",
            "60",
        ),
        *("--store", f"sqlite:///{gateway.store}", "--out", str(tmp_path / "train"), "--engine", engine),
        *("--control", gateway.control, "--steps", "1000", "--json-progress"),
        *(part for one in SETTINGS for part in ("--set", one)),
    )
    trainer.until(lambda: "waiting for groups" in trainer.said)
    asyncio.run(lead_traffic(gateway))
    assert trainer.process.wait(SECONDS) == 1 and "no session without a group completed" in trainer.said
    measure(children, gateway, noise, tmp_path / "after.json")
    compared = tmp_path / "compared.json"
    files = (str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    children.run("bench", "--compare", *files, "--json", str(compared))
    arms = json.loads(compared.read_text())["arms"]
    assert arms["noisy"]["difference"] >= 0.1 and arms["noisy"]["low"] > 0, arms
    assert arms["clean"]["high"] > -0.05, arms


def measure(children: Children, gateway: Gateway, noise: Path, out: Path) -> None:
    children.run(
        *("bench", "--control", gateway.control, "--tasks", "192", "--rotate", "--profile", str(noise)),
        *("--level", "4", "--concurrency", "64", "--json", str(out)),
        timeout_s=SECONDS,
    )


async def lead_traffic(gateway: Gateway) -> None:
    """An application with many visits: it opens a session for each, and rewards them later, all at once."""
    retail = load("retail")
    agent = ToolAgent(retail, AgentSettings())
    visits = enumerate(islice(retail.tasks("train", kinds="practice", seed=0), SESSIONS))
    classes = dict(equip(retail).tool_classes)
    owed: deque[tuple[str, float]] = deque()
    model = openai.AsyncOpenAI(base_url="http://127.0.0.1/v1", api_key="given-per-session")

    async def pay(control: AsyncClient, left: int) -> None:
        while len(owed) > left:
            session, reward = owed.popleft()
            await control.reward(session, reward)
            await control.close(session)

    async def visit(control: AsyncClient) -> None:
        for number, task in visits:
            labels = {"purpose": "live"}
            opened = await control.open_session(task_id=task.id, labels=labels, tool_classes=classes)
            episode = retail.reset(task, stable_seed("live", number))
            client = model.with_options(base_url=opened.base_url, api_key=opened.api_key)
            await agent.play(client, episode, ("live", number))
            owed.append((opened.id, episode.verify().reward))
            if len(owed) >= LATE + 64:
                await pay(control, LATE)

    async with AsyncClient(gateway.control) as control, model:
        await asyncio.gather(*(visit(control) for _ in range(AT_ONCE)))
        await pay(control, 0)
