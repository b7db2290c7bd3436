"""The embedded engine computes what transformers computes, and says what it doesn't serve."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from transformers import AutoModelForCausalLM

from crosswind.policies.commands.policy import policy
from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.sequence import Sequence
from crosswind.policies.imports.model import import_model
from crosswind.policies.imports.source import ModelSource
from crosswind.policies.versions.version import Registry
from tests.policies.imports.models import change, write_model


def make_version(folder: Path, name: str, **changes: object) -> Path:
    source = write_model(folder / "source", name)
    change(source / "config.json", **changes)
    return import_model(ModelSource("source", source), "base", Registry(folder / "versions")).version.path


@pytest.mark.parametrize("name", ["Qwen2", "Qwen3", "Llama", "Mistral"])
def test_sampled_and_scored_log_probabilities_are_transformers(name: str, tmp_path: Path) -> None:
    windows = {"sliding_window": None} if name == "Mistral" else {}
    made = make_version(tmp_path, name, **windows)
    model = AutoModelForCausalLM.from_pretrained(made, dtype=torch.float32)
    batch = DecodeBatch(read_checkpoint(made), BatchLimits())
    sequences = [Sequence(list(range(10, 30 + index)), 8, 1.0, index, frozenset()) for index in range(3)]
    batch.waiting.extend(sequences)
    with torch.inference_mode():
        while batch.waiting or batch.running:
            batch.step()
        for one in sequences:
            logits = model(torch.tensor([one.prompt + one.tokens])).logits[0, len(one.prompt) - 1 : -1]
            said = torch.log_softmax(logits, -1).gather(1, torch.tensor(one.tokens)[:, None])[:, 0].tolist()
            assert one.logprobs == pytest.approx(said, abs=1e-5)
            assert batch.score([one.prompt], [one.tokens])[0] == pytest.approx(said, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("Granite", {}, "field 'model_type' is 'granite'"),
        ("Mistral", {"sliding_window": 64}, "field 'sliding_window' is 64, not None"),
        (
            "Llama",
            {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10_000.0}},
            "field 'rope type' is 'linear', not 'default'",
        ),
        ("Qwen2", {"hidden_act": "gelu"}, "field 'hidden_act' is 'gelu', not 'silu'"),
    ],
)
def test_what_it_doesnt_serve_is_pointed_at_vllm(
    name: str, changes: dict[str, object], reason: str, tmp_path: Path
) -> None:
    made = make_version(tmp_path, name, **changes)
    done = CliRunner().invoke(policy, ["serve", str(made), "--embedded", "--port", "0"])
    assert done.exit_code == 2 and done.output.count("\n") == 1, done.output
    assert f"{reason}: the embedded engine serves qwen3, qwen2, llama, mistral" in done.output
    assert f"serve it with vLLM (`crosswind policy serve {made}`)" in done.output
