"""Memory of one step on rollouts of 8 k and 32 k tokens: `python -m benchmarks.trainer.lengths`.

A Qwen3 shape with random weights; each row is a process of its own. Gradients are held against those of one
rollout at a time.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from benchmarks.trainer.contestant import read_kb
from crosswind.trainer.learning import model
from crosswind.trainer.objectives.objective import LossScale, ObjectiveSettings, SampledTokens, resolve
from crosswind.trainer.rollouts.batches import Sample, micro_batches
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.rollouts.trees import ROWS, Sharing

LENGTHS = (32_768, 8192, 8192, 8192)
COMMON = 2048
BUDGET = 32_768
LOSS = ObjectiveSettings(clip_low=0.02, clip_high=0.02)


@dataclass(frozen=True, slots=True)
class Case:
    """How a pass is taken."""

    name: str
    sharing: Sharing = ROWS
    checkpointing: bool = True
    token_budget: int = BUDGET


CASES = (
    Case("one rollout at a time", token_budget=1),
    Case("packed"),
    Case("packed, prefixes shared", sharing=Sharing(branches=True, width=100_000)),
    Case("packed, without checkpointing", checkpointing=False),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a pass cost."""

    micro_batches: int
    cpu_s: float
    growth_mb: float
    """The peak above what was resident with the model loaded."""
    gradient_difference: float
    """Largest absolute one to the first case's."""


def main() -> None:
    """Print a row for each case."""
    print(f"rollouts of {', '.join(map(str, LENGTHS))} tokens, the first {COMMON} in common")
    print("| | micro-batches | CPU, s | peak growth, MB | gradient off by |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder))
        for number, case in enumerate(CASES):
            command = [sys.executable, "-m", "benchmarks.trainer.lengths", folder, str(number)]
            cost = Cost(**orjson.loads(subprocess.run(command, capture_output=True, check=True).stdout))
            measured = f"{cost.cpu_s:.1f} | {cost.growth_mb:.0f} | {cost.gradient_difference:.1e}"
            print(f"| {case.name} | {cost.micro_batches} | {measured} |", flush=True)


def measure(folder: Path, case: Case) -> Cost:
    """One case. The first one leaves its gradients in the folder."""
    torch.set_num_threads(1)
    policy = model.load(folder / "model")
    if case.checkpointing:
        policy.checkpoint_activations()
    batches = micro_batches(draw_rollouts(), case.token_budget, sharing=case.sharing)
    loaded, began = read_kb("VmRSS"), time.process_time()
    for batch in batches:
        logprobs, _ = policy.score(batch, 1.0)
        tokens = SampledTokens(
            logprobs, logprobs.detach(), batch.engine, batch.rollout, batch.advantages, None
        )
        resolve("gspo")(tokens, LOSS, LossScale(len(LENGTHS), 1000)).loss.backward()
    cpu = time.process_time() - began
    growth = (read_kb("VmHWM") - loaded) / 1024
    gradients = {name: one.grad for name, one in policy.module.named_parameters()}
    first = folder / "gradients.pt"
    if case is CASES[0]:
        torch.save(gradients, first)
    off = max(float((gradients[name] - one).abs().max()) for name, one in torch.load(first).items())
    return Cost(len(batches), cpu, growth, off)


def make_model(folder: Path) -> None:
    """Save a model of two layers in the folder."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 40_960}
    Qwen3ForCausalLM(Qwen3Config(vocab_size=512, **sizes, **heads)).save_pretrained(folder / "model")


def draw_rollouts() -> list[Sample]:
    """One rollout of each length; the policy sampled each eighth of its tokens."""
    rng = random.Random(3)
    prompt = [rng.randrange(512) for _ in range(COMMON)]
    samples = []
    for number, length in enumerate(LENGTHS):
        ids = prompt + [rng.randrange(512) for _ in range(length - COMMON)]
        sampled = list(range(COMMON, length, 8))
        one = TokenSequence(ids, sampled, [-6.0] * len(sampled), [True] * len(sampled))
        samples.append(Sample(RolloutSequences((one,), 0), (-1.0) ** number))
    return samples


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        said = measure(Path(sys.argv[1]), CASES[int(sys.argv[2])])
        print(orjson.dumps(asdict(said)).decode())
