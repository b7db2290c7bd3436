"""What noise made vague in a user's message is given back when it is asked for, through a real gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.client import AsyncClient
from crosswind.simulators.environment import Episode, Task, load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job, Record
from crosswind.simulators.episodes.runner import EpisodeRunner
from crosswind.testing import ScriptedProvider, answer_messages
from tests.gateway.servers import gateway

RETAIL = load("retail")
VAGUE = "name: vague\nrules: [{operator: user.ambiguous, severity: 1.0}]\n"


class Silent:
    """The shop, whose users tell nothing but their wish: only who knows what noise withheld can answer."""

    def __getattr__(self, name: str) -> Any:
        return getattr(RETAIL, name)

    def reset(self, task: Task, seed: int) -> Episode:
        episode: Any = RETAIL.reset(task, seed)
        heard = episode.reply

        def reply(text: str) -> None:
            heard(text)

        episode.reply = reply
        return episode  # type: ignore[no-any-return]


async def play(tmp_path: Path, environment: Any, count: int) -> tuple[list[Record], list[dict[str, Any]]]:
    """Episodes with the oracle under vague users: their records and trajectories."""
    records, told = [], []
    async with (
        ScriptedProvider(answer_messages(RETAIL.oracle().decide), strict=False) as policy,
        gateway(tmp_path, policy, noise=VAGUE) as running,
        AsyncClient(running.control) as client,
    ):
        agent = ToolAgent(RETAIL, AgentSettings())
        runner = EpisodeRunner(environment, agent, client)
        for seed, task in zip(range(count), RETAIL.tasks("test", kinds="status", seed=5), strict=False):
            job = Job(task, seed, ("asked", seed), {"arm": "noisy", "seed": seed})
            record = await runner.run(job)
            assert record.session_id is not None, record.error
            records.append(record)
            told.append(await client.trajectory(record.session_id))
        await runner.close()
    return records, told


def said_by_user(trajectory: dict[str, Any]) -> list[str]:
    """What the agent sent on as the user's words."""
    sent = json.loads(trajectory["turns"][-1]["received"])["messages"]
    return [one["content"] for one in sent if one["role"] == "user"]


@pytest.mark.parametrize("environment", [RETAIL, Silent()], ids=["shop", "silent"])
async def test_what_noise_withheld_is_given_back_in_the_words_that_it_drew(
    tmp_path: Path, environment: Any
) -> None:
    records, told = await play(tmp_path, environment, 6)
    revealed = set()
    for record, trajectory in zip(records, told, strict=True):
        assert record.verdict is not None and record.verdict.reward == 1.0
        (event,) = (one for one in trajectory["events"] if one["after"] is not None)
        (order,) = event["draw"]["withheld"]
        opening, *answers = said_by_user(trajectory)
        assert order in opening and order not in event["after"]
        assert answers == [event["draw"]["reveal"]], "once, and not in the episode's words besides"
        revealed.add(answers[0].replace(order, ""))
    assert len(revealed) > 2, "in many ways"
