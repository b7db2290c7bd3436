"""Adapters as versions: trained, exported as PEFT writes them, served on their base, refused on another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.deployment.deployment import Deployment
from crosswind.policies.deployment.reference import Reference, probe, probe_tokens
from crosswind.policies.engine import EngineError
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.adapter import read_adapter
from crosswind.policies.versions.version import LORA, Registry, VersionError, find_base, read_version
from crosswind.trainer.config.settings import LoraSettings
from crosswind.trainer.learning import model
from crosswind.trainer.learning.learner import Learner
from crosswind.trainer.learning.lora import AdapterPolicy
from crosswind.trainer.learning.model import ModelError
from crosswind.trainer.objectives.objective import LossScale
from crosswind.trainer.rollouts.assembly import MiniBatch, TrainingBatch
from crosswind.trainer.rollouts.batches import collate
from crosswind.trainer.run.loop import train
from tests.trainer.practice import FIRST, as_sample, make_run, play_groups, settings

RANK = 3


def adapters(first_policy: Path, seed: int = 0, **changes: object) -> AdapterPolicy:
    chosen = LoraSettings.model_validate({"rank": RANK, "alpha": 6.0, **changes})
    return AdapterPolicy(model.load(first_policy), read_version(first_policy), chosen, seed)


def moved(first_policy: Path, amount: float = 0.3) -> AdapterPolicy:
    """A policy whose adapter does something."""
    policy = adapters(first_policy)
    sample = as_sample(policy, [20, 21, 22, 23, 24], [2, 3, 4], 1.0)
    learner = Learner(policy, settings(optimiser__learning_rate=amount, curriculum__kind="off"))
    learner.update(learner.measure(TrainingBatch([MiniBatch((sample,), LossScale(1, 3))])), 1)
    return policy


def test_the_reference_of_an_adapter_is_its_base_with_the_adapter_off(first_policy: Path) -> None:
    policy, plain = moved(first_policy), model.load(first_policy)
    batch = collate([as_sample(plain, [20, 21, 22, 23, 24], [2, 3, 4], 1.0)])
    with torch.no_grad():
        base, own = policy.score_base(batch, 1.0)[0], policy.score(batch, 1.0)[0]
        assert torch.equal(base, plain.score(batch, 1.0)[0])
    assert not torch.equal(own, base)


def test_a_run_with_adapters_and_a_kl_term_loads_one_model(
    store: SqliteStore, first_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_groups(store, model.load(first_policy), range(2))
    loaded, load = [], model.load_module
    monkeypatch.setattr(model, "load_module", lambda *given: loaded.append(given) or load(*given))
    config = settings(steps=1, loss__kl=0.1, lora__rank=RANK, curriculum__kind="off")
    assert train(make_run(tmp_path / "out", first_policy, store, config)).version == "run-00001"
    assert len(loaded) == 1


def test_an_adapter_begins_as_nothing_and_alone_is_trained(first_policy: Path) -> None:
    policy, plain = adapters(first_policy), model.load(first_policy)
    ids = torch.tensor([[20, 21, 22, 23]])
    with torch.no_grad():
        assert torch.equal(policy.module(input_ids=ids).logits, plain.module(input_ids=ids).logits)
    names = {name for name, one in policy.module.named_parameters() if one.requires_grad}
    assert names and all(name.endswith((".down", ".up")) for name in names)
    after = moved(first_policy).module
    with torch.no_grad():
        assert not torch.equal(after(input_ids=ids).logits, plain.module(input_ids=ids).logits)
    frozen = dict(plain.module.named_parameters())
    for name, one in after.named_parameters():
        if name not in names:
            assert torch.equal(one, frozen[name.replace(".frozen.", ".")])


def test_what_is_exported_says_what_was_trained(first_policy: Path, tmp_path: Path) -> None:
    policy, base = moved(first_policy), read_version(first_policy)
    version = Registry(tmp_path).add("a1", policy.write, parent=FIRST, step=1, base=base)
    assert (version.kind, version.base, version.base_checksum) == (LORA, FIRST, base.checksum)
    assert find_base(read_version(version.path)) == base
    assert sorted(path.name for path in version.path.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "crosswind.json",
    ]  # fmt: skip
    config = json.loads((version.path / "adapter_config.json").read_text())
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", RANK, 6.0)
    names = load_file(str(version.path / "adapter_model.safetensors"))
    assert "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" in names

    prompts, completions = probe_tokens(first_policy)
    with torch.no_grad():
        ids = torch.tensor([prompts[-1] + completions[-1]])
        scores = torch.log_softmax(policy.module(input_ids=ids).logits[0, len(prompts[-1]) - 1 : -1], dim=-1)
    ours = scores.gather(1, torch.tensor(completions[-1])[:, None])[:, 0]
    theirs = torch.tensor(Reference(version).logprobs(prompts[-1:], completions[-1:])[0])
    assert float((ours - theirs).abs().max()) < 1e-4

    again = adapters(first_policy, seed=9)
    assert not again.equals(version.path / policy.weights_file)
    again.restore(version.path / policy.weights_file)
    assert again.equals(version.path / policy.weights_file)
    with pytest.raises(ModelError, match="another adapter"):
        adapters(first_policy, targets=("q_proj",)).restore(version.path / policy.weights_file)


def test_the_loop_trains_serves_and_confirms_adapters_and_goes_back_to_full_weights(
    store: SqliteStore, first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    first = read_version(first_policy)
    engine.publish(first)
    play_groups(store, model.load(first_policy), range(4))
    config = settings(steps=1, lora__rank=RANK, optimiser__learning_rate=0.1)
    run = make_run(tmp_path / "out", first_policy, store, config, engine=engine)
    train(run)
    # A second process, which resumes.
    state = train(replace(run, config=config.model_copy(update={"steps": 2})))
    newest = run.registry.get(state.version)
    assert (newest.version, newest.kind, newest.base) == ("run-00002", LORA, FIRST)
    assert newest.parent == "run-00001"
    assert engine.health().version == "run-00002" and engine.health().checksum == newest.checksum
    assert all(row.metrics and row.metrics["confirmed_tokens"] > 0 for row in store.steps("run"))
    status = run.registry.journal.read_statuses()
    assert all(status[name].confirmed is not None for name in (FIRST, "run-00001", "run-00002"))
    assert read_adapter(newest.path).rank == RANK
    assert Deployment(engine, [], 1e-3).roll_back_to(first, probe) == f"rolled back to {FIRST!r}"
    assert engine.health().version == FIRST


def test_an_adapter_of_another_base_and_a_spoilt_one_are_refused_and_the_old_version_serves_on(
    first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    engine.publish(read_version(first_policy))
    registry, policy = Registry(tmp_path), moved(first_policy)
    base = registry.add("base", model.load(first_policy).write)
    adapter = registry.add("a1", policy.write, base=base)
    config = base.path / "config.json"
    config.write_text(config.read_text() + " ")
    with pytest.raises(EngineError, match="files were changed"):
        engine.publish(adapter)
    other = registry.add("a2", policy.write, base=replace(read_version(first_policy), checksum="0" * 64))
    with pytest.raises(EngineError, match="an adapter is worth nothing on other weights"):
        engine.publish(other)

    def nan(directory: Path) -> None:
        spoilt = moved(first_policy)
        next(iter(spoilt._layers.values())).up.data[0, 0] = float("nan")
        spoilt.write(directory)

    bad = registry.add("a3", nan, base=read_version(first_policy))
    with pytest.raises(EngineError, match="not finite"):
        engine.publish(bad)
    assert engine.health().version == FIRST
    with pytest.raises(VersionError, match="made on another model"):
        read_adapter(adapter.path).merge_into({"model.norm.weight": torch.ones(3)})


def test_the_base_of_an_adapter_that_stays_is_not_retired(first_policy: Path, tmp_path: Path) -> None:
    registry, policy = Registry(tmp_path), adapters(first_policy)
    base = registry.add("base", model.load(first_policy).write)
    for step in (1, 2, 3):
        registry.add(f"a{step}", policy.write, step=step, base=base)
    assert registry.retain(1) == ["a1", "a2"]
    assert [version.version for version in registry.versions()] == ["base", "a3"]
