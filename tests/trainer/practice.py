"""What the trainer's tests practise on: a tiny random policy, and groups that it really sampled, in a real
store.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import torch

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import (
    Arm,
    Completion,
    Reward,
    Row,
    Session,
    SessionClosed,
    Turn,
    VersionSpan,
)
from crosswind.gateway.trajectory.store import Store
from crosswind.policies.tiny.directory import write_policy
from crosswind.policies.tiny.model import Shape, initial_weights
from crosswind.policies.tiny.tokenizer import train_tokenizer
from crosswind.policies.versions.version import PolicyVersion, Registry, write_metadata
from crosswind.trainer.config.settings import TrainConfig, configure
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.rollouts.batches import Sample, collate
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.run.progress import Progress
from crosswind.trainer.run.run import Run

FIRST = "first"
"""The version that `write_tiny_policy` writes."""
CLOCK = count(1_700_000_000_000_000, 1_000)
NOISE = ("tool.timeout", "user.typos")


def write_tiny_policy(directory: Path, seed: int = 0) -> Path:
    """A policy directory with random weights and a few hundred tokens, of the architecture that the demo
    serves.
    """
    tokenizer = train_tokenizer(["What is the status of order 17?"], vocabulary=512)
    shape = Shape(
        tokenizer.get_vocab_size(),
        hidden=16,
        layers=2,
        heads=2,
        kv_heads=1,
        head=8,
        feed_forward=32,
        context=128,
    )
    directory.mkdir(parents=True)
    write_policy(directory, shape, initial_weights(shape, seed), tokenizer)
    write_metadata(PolicyVersion(FIRST, directory, kind="pretrained"))
    return directory


def chain(*segments: Sequence[int]) -> Chain | None:
    """Prompt token ids as the gateway stores them."""
    node: Chain | None = None
    for segment in segments:
        node = Chain(node, array("i", segment).tobytes())
    return node


def sample(policy: Policy, prompt: Sequence[int], length: int, rng: random.Random) -> Completion:
    """Let the policy sample `length` tokens at temperature 1, with their log-probabilities."""
    tokens, logprobs = list(prompt), []
    for _ in range(length):
        with torch.no_grad():
            logits = policy.module(input_ids=torch.tensor([tokens])).logits[0, -1]
        scores = torch.log_softmax(logits, dim=-1)
        token = rng.choices(range(len(scores)), scores.exp().tolist())[0]
        tokens.append(token)
        logprobs.append(float(scores[token]))
    return Completion(0, tuple(tokens[len(prompt) :]), tuple(logprobs), "stop")


def turn(session_id: str, index: int, prompt: Sequence[int], completion: Completion, **fields: Any) -> Turn:
    """A fit turn, whole by one version unless its completion says otherwise."""
    given: dict[str, Any] = {
        "created_us": next(CLOCK),
        "parent": index - 1 if index else None,
        "fitness": Fitness.FIT,
        "policy_first": FIRST,
        "policy_last": FIRST,
        "sent": View.plain(b'{"model": "policy", "temperature": 1.0}'),
        "prompt_ids": chain(prompt),
        "completions": (completion,),
        "finish_reason": "stop",
    }
    return Turn(session_id, index, **(given | fields))


def session(group: str, index: int, size: int, **fields: Any) -> Session:
    """An open session of a group; noisy ones carry a noise type by their index."""
    arm = fields.pop("arm", Arm.CLEAN)
    plan: dict[str, Any] = {"profile": "noisyagent", "arm": str(arm), "level": 1, "noise_type": None}
    if arm is Arm.NOISY:
        plan["noise_type"] = NOISE[index % len(NOISE)]
    given: dict[str, Any] = {
        "created_us": next(CLOCK),
        "plan": plan,
        "arm": arm,
        "task_id": group,
        "group_id": group,
        "group_size": size,
        "rollout_index": index,
        "labels": {"purpose": "train"},
    }
    return Session(f"{group}-{index}", **(given | fields))


def play_groups(store: Store, policy: Policy, numbers: Iterable[int], **how: Any) -> None:
    """Play groups of four, named `g0`, `g1` and so on."""
    for number in numbers:
        play(store, policy, f"g{number}", 4, **how)


def play(
    store: Store,
    policy: Policy,
    group: str,
    size: int,
    *,
    reward: Callable[[Sequence[Completion]], float] = lambda done: done[0].token_ids[0] % 5 / 4,
    seed: int = 0,
    turns: int = 2,
    tokens: int = 3,
    version: str = FIRST,
    noisy: int = 0,
    alone: bool = False,
) -> None:
    """Play a group: the policy samples every rollout, the last `noisy` of them in the noisy arm; close and
    reward it, by the first token that was sampled unless told otherwise. `alone`: they are in no group.
    """
    rng = random.Random(f"{seed}-{group}")
    question = [rng.randrange(10, 200) for _ in range(6)]
    for index in range(size):
        arm = Arm.NOISY if index >= size - noisy else Arm.CLEAN
        nowhere = {"group_id": None, "group_size": None, "rollout_index": None} if alone else {}
        opened = session(group, index, size, arm=arm, **nowhere)
        rows: list[Row] = [opened]
        completions: list[Completion] = []
        prompt = list(question)
        for number in range(turns):
            sampled = sample(policy, prompt, tokens, rng)
            spans = (VersionSpan(version, 0, len(sampled.token_ids)),)
            completions.append(replace(sampled, versions=spans))
            made = turn(opened.id, number, prompt, completions[-1], policy_first=version, policy_last=version)
            rows.append(made)
            prompt += [*sampled.token_ids, rng.randrange(10, 200), rng.randrange(10, 200)]
        rows.append(Reward(opened.id, next(CLOCK), reward(completions)))
        rows.append(SessionClosed(opened.id, next(CLOCK)))
        store.write(rows)


def as_sample(policy: Policy, tokens: Sequence[int], sampled: Sequence[int], advantage: float) -> Sample:
    """One sequence as a sample, with the policy's own log-probabilities as the engine's."""
    one = TokenSequence(list(tokens), list(sampled), [0.0] * len(sampled), [True] * len(sampled))
    with torch.no_grad():
        one.logprobs = policy.score(collate([Sample(RolloutSequences((one,), 0), 0.0)]), 1.0)[0].tolist()
    return Sample(RolloutSequences((one,), 0), advantage)


def settings(**changes: Any) -> TrainConfig:
    """The demo's settings, cut down to groups of the tests' size; `a__b` stands for `a.b`."""
    small: dict[str, Any] = {
        "groups_per_step": 2,
        "group_size": 4,
        "max_sequence": 128,
        "poll_seconds": 0.001,
        "wait_seconds": 0.5,
        "probe_rollouts": 3,
        "staleness": 10,
        "optimiser.warmup_steps": 0,
        "optimiser.data_reuse": 1,
    }
    return configure("demo", small | {name.replace("__", "."): value for name, value in changes.items()})


def make_run(out: Path, policy: Path, store: Store, config: TrainConfig, **fields: Any) -> Run:
    """A run named `run`, that says nothing unless it is given a progress."""
    given: dict[str, Any] = {"progress": Progress(as_json=True, stream=StringIO())}
    return Run(config, "run", policy, out, Registry(out / "versions"), store, **(given | fields))
