"""The warm-up: one pass over demonstrations, in small batches, until the policy's loss is low."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import orjson
import torch

from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.tiny.directory import TEMPLATE, write_policy
from crosswind.policies.tiny.model import Qwen3, Shape, initial_weights
from crosswind.policies.tiny.template import ChatTemplate
from crosswind.policies.tiny.tokenizer import END_OF_TURN, PAD, train_tokenizer
from crosswind.policies.versions.version import PolicyVersion, Registry, read_version
from crosswind.trainer.imitation.examples import (
    Demonstration,
    ExampleBatch,
    TokenExample,
    batch,
    example,
    texts,
)
from crosswind.trainer.imitation.variants import Shares, make_variant
from crosswind.trainer.learning.model import load
from crosswind.trainer.objectives.imitation import imitation

CURVE_STEP = 10
"""Steps that one point of the recorded loss curve is the mean of."""


class DemonstrationsError(Exception):
    """The demonstrations file can't be used. The message names the line and the fix."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn. Small batches and a high rate: copying clicks after a number of steps, not of tokens."""

    batch: int = 8
    steps: int = 2000
    """The cap, and where the linear decay of the learning rate would end."""
    learning_rate: float = 2e-3
    floor: float = 0.05
    """Share of the learning rate that is left at the cap."""
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    stop_loss: float = 0.01
    """Stop when the policy's loss, smoothed over the last `window` steps, is below."""
    window: int = 50


@dataclass(slots=True)
class WarmupResult:
    """How it went: the policy's mean loss per token (nats) at each step, and why it ended."""

    losses: list[float] = field(default_factory=list)
    tokens: int = 0
    reached: bool = False
    """Whether the loss fell below the recipe's; else the cap or the demonstrations ended it."""


Forward = Callable[[ExampleBatch], torch.Tensor]
"""The logits after each of a batch's inputs: [batch, length, vocabulary]."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a warm-up begins with."""

    parameters: Sequence[torch.Tensor]
    forward: Forward
    chat: ChatFormat
    pad: int
    """A token id to pad with: it never counts."""
    write: Callable[[Path], None]
    """Fills a directory with the policy as it is then."""
    parent: str | None = None
    """The version that it is; None: random weights."""


def begin_tiny(shown: Sequence[Demonstration], seed: int) -> Start:
    """A small policy of random weights, with a tokenizer that is learnt from the demonstrations."""
    tokenizer = train_tokenizer(texts(ChatTemplate(TEMPLATE.read_text(), {"eos_token": END_OF_TURN}), shown))
    shape = Shape(tokenizer.get_vocab_size())
    model = Qwen3(shape, initial_weights(shape, seed))

    def write(directory: Path) -> None:
        write_policy(directory, shape, model.weights(), tokenizer)

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        chat = ChatFormat(Path(folder))
    return Start(
        list(model.parameters()), partial(forward_tiny, model), chat, tokenizer.token_to_id(PAD), write
    )


def begin_with(directory: Path) -> Start:
    """A policy of any architecture, with its own tokenizer and template. Raises VersionError, ModelError."""
    version, policy, chat = read_version(directory), load(directory), ChatFormat(directory)

    def forward(shown: ExampleBatch) -> torch.Tensor:
        prefix = shown.prefix.expand(len(shown.inputs), -1)
        inputs = torch.cat([prefix, shown.inputs], dim=1)  # padded behind, where no target counts
        logits: torch.Tensor = policy.module(input_ids=inputs, use_cache=False).logits
        return logits[:, prefix.shape[1] :]

    return Start(policy.trainable_parameters(), forward, chat, chat.end, policy.write, version.version)


def forward_tiny(model: Qwen3, shown: ExampleBatch) -> torch.Tensor:
    return model(shown.inputs, shown.prefix)


