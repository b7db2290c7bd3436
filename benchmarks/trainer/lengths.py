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
from pathlib import Path
from typing import Any

import orjson

LENGTHS = (32_768, 8192, 8192, 8192)
COMMON = 2048
BUDGET = 32_768
CASES = [
    ("one rollout at a time", "rows", True, 1),
    ("packed", "rows", True, BUDGET),
    ("packed, prefixes shared", "trees", True, BUDGET),
    ("packed, without checkpointing", "rows", False, BUDGET),
]


def main() -> None:
    """Print a row for each case."""
    print(f"rollouts of {', '.join(map(str, LENGTHS))} tokens, the first {COMMON} in common")
    print("| | micro-batches | CPU, s | peak growth, MB | gradient off by |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, sharing, checkpointing, budget in CASES:
            arguments = (folder, sharing, str(int(checkpointing)), str(budget))
            command = [sys.executable, "-m", "benchmarks.trainer.lengths", *arguments]
            said = orjson.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            measured = f"{said['batches']} | {said['cpu']:.1f} | {said['growth']:.0f} | {said['off']:.1e}"
            print(f"| {name} | {measured} |", flush=True)


def measure(folder: Path, sharing: str, checkpointing: bool, budget: int) -> dict[str, Any]:
    """One case. The first one leaves its gradients in the folder."""
    import torch

    from benchmarks.trainer.contestant import _read_kb
    from crosswind.trainer.learning import model
    from crosswind.trainer.objectives.objective import LossScale, ObjectiveSettings, SampledTokens, resolve
    from crosswind.trainer.rollouts.batches import micro_batches
    from crosswind.trainer.rollouts.trees import ROWS, Sharing

    torch.set_num_threads(1)
    policy = model.load(_make_model(folder))
    if checkpointing:
        policy.checkpoint_activations()
    shared = ROWS if sharing == "rows" else Sharing(branches=True, width=100_000)
    batches = micro_batches(_draw(), budget, sharing=shared)
    loaded, began = _read_kb("VmRSS"), time.process_time()
    for batch in batches:
        logprobs, _ = policy.score(batch, 1.0)
        tokens = SampledTokens(
            logprobs, logprobs.detach(), batch.engine, batch.rollout, batch.advantages, None
        )
        resolve("gspo")(
            tokens, ObjectiveSettings(clip_low=0.02, clip_high=0.02), LossScale(len(LENGTHS), 1000)
        ).loss.backward()
    cpu = time.process_time() - began
    found = {name: one.grad for name, one in policy.module.named_parameters()}
    first = folder / "gradients.pt"
    if not first.exists():
        torch.save(found, first)
    off = max(float((found[name] - one).abs().max()) for name, one in torch.load(first).items())
    return {
        "batches": len(batches),
        "cpu": cpu,
        "growth": (_read_kb("VmHWM") - loaded) / 1024,
        "off": off,
    }


def _make_model(folder: Path) -> Path:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    directory = folder / "model"
    if not directory.exists():
        torch.manual_seed(0)
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
        heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 40_960}
        Qwen3ForCausalLM(Qwen3Config(vocab_size=512, **sizes, **heads)).save_pretrained(directory)
    return directory


def _draw() -> list[Any]:
    from crosswind.trainer.rollouts.batches import Sample
    from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence

    rng = random.Random(3)
    prompt = [rng.randrange(512) for _ in range(COMMON)]
    found = []
    for number, length in enumerate(LENGTHS):
        ids = prompt + [rng.randrange(512) for _ in range(length - COMMON)]
        sampled = list(range(COMMON, length, 8))
        one = TokenSequence(ids, sampled, [-6.0] * len(sampled), [True] * len(sampled))
        found.append(Sample(RolloutSequences((one,), 0), (-1.0) ** number))
    return found


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        said = measure(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1", int(sys.argv[4]))
        print(orjson.dumps(said).decode())
