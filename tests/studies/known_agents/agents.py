"""Agents whose scores can be computed by hand. Each is a model behind the gateway: its name in requests says
which agent answers, in which sample, and in which episode.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.simulators.environment import Environment, Episode, Task, unblocked
from crosswind.testing.dialogue import Answer, Dialogue, read_answer

Messages = Sequence[Mapping[str, Any]]

APOLOGY = "I can't go on without that."
THOUGHTS = "Let me think about this for a while before I go on with it."
WORDS = len(THOUGHTS.split())


class KnownAgents:
    """
    - `perfect` solves every task, and recovers from every fault;
    - `no-retry` does so too, and gives up at the first result that isn't the tool's own;
    - `gullible` takes every result for the truth;
    - `verbose` is perfect, and says the same words before each call;
    - `dead` never says anything;
    - `lucky` is perfect in even samples, and dead in odd ones;
    - `slow` never answers in time.
    """

    def __init__(self, environment: Environment) -> None:
        self._perfect = environment.oracle(verifies=True)
        self._hasty = environment.oracle()
        self._gullible = environment.oracle(recovers=False)
        self.told: defaultdict[str, list[str]] = defaultdict(list)
        """By the model's name in requests, what the tools of its episode have answered."""
        self.over = asyncio.Event()
        """Set it to let the slow agent answer, so that nobody waits for it at the end."""

    async def decide(self, dialogue: Dialogue) -> Answer:
        model = str(dialogue.body["model"])
        name, sample, _ = model.split("/", 2)
        messages, tools = dialogue.body["messages"], dialogue.body.get("tools") or []
        if name == "dead" or (name == "lucky" and int(sample) % 2):
            return Answer("")
        if name == "slow":
            await self.over.wait()
        if name == "no-retry" and self._is_lost(model, messages):
            return Answer(APOLOGY)
        oracle = {"gullible": self._gullible, "no-retry": self._hasty}.get(name, self._perfect)
        answer = read_answer(await unblocked(oracle.decide, messages, tools))
        return Answer(THOUGHTS, answer.calls) if name == "verbose" and answer.calls else answer

    def _is_lost(self, model: str, messages: Messages) -> bool:
        """Whether something that a tool said isn't shown. Tools that only noise has may have said more."""
        shown = iter([str(one["content"]) for one in messages if one["role"] == "tool"])
        return not all(any(keeps(result, true) for result in shown) for true in self.told[model])


def keeps(shown: str, true: str) -> bool:
    """Whether what is shown has all that is true, and perhaps more."""
    if true in shown:
        return True
    try:
        return holds(json.loads(shown), json.loads(true))
    except ValueError:
        return False


def holds(shown: Any, true: Any) -> bool:
    if isinstance(true, dict) and isinstance(shown, dict):
        return all(name in shown and holds(shown[name], value) for name, value in true.items())
    if isinstance(true, list) and isinstance(shown, list):
        return all(any(holds(one, value) for one in shown) for value in true)
    return bool(shown == true)


class Overheard:
    """An environment of which the agents' results are kept, under the model's name."""

    def __init__(self, environment: Environment, told: list[str]) -> None:
        self._environment = environment
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def reset(self, task: Task, seed: int) -> OverheardEpisode:
        return OverheardEpisode(self._environment.reset(task, seed), self._told)


class OverheardEpisode:
    """One of its episodes."""

    def __init__(self, episode: Episode, told: list[str]) -> None:
        self._episode = episode
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._episode, name)

    def call(self, name: str, arguments: str) -> str:
        result = self._episode.call(name, arguments)
        self._told.append(result)
        return result
