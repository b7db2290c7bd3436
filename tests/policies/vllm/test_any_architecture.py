"""A model that isn't Qwen's: imported, served by vLLM, and its next version confirmed there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from crosswind.policies.commands.policy import policy
from crosswind.policies.versions.version import Registry
from crosswind.policies.vllm.environment import NotInstalled, find
from crosswind.trainer.learning import model
from tests.policies.imports.models import write_model
from tests.vllm_server import supervised

pytestmark = pytest.mark.vllm


def test_granite_is_served_and_its_log_probabilities_agree(tmp_path: Path) -> None:
    """Its logits are scaled: an engine or a trainer that goes round its head is off by more than a nat."""
    try:
        find()
    except NotInstalled as error:
        pytest.skip(str(error))
    source = write_model(tmp_path / "source", "Granite", config_hidden_size=128, max_shard_size="200KB")
    registry, run = Registry(tmp_path / "versions"), CliRunner()
    given = [str(source), "--name", "base", "--versions", str(registry.root)]
    done = run.invoke(policy, ["import", *given])
    assert done.exit_code == 0, done.output
    base = registry.root / "base"

    trained = model.load(base)
    with torch.no_grad():
        for weight in trained.module.parameters():
            weight.add_(0.01 * torch.randn_like(weight))
    registry.add("trained", trained.write, parent="base", step=1)

    with supervised(str(base), "--port", "0", "--log", str(tmp_path / "log")) as lines:
        url = lines.until(r"^serving base at (\S+)/v1$")[1]
        verified = run.invoke(policy, ["verify", str(base), "--engine", url])
        assert verified.exit_code == 0 and "log-probabilities agree within" in verified.output, (
            verified.output
        )
        published = run.invoke(policy, ["publish", str(registry.root / "trained"), "--engine", url])
        assert published.exit_code == 0 and published.output.startswith("trained serves"), published.output
        assert "log-probabilities agree within" in published.output
