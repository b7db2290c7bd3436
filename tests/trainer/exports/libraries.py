"""Runs in the environment of `make trl`: what the real libraries read out of exported files, as JSON.

python libraries.py load FILE
python libraries.py loss FILE POLICY grpo|gspo
python libraries.py data_proto FILE
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import torch
from datasets import Dataset, load_dataset


def load(file: str) -> Any:
    """The columns of a file, and its first row."""
    kind = "parquet" if file.endswith(".parquet") else "json"
    with tempfile.TemporaryDirectory() as cache:
        rows = load_dataset(kind, data_files=file, split="train", cache_dir=cache)
        return {"rows": rows.num_rows, "columns": rows.column_names, "first": rows[0]}


def loss(file: str, policy: str, objective: str) -> Any:
    """TRL's own loss of all rows as one batch."""
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    with tempfile.TemporaryDirectory() as folder:
        rows = load_dataset("json", data_files=file, split="train", cache_dir=folder)
        trainer = GRPOTrainer(
            model=policy,
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=GRPOConfig(
                output_dir=folder,
                loss_type="grpo",
                importance_sampling_level="token" if objective == "grpo" else "sequence",
                beta=0.0,
                epsilon=0.2,
                epsilon_high=0.28,
                use_cpu=True,
                bf16=False,
                report_to="none",
            ),
            train_dataset=Dataset.from_list([{"prompt": "x"}] * 8),
            processing_class=AutoTokenizer.from_pretrained(policy),
        )
        trainer.model.float().eval()
        value = trainer.compute_loss(trainer.model, make_batch(rows))
        value.backward()
        squares = [(one.grad**2).sum() for one in trainer.model.parameters() if one.grad is not None]
        return {"loss": value.item(), "gradient": torch.stack(squares).sum().sqrt().item()}


def make_batch(rows: Dataset) -> dict[str, torch.Tensor]:
    """Padded as TRL pads: prompts on the left, completions on the right."""
    prompts = rows["prompt_ids"]
    return {
        "prompt_ids": pad(prompts, torch.int64, left=True),
        "prompt_mask": pad([[1] * len(ids) for ids in prompts], torch.int64, left=True),
        "completion_ids": pad(rows["completion_ids"], torch.int64),
        "completion_mask": pad(rows["completion_mask"], torch.int64),
        "tool_mask": pad(rows["tool_mask"], torch.int64),
        "old_per_token_logps": pad(rows["old_per_token_logps"], torch.float32),
        "advantages": torch.tensor(rows["advantages"], dtype=torch.float32),
    }


def data_proto(file: str) -> Any:
    """verl's DataProto of a file, and the advantages that verl itself computes of its rewards."""
    import numpy
    from verl import DataProto
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    with tempfile.TemporaryDirectory() as cache:
        rows = load_dataset("json", data_files=file, split="train", cache_dir=cache)
    kinds = {"responses": torch.int64, "response_mask": torch.int64}
    kinds |= dict.fromkeys(("rollout_log_probs", "rm_scores"), torch.float32)
    tensors = {name: pad(rows[name], kind) for name, kind in kinds.items()}
    tensors["prompts"] = pad(rows["prompts"], torch.int64, left=True)
    uid = numpy.array(rows["uid"], dtype=object)
    made = DataProto.from_dict(tensors, {"uid": uid})
    made.check_consistency()
    advantages, _ = compute_grpo_outcome_advantage(
        made.batch["rm_scores"], made.batch["response_mask"], made.non_tensor_batch["uid"]
    )
    return {"rows": len(made), "advantages": advantages.tolist()}


def pad(rows: Any, dtype: torch.dtype, *, left: bool = False) -> torch.Tensor:
    side = "left" if left else "right"
    tensors = [torch.tensor(row, dtype=dtype) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_side=side)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    print(json.dumps({"load": load, "loss": loss, "data_proto": data_proto}[verb](*arguments)))
