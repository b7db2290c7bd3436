from __future__ import annotations

from typing import Any

import pytest

from crosswind.trainer.config.presets import PRESETS
from crosswind.trainer.config.settings import SettingsError, TrainConfig, configure


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_and_in_force(name: str) -> None:
    assert configure(name, {}) == TrainConfig.model_validate(PRESETS[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("noisyagent/grpo", ("grpo", 0.2, 0.2, 10.0, "token", "batch", "group", "off")),
        ("noisyagent/gspo", ("gspo", 0.2, 0.28, 3.0, "rollout", "buffer", "group", "off")),
        ("noisyagent/ours", ("gspo", 0.2, 0.28, 3.0, "rollout", "none", "per_arm", "gap")),
        ("noisyagent/dapo", ("dapo", 0.2, 0.28, 3.0, "rollout", "buffer", "group", "off")),
        ("dapo", ("dapo", 0.2, 0.28, None, "token", "none", "group", "off")),
        ("gspo", ("gspo", 3e-4, 4e-4, None, "rollout", "none", "group", "off")),
        ("grpo", ("grpo", 0.2, 0.2, None, "rollout", "none", "group", "off")),
        ("demo", ("gspo", 0.02, 0.02, None, "rollout", "none", "per_arm", "gap")),
    ],
)
def test_the_presets_hold_what_the_papers_print(name: str, expected: tuple[Any, ...]) -> None:
    config = configure(name, {})
    loss = config.loss
    assert expected == (
        config.objective,
        loss.clip_low,
        loss.clip_high,
        loss.dual_clip,
        loss.aggregation,
        config.whitening,
        config.advantages,
        config.curriculum.kind,
    )
    assert loss.kl == (0.04 if name == "grpo" else 0.0)


def test_noisyagents_optimiser_is_its_table_5() -> None:
    optimiser = configure("noisyagent/ours", {}).optimiser
    assert (optimiser.learning_rate, optimiser.beta1, optimiser.beta2, optimiser.epsilon) == (
        1e-6,
        0.9,
        0.95,
        1e-8,
    )
    assert (optimiser.weight_decay, optimiser.clip_norm, optimiser.data_reuse) == (0.01, 1.0, 2)


def test_noise_rises_by_the_upper_bound_but_in_noisyagents_presets() -> None:
    rules = {name: configure(name, {}).curriculum.gap.gap_rule for name in PRESETS}
    assert rules == {name: "point" if name.startswith("noisyagent/") else "upper" for name in PRESETS}


def test_single_settings_are_changed_by_their_dotted_names() -> None:
    config = configure("demo", {"curriculum.gap.theta": 0.1, "seed": 3})
    assert (config.curriculum.gap.theta, config.seed) == (0.1, 3)
    assert config.curriculum.gap.rho_step == configure("demo", {}).curriculum.gap.rho_step


@pytest.mark.parametrize(
    ("preset", "changes", "message"),
    [
        ("dmeo", {}, "--preset: there is no 'dmeo'; did you mean 'demo'?"),
        ("demo", {"optimizer.lr": 1}, "optimizer.lr: there is no such setting; did you mean 'optimiser."),
        (
            "demo",
            {"optimiser.learning_rate": -1},
            "optimiser.learning_rate: -1 can't be used: input should be",
        ),
        (
            "demo",
            {"optimiser.data_reuse": 3},
            "optimiser.data_reuse: 3 can't be used: input should be less than",
        ),
        ("demo", {"curriculum.gap.rho_cap": 1.5}, "curriculum.gap.rho_cap: 1.5 can't be used"),
        ("demo", {"preset": "gspo"}, "preset: there is no such setting"),
        ("demo", {"steps": "many"}, "steps: 'many' can't be used: input should be a valid integer"),
        ("demo", {"steps.x": 1}, "steps.x: there is no such setting; did you mean 'steps'?"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_its_mend(
    preset: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        configure(preset, changes)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
