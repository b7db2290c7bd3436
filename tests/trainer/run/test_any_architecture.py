"""A model of any architecture, from its own files to a trained version that transformers loads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from transformers import AutoModelForCausalLM

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.imports.model import import_model
from crosswind.policies.imports.source import ModelSource
from crosswind.policies.versions.version import Registry, read_version, verify
from crosswind.trainer.commands.train import train as command
from crosswind.trainer.learning import model
from tests.policies.imports.models import write_model
from tests.trainer.practice import as_sample, play_groups

SIX = ("Qwen3", "Llama", "Mistral", "Gemma3Text", "Granite", "Phi3")
SMALL = {
    "groups_per_step": "2",
    "group_size": "4",
    "max_sequence": "128",
    "optimiser.warmup_steps": "0",
    "optimiser.learning_rate": "0.001",
}


@pytest.mark.parametrize("name", SIX)
def test_import_three_steps_export(name: str, store: SqliteStore, tmp_path: Path) -> None:
    source = write_model(tmp_path / "source", name, max_shard_size="200KB")
    registry = Registry(tmp_path / "versions")
    base = import_model(ModelSource(str(source), source), "base", registry)
    assert base.weights.parameters <= 2_000_000 and base.architecture.startswith(name.removesuffix("Text"))
    play_groups(store, model.load(base.version.path), range(6), version="theirs")

    given = ["run", "--policy", str(base.version.path), "--out", str(tmp_path / "out"), "--steps", "3"]
    small = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(command, [*given, "--from", str(store.path), *small])
    assert done.exit_code == 0 and "done: step 3, version out-00003" in done.output, done.output

    version = read_version(tmp_path / "out" / "versions" / "out-00003")
    verify(version)
    ours = model.load(version.path)
    theirs, told = AutoModelForCausalLM.from_pretrained(
        version.path, dtype=torch.float32, output_loading_info=True
    )
    assert not told["missing_keys"] and not told["unexpected_keys"] and not told["mismatched_keys"]
    before = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    rng = random.Random(0)
    tokens = [rng.randrange(10, 300) for _ in range(40)]
    places = list(range(8, 40))
    scored = torch.tensor(as_sample(ours, tokens, places, 0.0).sequences.sequences[0].logprobs)
    with torch.no_grad():
        logprobs, first = (
            torch.log_softmax(each(input_ids=torch.tensor([tokens])).logits[0, 7:39], -1).gather(
                1, torch.tensor(tokens[8:])[:, None]
            )[:, 0]
            for each in (theirs, before)
        )
    assert float((scored - logprobs).abs().max()) <= 1e-5
    assert float((first - logprobs).abs().max()) > 1e-4
