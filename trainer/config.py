"""The trainer's settings: one pydantic model, and presets that carry the papers' own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crosswind.trainer.curriculum.gap import GapSettings, SeedScope
from crosswind.trainer.objectives.objective import ObjectiveSettings
from crosswind.trainer.presets import PRESETS


class SettingsError(ValueError):
    """A setting can't be used. The message is one line: field, value and mend."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OptimiserSettings(_Model):
    """AdamW (weight decay apart from the gradient), and how a step is divided."""

    learning_rate: float = Field(default=1e-6, gt=0)
    """Constant after the warm-up."""
    warmup_steps: int = Field(default=0, ge=0)
    """Training steps over which the learning rate rises in equal parts: Adam's first steps are as large as
    its later ones, however little their gradients say.
    """
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.95, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    clip_norm: float = Field(default=1.0, gt=0)
    mini_batches: int = Field(default=1, ge=1)
    """Optimiser steps that a training step's groups are divided over."""
    data_reuse: int = Field(default=1, ge=1, le=2)
    """Optimiser steps that a group enters; 2 at most (NoisyAgent's table 5, "data reuse epochs 2")."""
    token_budget: int = Field(default=4096, ge=1)
    """Rows times longest row of a micro-batch, padding included. Doesn't change the result but for rounding.
    """


class LoraSettings(_Model):
    """Adapters that are trained instead of all weights; `rank` 0: all weights are."""

    rank: int = Field(default=0, ge=0, le=512)
    alpha: float = Field(default=16.0, gt=0)
    """The adapter counts alpha / rank times."""
    targets: tuple[str, ...] = Field(
        default=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), min_length=1
    )
    """The linear layers that get one, by the last part of their names."""


class CurriculumSettings(_Model):
    """Which curriculum runs, what it declares to the gateway, and its own settings."""

    kind: Literal["gap", "off"] = "gap"
    profile: str = "noisyagent"
    group_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the groups that hold noisy rollouts at all."""
    seed_scope: SeedScope = "session"
    gap: GapSettings = GapSettings()


class TrainConfig(_Model):
    """All settings of a training run, but for where it reads and writes."""

    objective: str = "gspo"
    loss: ObjectiveSettings = ObjectiveSettings(clip_low=0.2, clip_high=0.2)
    optimiser: OptimiserSettings = OptimiserSettings()
    lora: LoraSettings = LoraSettings()
    curriculum: CurriculumSettings = CurriculumSettings()
    advantages: Literal["per_arm", "group"] = "per_arm"
    """`per_arm`: NoisyAgent eq. 9. `group`: over both arms together."""
    whitening: Literal["none", "batch", "buffer"] = "none"
    """Normalise the advantages once more, over an optimiser step's groups or over the whole training step's.
    """
    temperature: float = Field(default=1.0, gt=0)
    """What the rollouts are sampled at, and so what log-probabilities are taken at."""
    steps: int = Field(default=100, ge=0)
    groups_per_step: int = Field(default=16, ge=1)
    group_size: int = Field(default=32, ge=2)
    """Rollouts that a group should have; groups of another size train too, and are counted."""
    staleness: int = Field(default=4, ge=0)
    """How many policy versions behind the newest a token may be."""
    max_sequence: int = Field(default=40_960, ge=2)
    """Tokens; a rollout with a longer sequence doesn't train."""
    logprob_tolerance: float = Field(default=1e-3, gt=0)
    """Largest difference between the engine's log-probabilities and ours. float32: 1e-3 is ample; bfloat16:
    0.1.
    """
    probe_rollouts: int = Field(default=8, ge=1)
    """How many of a step's rollouts a new version is confirmed with."""
    seed: int = 0
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    threads: int = Field(default=1, ge=1)
    """Torch threads. One is bitwise repeatable on a CPU."""
    poll_seconds: float = Field(default=0.2, gt=0)
    wait_seconds: float | None = Field(default=None, gt=0)
    """Give up if no group completes for so long; None: wait for ever."""
    keep_checkpoints: int = Field(default=2, ge=1)
    keep_versions: int = Field(default=4, ge=2)
    evaluate_every: int = Field(default=0, ge=0)
    """Run `crosswind bench` after every so many steps; 0: never."""
    evaluate_arguments: tuple[str, ...] = ()
    """What the bench command is given besides `--json`."""


def configure(preset: str, changes: Mapping[str, Any]) -> TrainConfig:
    """A preset with some settings changed: `changes` maps dotted names (`optimiser.learning_rate`) to values.

    Raises SettingsError for an unknown preset, an unknown name or a value that doesn't fit.
    """
    if preset not in PRESETS:
        raise SettingsError(f"--preset: there is no {preset!r}; {_nearest(preset, PRESETS)}")
    document = _merged(TrainConfig().model_dump(), PRESETS[preset])
    for name, value in changes.items():
        place = document
        *folders, last = name.split(".")
        for part in (*folders, last):
            if not isinstance(place, dict) or part not in place:
                raise SettingsError(f"{name}: there is no such setting; {_nearest(name, _names(document))}")
            if part != last:
                place = place[part]
        place[last] = value
    try:
        return TrainConfig.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{name}: {first['input']!r} can't be used: {first['msg'].lower()}") from None


def _merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, folder by folder."""
    out = dict(base)
    for name, value in over.items():
        out[name] = _merged(out[name], value) if isinstance(out[name], dict) else value
    return out


def _names(document: Mapping[str, Any], prefix: str = "") -> list[str]:
    out: list[str] = []
    for name, value in document.items():
        out += _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return out


def _nearest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.3)
    return f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(sorted(known))}"
