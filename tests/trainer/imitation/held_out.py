"""A policy on held-out tasks, all episodes in lockstep in this process: the engine's batch, the injectors'
noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from crosswind.injectors.engine.decision import KnownText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan, Seed, make_plan
from crosswind.injectors.profiles.load import load as load_profile
from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.choice import CompletionChoice
from crosswind.policies.embedded.request import read_request
from crosswind.policies.embedded.sampling import stream_key
from crosswind.policies.embedded.sequence import Sequence
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import load as load_environment
from crosswind.trainer.imitation.variants import view

MAX_TURNS = 10
MAX_TOKENS = 32


@dataclass
class Play:
    """One episode under way. `hit` says whether any text was really changed."""

    episode: Any
    plan: Plan | None
    messages: list[Any]
    key: str
    known: dict[str, KnownText] = field(default_factory=dict)
    hit: bool = False
    over: bool = False

    def seen(self) -> list[Any]:
        """The messages as the policy is shown them."""
        shown = list(self.messages)
        if self.plan is not None:
            noise = perturb_messages(self.plan, view(self.messages), self.known)
            self.known |= {new.item.anchor: KnownText(new.text, new.decisions) for new in noise.new}
            for ref, text in noise.replacements.items():
                shown[ref.message] = {**shown[ref.message], "content": text}
                self.hit = True
        return shown

    def take(self, message: dict[str, Any]) -> None:
        """Carry out what the policy said."""
        self.messages.append(message)
        for call in message.get("tool_calls", ()):
            result = self.episode.call(call["function"]["name"], call["function"]["arguments"])
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if "tool_calls" not in message:
            reply = self.episode.reply(message["content"] or "")
            self.over = reply is None
            self.messages.append({"role": "user", "content": reply})


def success(directory: Path, arm: str, tasks: int) -> list[tuple[bool, float]]:
    """For each of the first held-out practice tasks, at temperature 1: whether noise hit, and the reward.

    `arm` is `clean` or a noise type, at the profile's own level.
    """
    environment = load_environment("retail")
    chat = ChatFormat(directory)
    batch = DecodeBatch(read_checkpoint(directory), BatchLimits(rows=tasks))
    plays = []
    for task in islice(environment.tasks("test", kinds="practice", seed=1), tasks):
        episode = environment.reset(task, stable_seed("held-out", task.id))
        system = {"role": "system", "content": environment.instructions}
        user = {"role": "user", "content": episode.opening}
        plays.append(Play(episode, _plan(arm, task.id), [system, user], task.id))
    for _ in range(MAX_TURNS):
        _take_turn([play for play in plays if not play.over], chat, batch, list(environment.tools))
    return [(play.hit, play.episode.verify().reward) for play in plays]


def _plan(arm: str, key: str) -> Plan | None:
    if arm == "clean":
        return None
    profile = load_profile("noisyagent")
    return make_plan(profile, Seed(1, key), Assignment(NOISY, noise_type=arm))


def _take_turn(plays: list[Play], chat: ChatFormat, batch: DecodeBatch, tools: list[Any]) -> None:
    choices = []
    for play in plays:
        prompt = chat.prompt_ids(play.seen(), tools)
        key = stream_key(play.key, len(play.messages))
        sequence = Sequence(prompt, MAX_TOKENS, 1.0, key, frozenset({chat.end}))
        request = read_request({"messages": play.messages[:1]})
        choices.append(CompletionChoice(0, request, chat, sequence, f"call_{len(play.messages)}_"))
    batch.waiting.extend(choice.sequence for choice in choices)
    with torch.inference_mode():
        while batch.waiting or batch.running:
            batch.step()
    for play, choice in zip(plays, choices, strict=True):
        choice.advance()
        chat.remember(choice.sequence.prompt, choice.sequence.tokens, choice.message())
        play.take(choice.message())
