"""TRL's step on given rollouts, without generation, one for each line that comes in.

It runs in the environment of `make trl`: python theirs.py POLICY MATERIAL PASSES MICRO_BATCH
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[2])  # of the benchmarks, none of ours


def main(policy: str, material: str, passes: str, micro_batch: str) -> None:
    """Take steps on the material, of so many passes, in micro-batches of so many rollouts."""
    import torch

    from benchmarks.trainer.contestant import answer

    torch.set_num_threads(1)
    rows = json.loads(Path(material).read_text())
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(policy, folder)
    size = int(micro_batch)
    whole = make_batch(rows)
    trainer.current_gradient_accumulation_steps = len(rows) // size
    # Padded as TRL pads: the whole batch once; then split.
    parts = [
        {name: value[start : start + size] for name, value in whole.items()}
        for start in range(0, len(rows), size)
    ]
    optimiser = torch.optim.AdamW(
        trainer.model.parameters(), lr=1e-4 / 4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0
    )

    def step() -> dict[str, float]:
        batches = parts
        if int(passes) > 1:  # with one, TRL takes the first pass's own log-probabilities
            batches = [part | {"old_per_token_logps": score(trainer, part)} for part in parts]
        said: list[dict[str, float]] = []
        for _ in range(int(passes)):
            optimiser.zero_grad(set_to_none=True)
            loss = 0.0
            for part in batches:
                value = trainer.compute_loss(trainer.model, part)
                value.backward()
                loss += value.item()
            norm = torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
            optimiser.step()
            said.append({"loss": loss, "gradient": norm.item()})
        return {"loss": said[0]["loss"], "gradient": max(each["gradient"] for each in said)}

    answer(step)


def make_trainer(policy: str, folder: str) -> Any:
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    trainer = GRPOTrainer(
        model=policy,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=GRPOConfig(
            output_dir=folder,
            loss_type="grpo",
            importance_sampling_level="sequence",
            beta=0.0,
            epsilon=0.02,
            epsilon_high=0.02,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            report_to="none",
        ),
        train_dataset=Dataset.from_list([{"prompt": "x"}] * 8),
        processing_class=AutoTokenizer.from_pretrained(policy),
    )
    trainer.model.float().train()
    return trainer


def score(trainer: Any, part: dict[str, Any]) -> Any:
    """Log-probabilities before the first update, as TRL takes them."""
    import torch

    ids = torch.cat([part["prompt_ids"], part["completion_ids"]], dim=1)
    mask = torch.cat([part["prompt_mask"], part["completion_mask"]], dim=1)
    with torch.no_grad():
        found = trainer._get_per_token_logps_and_entropies(
            trainer.model, ids, mask, part["completion_ids"].size(1)
        )
    return found[0]


def make_batch(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Prompts padded on the left, completions on the right."""
    import torch

    def pad(values: list[list[int]], *, left: bool = False) -> Any:
        tensors = [torch.tensor(value, dtype=torch.int64) for value in values]
        side = "left" if left else "right"
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_side=side)

    starts = [row["sampled"][0] for row in rows]
    prompts = [row["token_ids"][:start] for row, start in zip(rows, starts, strict=True)]
    completions = [row["token_ids"][start:] for row, start in zip(rows, starts, strict=True)]
    tools = []
    for row, start, completion in zip(rows, starts, completions, strict=True):
        own = set(row["sampled"])
        tools.append([int(start + place in own) for place in range(len(completion))])
    return {
        "prompt_ids": pad(prompts, left=True),
        "prompt_mask": pad([[1] * len(ids) for ids in prompts], left=True),
        "completion_ids": pad(completions),
        "completion_mask": pad([[1] * len(ids) for ids in completions]),
        "tool_mask": pad(tools),
        "advantages": torch.tensor([row["advantage"] for row in rows]),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
