"""Models as others publish them: random weights, a tokenizer and a template, in a layout of transformers'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers

from crosswind.policies.tiny.directory import TEMPLATE
from crosswind.policies.tiny.tokenizer import save_tokenizer, train_tokenizer

CONTEXT = 256
_HEAD = {"head_dim": 16}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Qwen2": {},
    "Qwen3": _HEAD,
    "Llama": {},
    "Mistral": _HEAD,
    "Gemma3Text": _HEAD | {"sliding_window": 64},
    "Granite": {"logits_scaling": 2.0},
    "Phi3": {},
}


def make_model(name: str, vocabulary: int, **changes: Any) -> Any:
    """A model of that architecture with random weights, well below 2 M parameters."""
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 1,
    }
    configuration = getattr(transformers, f"{name}Config")(**(shape | ARCHITECTURES[name] | changes))
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(configuration).eval()


def write_model(directory: Path, name: str = "Qwen2", *, dtype: str = "float32", **how: Any) -> Path:
    """A model's directory as `save_pretrained` leaves it. `how` is for that; what begins with `config_`
    changes the configuration.
    """
    tokenizer = train_tokenizer(["What is the status of order 17?"], vocabulary=512)
    changes = {key.removeprefix("config_"): how.pop(key) for key in list(how) if key.startswith("config_")}
    made = make_model(name, tokenizer.get_vocab_size(), **changes).to(getattr(torch, dtype))
    made.save_pretrained(directory, **how)
    save_tokenizer(tokenizer, directory, CONTEXT)
    (directory / "chat_template.jinja").write_text(TEMPLATE.read_text())
    return directory


def change(path: Path, **values: Any) -> None:
    """Change fields of a JSON file; None removes one."""
    fields = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in fields.items() if value is not None}))


def read_tensors(directory: Path) -> dict[str, torch.Tensor]:
    """All tensors of a directory's safetensors."""
    from safetensors.torch import load_file

    return {
        name: tensor
        for file in directory.glob("*.safetensors")
        for name, tensor in load_file(str(file)).items()
    }


def logits(directory: Path) -> torch.Tensor:
    """What transformers makes of a directory, for fixed tokens."""
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        return torch.as_tensor(model(input_ids=torch.arange(5, 45)[None]).logits[0])