def learn(
    start: Start,
    examples: Iterable[TokenExample],
    recipe: Recipe,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> WarmupResult:
    """Train the policy in place on the examples in their order. Repeatable on one thread."""
    parameters = start.parameters
    optimiser = torch.optim.AdamW(
        parameters, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    learnt = WarmupResult()
    for step, group in enumerate(islice(_take_batches(examples, recipe.batch), recipe.steps)):
        optimiser.param_groups[0]["lr"] = learning_rate(recipe, step)
        shown = batch(group, start.pad)
        outcome = imitation(start.forward(shown), shown.targets, shown.weights)
        optimiser.zero_grad()
        outcome.loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
        optimiser.step()
        learnt.losses.append(outcome.policy_loss)
        learnt.tokens += shown.inputs.numel() + len(shown.prefix)
        progress(step, outcome.policy_loss)
        recent = learnt.losses[-recipe.window :]
        if len(recent) == recipe.window and sum(recent) / recipe.window < recipe.stop_loss:
            learnt.reached = True
            break
    return learnt


def learning_rate(recipe: Recipe, step: int) -> float:
    """The learning rate of a step: linear from the whole down to the floor's share at the cap."""
    return recipe.learning_rate * max(recipe.floor, 1.0 - step / recipe.steps)


def _take_batches(examples: Iterable[TokenExample], size: int) -> Iterator[list[TokenExample]]:
    stream = iter(examples)
    while group := list(islice(stream, size)):
        yield group


def read_demonstrations(path: Path, shares: Shares, seed: int) -> list[Demonstration]:
    """The file's demonstrations, each as its variant; the same file, shares and seed give the same ones."""
    found = []
    with path.open("rb") as lines:
        for index, line in enumerate(lines):
            try:
                raw = orjson.loads(line)
                messages = make_variant(raw["messages"], shares, seed=seed, index=index)
                found.append(Demonstration(raw["tools"], messages))
            except (ValueError, KeyError, TypeError) as error:
                what = f"{path}:{index + 1}: not a demonstration ({type(error).__name__}: {error})"
                raise DemonstrationsError(f"{what}; write it with `crosswind rollout demonstrate`") from None
    if not found:
        raise DemonstrationsError(
            f"{path}: holds no demonstrations; write it with `crosswind rollout demonstrate`"
        )
    return found


def warm_up(
    demonstrations: Path,
    out: Path,
    *,
    policy: Path | None,
    seed: int,
    shares: Shares,
    recipe: Recipe,
    command: str,
    progress: Callable[[int, float], None],
) -> tuple[PolicyVersion, WarmupResult]:
    """Learn from the demonstrations and write the policy to `out`, whole or not at all: the one at `policy`,
    or a small one, with its tokenizer, from random weights.

    `command` is recorded, so that a reader can make the same policy again. One torch thread, so that it is
    the same.
    """
    torch.set_num_threads(1)
    started = time.process_time()
    shown = read_demonstrations(demonstrations, shares, seed)
    start = begin_tiny(shown, seed) if policy is None else begin_with(policy)
    learnt = learn(start, examples(start.chat, shown), recipe, progress)
    metrics = {
        "command": command,
        "seed": seed,
        "demonstrations": _digest(demonstrations),
        "demonstrations_count": len(shown),
        "shares": shares.as_dict(),
        "recipe": asdict(recipe),
        "steps": len(learnt.losses),
        "reached": learnt.reached,
        "tokens": learnt.tokens,
        "cpu_seconds": round(time.process_time() - started, 1),
        "loss_curve": curve(learnt.losses),
    }
    version = Registry(out.parent).add(
        out.name,
        start.write,
        parent=start.parent,
        run="imitation",
        metrics=metrics,
    )
    return version, learnt


def examples(chat: ChatFormat, shown: list[Demonstration]) -> Iterator[TokenExample]:
    """The demonstrations, tokenised as they are needed."""
    return (example(chat, one) for one in shown)


def curve(losses: list[float]) -> list[float]:
    """Means over every CURVE_STEP steps."""
    groups = (losses[at : at + CURVE_STEP] for at in range(0, len(losses), CURVE_STEP))
    return [round(sum(group) / len(group), 6) for group in groups]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
