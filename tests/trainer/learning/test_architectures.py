"""Log-probabilities are the model's own, whatever its architecture does with hidden states and logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from crosswind.trainer.learning import model
from crosswind.trainer.rollouts.batches import Sample, collate
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence

_SHAPE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_HEAD = {"head_dim": 8}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Qwen2": {},
    "Qwen3": _HEAD,
    "Llama": {},
    "Mistral": _HEAD,
    "Gemma2": _HEAD | {"final_logit_softcapping": 0.5, "sliding_window": 16},
    "Gemma3Text": _HEAD | {"sliding_window": 16},
    "Granite": {"logits_scaling": 8.0},
    "Cohere": {"logit_scale": 0.0625},
    "Phi3": {},
    "GPTNeoX": {},
    "Olmo2": {},
    "SmolLM3": {},
    "Qwen3Moe": _HEAD | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
}


def make_sample(token_ids: list[int], sampled: list[int], advantage: float = 1.0) -> Sample:
    one = TokenSequence(token_ids, sampled, [0.0] * len(sampled), [True] * len(sampled))
    return Sample(RolloutSequences((one,), 0), advantage)


def save_random_model(directory: Path, name: str, sliding_window: int | None = None) -> Any:
    """A model of an architecture, with its own windows or, where it has any, with these."""
    torch.manual_seed(0)
    shape = _SHAPE | ARCHITECTURES[name]
    if sliding_window is not None and (name == "Mistral" or "sliding_window" in shape):
        shape["sliding_window"] = sliding_window
    made = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{name}Config")(**shape))
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(4.0)  # so that caps and scales of the logits matter
    made.save_pretrained(directory)
    return made.eval()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_score_is_the_models_own(name: str, tmp_path: Path) -> None:
    made = save_random_model(tmp_path, name)
    policy = model.load(tmp_path)
    ids = torch.randint(3, 64, (2, 12))
    rows, columns = torch.tensor([0, 0, 1]), torch.tensor([3, 7, 10])
    targets = ids[rows, columns + 1]
    batch = collate([make_sample(ids[0].tolist(), [4, 8]), make_sample(ids[1].tolist(), [11])])
    scored, entropy = policy.score(batch, 0.8)

    everything = torch.log_softmax(made(input_ids=ids).logits[rows, columns].float() / 0.8, -1)
    expected = everything.gather(-1, targets[:, None])[:, 0]
    assert float((scored - expected).detach().abs().max()) <= 1e-5
    assert float((entropy + (everything.exp() * everything).sum(-1)).detach().abs().max()) <= 1e-5
