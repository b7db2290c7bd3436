"""A model plays the user behind the gateway, and noise tells it how to talk before the task begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from crosswind.injectors.operators.user.simulated_user.behaviours import KINDS
from crosswind.injectors.operators.user.simulated_user.interaction_pattern import OBJECTIVES
from crosswind.simulators.environment import load
from tests.simulators.commands.test_through_gateway import gateway, sessions_of, succeed
from tests.simulators.episodes.customer import ROLE, customer

RETAIL = load("retail")
TASKS = 10


def both(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The upstream of all models: whose turn it is, the system prompt tells."""
    if str(messages[0]["content"]).startswith(ROLE):
        return customer(messages)
    return RETAIL.oracle().decide(messages)


async def played(control: str, *given: str, model: str | None = "customer") -> dict[str, Any]:
    """Bench the oracle; the command's last line. Without a model the users are scripted."""
    options = ("--tasks", str(TASKS), "--kinds", "practice", "--json-progress")
    players = () if model is None else ("--user-model", model)
    out = await succeed("bench", "--control", control, *options, *players, *given)
    last: dict[str, Any] = json.loads(out.splitlines()[-1])
    return last


async def trajectories(control: str, run: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The agent's and the user's trajectory of each episode of a run."""
    sessions = await sessions_of(control)
    users = {one["labels"]["beside"]: one["id"] for one in sessions if one["labels"].get("role")}
    agents = [one["id"] for one in sessions if one["labels"].get("run") == run]
    async with httpx.AsyncClient(trust_env=False) as client:

        async def trajectory(session: str) -> dict[str, Any]:
            found = await client.get(f"{control}/api/sessions/{session}/trajectory")
            document: dict[str, Any] = found.json()
            return document

        return [(await trajectory(agent), await trajectory(users[agent])) for agent in agents]


def messages(turn: dict[str, Any], view: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(turn[view])["messages"]
    return found


async def test_a_models_instructions_are_rewritten_and_the_task_stays_solvable(tmp_path: Path) -> None:
    noisy = ("--user-profile", "noisyagent/interaction-pattern", "--run", "noisy")
    async with gateway(tmp_path, both) as control:
        calm = await played(control, "--user-profile", "off", "--run", "calm")
        difficult = await played(control, *noisy)
        told = await trajectories(control, "noisy")
        plain = await trajectories(control, "calm")
    assert calm["arms"]["clean"]["success"] == difficult["arms"]["clean"]["success"] == 1.0
    assert len(told) == len(plain) == TASKS

    seen = set()
    for agent, user in told:
        (event,) = (one for one in user["events"] if one["after"] is not None)
        assert event["operator"] == "user.interaction_pattern"
        seen.update(event["draw"]["kinds"])
        for turn in user["turns"]:
            clean, shown = (messages(turn, view)[0]["content"] for view in ("received", "sent"))
            assert shown.startswith(clean) and shown.endswith(OBJECTIVES) and shown == event["after"]
        said = messages(agent["turns"][0], "received")[1]["content"]
        assert said == customer(messages(user["turns"][0], "sent"))["content"]
        assert agent["session"]["status"] == user["session"]["status"] == "closed"
    assert len(seen) >= 4 and seen <= {*KINDS}, "several patterns were drawn"
    assert not any(user["events"] for _, user in plain)

    # Who is vague has to be asked: the agent needs more turns than in calm.
    vague = [agent for agent, user in told if "ambiguous" in user["events"][0]["draw"]["kinds"]]
    turns = {agent["session"]["task_id"]: len(agent["turns"]) for agent, _ in plain}
    longer = [len(agent["turns"]) - turns[agent["session"]["task_id"]] for agent in vague]
    assert vague and min(longer) >= 0 and max(longer) > 0
