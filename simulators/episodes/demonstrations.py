"""Demonstrations: clean episodes that the scripted oracle plays in this process, as JSON lines to imitate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Environment, Episode, Message, Oracle, Verdict, equip

MAX_TURNS = 24


class OracleFailedError(RuntimeError):
    """The oracle failed a task: the environment or the oracle is broken."""


def play(
    episode: Episode, oracle: Oracle, instructions: str, max_turns: int = MAX_TURNS
) -> tuple[list[Message], Verdict]:
    """One episode played by the oracle, with its messages and its verdict."""
    messages: list[Message] = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": episode.opening},
    ]
    for _ in range(max_turns):
        message = oracle.decide(messages)
        messages.append(message)
        for call in message.get("tool_calls", ()):
            result = episode.call(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if "tool_calls" not in message:
            reply = episode.reply(message["content"])
            if reply is None:
                break
            messages.append({"role": "user", "content": reply})
    verdict = episode.verify()
    episode.close()
    return messages, verdict


def demonstrations(
    environment: Environment, split: str, kinds: str, count: int, seed: int
) -> Iterator[dict[str, Any]]:
    """`count` demonstrations {task_id, kind, tools, messages}; the same arguments give the same ones."""
    oracle = environment.oracle()
    for task in islice(environment.tasks(split, kinds=kinds, seed=seed), count):
        episode = environment.reset(task, stable_seed("demonstration", seed, task.id))
        equipment = equip(environment, episode)
        messages, verdict = play(episode, oracle, equipment.instructions)
        if verdict.reward != 1.0:
            raise OracleFailedError(f"the oracle failed {task.id} ({task.kind}): {dict(verdict.components)}")
        yield {"task_id": task.id, "kind": task.kind, "tools": list(equipment.tools), "messages": messages}


def write(path: Path, lines: Iterator[dict[str, Any]]) -> int:
    """Write the demonstrations as JSON lines, whole or not at all; gives how many."""
    partial = path.with_name(path.name + ".partial")
    count = 0
    with partial.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    partial.replace(path)
    return count
