"""The warm-up: one pass over demonstrations, in small batches, until the policy's loss is low."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import orjson
import torch

from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.tiny.directory import TEMPLATE, write_policy
from crosswind.policies.tiny.model import Qwen3, Shape, initial_weights
from crosswind.policies.tiny.template import ChatTemplate
from crosswind.policies.tiny.tokenizer import END_OF_TURN, PAD, train_tokenizer
from crosswind.policies.versions.version import PolicyVersion, Registry
from crosswind.trainer.imitation.examples import Demonstration, TokenExample, batch, example, texts
from crosswind.trainer.imitation.variants import Shares, make_variant
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


def learn(
    model: Qwen3,
    examples: Iterable[TokenExample],
    recipe: Recipe,
    pad: int,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> WarmupResult:
    """Train the model in place on the examples in their order. Repeatable on one thread."""
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(
        parameters, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    learnt = WarmupResult()
    for step, group in enumerate(islice(_take_batches(examples, recipe.batch), recipe.steps)):
        optimiser.param_groups[0]["lr"] = learning_rate(recipe, step)
        shown = batch(group, pad)
        outcome = imitation(model(shown.inputs, shown.prefix), shown.targets, shown.weights)
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
    seed: int,
    shares: Shares,
    recipe: Recipe,
    command: str,
    progress: Callable[[int, float], None],
) -> tuple[PolicyVersion, WarmupResult]:
    """Learn a tokenizer and a policy from the demonstrations and write them to `out`, whole or not at all.

    `command` is recorded, so that a reader can make the same policy again. One torch thread, so that it is
    the same.
    """
    torch.set_num_threads(1)
    started = time.process_time()
    shown = read_demonstrations(demonstrations, shares, seed)
    tokenizer = train_tokenizer(texts(ChatTemplate(TEMPLATE.read_text(), {"eos_token": END_OF_TURN}), shown))
    shape = Shape(tokenizer.get_vocab_size())
    model = Qwen3(shape, initial_weights(shape, seed))
    with tempfile.TemporaryDirectory() as folder:
        write_policy(Path(folder), shape, model.weights(), tokenizer)
        chat = ChatFormat(Path(folder))
    learnt = learn(model, examples(chat, shown), recipe, tokenizer.token_to_id(PAD), progress)
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
        lambda directory: write_policy(directory, shape, model.weights(), tokenizer),
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
