"""Agents whose scores can be computed by hand. Each is a model behind the gateway: its name in requests says
which agent answers, and in which sample.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.simulators.environment import Environment, unblocked
from crosswind.testing.dialogue import Answer, Dialogue, read_answer

Messages = Sequence[Mapping[str, Any]]

FAILED = "timed out"
"""What results say of the fault that agents meet here."""
APOLOGY = "I can't go on without that."
THOUGHTS = "Let me think about this for a while before I go on with it."
WORDS = len(THOUGHTS.split())


class KnownAgents:
    """
    - `perfect` solves every task, and recovers from every fault;
    - `no-retry` does so too, and gives up at the first result that failed;
    - `gullible` takes every result for the truth;
    - `verbose` is perfect, and says the same words before each call;
    - `dead` never says anything;
    - `lucky` is perfect in even samples, and dead in odd ones;
    - `slow` never answers in time.
    """

    def __init__(self, environment: Environment) -> None:
        self._perfect = environment.oracle()
        self._gullible = environment.oracle(recovers=False)
        self.over = asyncio.Event()
        """Set it to let the slow agent answer, so that nobody waits for it at the end."""

    async def decide(self, dialogue: Dialogue) -> Answer:
        name, _, sample = str(dialogue.body["model"]).partition("/")
        messages, tools = dialogue.body["messages"], dialogue.body.get("tools") or []
        if name == "dead" or (name == "lucky" and int(sample) % 2):
            return Answer("")
        if name == "slow":
            await self.over.wait()
        if name == "no-retry" and messages[-1]["role"] == "tool" and FAILED in str(messages[-1]["content"]):
            return Answer(APOLOGY)
        oracle = self._gullible if name == "gullible" else self._perfect
        answer = read_answer(await unblocked(oracle.decide, messages, tools))
        return Answer(THOUGHTS, answer.calls) if name == "verbose" and answer.calls else answer
