"""The same seed gives the same noise in the gateway, in another process, in a preview and in a replay."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from crosswind.gateway.trajectory.store import open_store
from crosswind.simulators.environment import load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.testing import ScriptedProvider, answer_messages
from tests.loop.children import Children
from tests.loop.replaying import compared

RETAIL = load("retail")
SEED = "5"
ENDED = "Withheld: another fault had ended the exchange."
"""What neither a preview nor a replay can know: how an exchange went on."""
SESSION = "preview"
"""The session's name, by which its draws are keyed: the one that a preview takes."""

OPERATORS = {
    "user.typos": 0.5,
    "user.redundant": 0.8,
    "user.boundary_probing": 0.9,
    "user.topic_drift": 0.9,
    "schema.paraphrase_tool": 0.6,
    "schema.duplicate_no_description": 0.4,
    "schema.redundant_tool": 0.3,
    "schema.misleading_time": 0.4,
    "schema.reorder": 0.5,
    "tool.timeout": 0.3,
    "tool.incomplete": 0.3,
    "tool.numeric_noise": 0.3,
    "tool.misleading": 0.4,
    "tool.redundant": 0.2,
    "state.irrelevant": 0.2,
    "model.overloaded": 0.3,
    "transport.latency": 0.01,
    "transport.duplicated_delivery": 0.4,
}
PROFILE = "name: many\nbounds: {faults_per_call: 2, faults_per_session: 100}\nrules:\n" + "".join(
    f"  - {{operator: {name}, severity: {severity}}}\n" for name, severity in OPERATORS.items()
)


async def test_the_same_seed_gives_the_same_noise_everywhere(children: Children, tmp_path: Path) -> None:
    profile = tmp_path / "many.yaml"
    profile.write_text(PROFILE)
    stores = [tmp_path / f"{name}.db" for name in ("one", "another", "other-seed")]
    async with ScriptedProvider(answer_messages(RETAIL.oracle(verifies=True).decide), strict=False) as policy:
        for number, (store, seed) in enumerate(zip(stores, (SEED, SEED, "6"), strict=True)):
            gateway = children.gateway(
                policy.url,
                store,
                *("--profile", str(profile), "--seed", seed),
                environment={"PYTHONHASHSEED": str(number)},
            )
            await _played(f"{gateway.data}/s/{SESSION}/v1")
            assert gateway.child.stop() == 0, gateway.child.said
    first, another, other_seed = map(_recorded, stores)
    acted = {event["operator"] for event in first.values()}
    assert len(acted) >= 14 and len(first) >= 40, "too little noise to prove anything"
    assert another == first, "another process"
    assert other_seed != first, "the seed decides"
    previewed = _previewed(children, profile, stores[0], tmp_path / "talk.json")
    foreseeable = {slot: told for slot, told in first.items() if told["note"] != ENDED}
    assert previewed.keys() == first.keys() and {slot: previewed[slot] for slot in foreseeable} == foreseeable
    replayed = zip(_replayed(children, stores[0]), _events(stores[0]), strict=True)
    pairs = [(again, event) for again, event in replayed if event["note"] != ENDED]
    assert all(again == event for again, event in pairs), "a replay of the store"


async def _played(base_url: str) -> None:
    """An episode with many reads, on the SDK, which retries by itself."""
    task = next(RETAIL.tasks("test", kinds="spending", seed=2))
    episode = RETAIL.reset(task, 0)
    agent = ToolAgent(RETAIL, AgentSettings(max_turns=40))
    try:
        async with AsyncOpenAI(base_url=base_url, api_key="any", max_retries=3) as client:
            played = await agent.play(client, episode, (1,))
        assert played.error is None and episode.verify().reward == 1.0
    finally:
        episode.close()


def _events(path: Path) -> list[dict[str, Any]]:
    with closing(open_store(f"sqlite:///{path}", create=False)) as store:
        return [compared(event) for event in store.events(SESSION)]


def _recorded(path: Path) -> dict[str, dict[str, Any]]:
    """What first attempts met, by slot, as a preview can know it."""
    return {event["slot"]: _told(event) for event in _events(path) if event["attempt"] == 0}


def _told(event: dict[str, Any]) -> dict[str, Any]:
    names = ("operator", "site", "anchor", "logical_call", "severity", "draw", "recovery", "before", "note")
    after = event["after"]
    if event["site"] in ("transport", "model_response") and after is not None:
        after = json.loads(after)
    return {name: event[name] for name in names} | {"after": after}


def _previewed(children: Children, profile: Path, store: Path, talk: Path) -> dict[str, dict[str, Any]]:
    """`crosswind noise preview` of the conversation as the agent had it, in a process of its own."""
    with closing(open_store(f"sqlite:///{store}", create=False)) as opened:
        last = opened.turns(SESSION)[-1]
    assert last.received is not None
    body = json.loads(last.received.bytes())
    messages = [*body["messages"], {"role": "assistant", "content": "That is all."}]
    talk.write_text(json.dumps({"messages": messages, "tools": body["tools"]}))
    given = ("noise", "preview", "--json", "--profile", str(profile), "--seed", SEED, str(talk))
    said = children.run(*given, environment={"PYTHONHASHSEED": "3"})
    lines = [json.loads(line) for line in said.splitlines()]
    return {line["decision"]["slot"]: _told({**line, **line["decision"]}) for line in lines}


def _replayed(children: Children, store: Path) -> list[dict[str, Any]]:
    said = children.run(
        f"sqlite:///{store}",
        command=(sys.executable, "-m", "tests.loop.replaying"),
        environment={"PYTHONHASHSEED": "4"},
    )
    return [event for line in said.splitlines() for event in json.loads(line)["events"]]
