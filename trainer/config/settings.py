"""The trainer's settings: one pydantic model, and presets that carry the papers' own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crosswind.trainer.config.presets import PRESETS
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.objectives.objective import ObjectiveSettings
from crosswind.verdicts.judge import RUBRIC

SeedScope = Literal["session", "group", "task"]
AdvantageScope = Literal["per_arm", "group"]
Baseline = Literal["normalised", "group", "leave_one_out", "running"]


class SettingsError(RunRefused):
    """A setting can't be used. The message is one line: field, value and fix."""


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OptimiserSettings(_Settings):
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
    """Rows times longest row of a micro-batch, padding included, what rollouts have in common counted once.
    Doesn't change the result but for rounding.
    """


class LoraSettings(_Settings):
    """Adapters that are trained instead of all weights; `rank` 0: all weights are."""

    rank: int = Field(default=0, ge=0, le=512)
    alpha: float = Field(default=16.0, gt=0)
    """The adapter counts alpha / rank times."""
    targets: tuple[str, ...] = Field(
        default=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), min_length=1
    )
    """The linear layers that get one, by the last part of their names."""


class GapSettings(_Settings):
    """All that decides when noise rises. Shares are of a group's rollouts, windows are in training steps."""

    theta: float = Field(default=0.05, gt=0, lt=1)
    """A type is adapted to where its gap is below this (NoisyAgent: 0.05)."""
    gap_rule: Literal["point", "upper"] = "upper"
    """`upper`: Δ's one-sided 95 % upper bound. `point`: Δ itself, as NoisyAgent prints it; looked at after
    every step, it falls below θ by chance before long, whatever the true gap."""
    minimum_rollouts: int = Field(default=24, ge=1)
    """Noisy rollouts of a type at its present level, before its gap is looked at."""
    decay: float = Field(default=0.8, gt=0, le=1)
    """Weight of a window's content after each further step."""
    rho_start: float | None = Field(default=None, gt=0, le=1)
    """ρ when it leaves 0; None: `rho_step`."""
    rho_step: float = Field(default=0.1, gt=0, le=1)
    """By how much ρ rises at a plateau."""
    share_step: float = Field(default=0.02, ge=0, le=1)
    """By how much a type's share rises when it is adapted to."""
    rho_cap: float = Field(default=0.5, gt=0, le=1)
    """ρ at most (NoisyAgent: 0.5; with 1 there may be no clean rollouts left, and Δ isn't known)."""
    start_level: int = Field(default=1, ge=1)
    """Every type's level once ρ leaves 0."""
    warmup_steps: int = Field(default=10, ge=0)
    """ρ leaves 0 after so many steps at the latest; 0: it is above 0 from the beginning."""
    plateau_window: int = Field(default=5, ge=1)
    """Two windows of so many steps are compared."""
    plateau_tolerance: float = Field(default=0.02, ge=0)
    """Clean success has plateaued where the later window's mean exceeds the earlier one's by less than
    this.
    """
    lower_above: float | None = Field(default=None, gt=0)
    """A type's level falls by one where its gap exceeds this; None: levels never fall."""
    minimum_exposure: float = Field(default=0.9, ge=0, le=1)
    """A type's level and share don't rise while a smaller share of its rollouts was exposed."""
    success_at: float = 1.0
    """A rollout succeeded if its reward is at least this (eq. 10: r(τ) = 1)."""


class FixedSettings(_Settings):
    """The dose of `kind: fixed`."""

    level: int = Field(default=3, ge=1)
    """Every type's level in the profile."""
    rho: float = Field(default=0.5, gt=0, le=1)
    """Share of a group's rollouts that are noisy. 1: all of them, NoisyAgent's ablation "w/o controlled"."""


class CoinSettings(_Settings):
    """The dose of `kind: coin`."""

    coverage: float = Field(default=1.0, gt=0, le=1)
    """Probability that a trajectory is augmented."""


class CurriculumSettings(_Settings):
    """Which curriculum runs, what it declares to the gateway, and its own settings."""

    kind: str = "gap"
    """`off`, `gap`, `fixed`, `randomised`, `coin`, or one that a package adds."""
    profile: str = "noisyagent"
    """A built-in profile's name, or a file, which the gateway is given under the name that stands in it."""
    profile_text: str | None = None
    """What the file holds; the run reads it."""
    group_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the groups that hold noisy rollouts at all."""
    seed_scope: SeedScope = "session"
    at_least_one: bool = True
    """A noisy rollout meets its type at the first place that it has; the level is the frequency beyond."""
    types_per_group: Literal[1, "all"] = "all"
    """`all`: a group's noisy rollouts have the types by their shares. 1: all of them have one."""
    count: Literal["assigned", "exposed"] = "assigned"
    """Which rollouts are noisy, in Δ and in advantages per arm. `assigned`: those that were assigned noise,
    exposed or not (NoisyAgent, eq. 7 and 9). `exposed`: those that met it. Exposure depends on the policy:
    who fails before the first tool call counts as clean then. An ablation."""
    gap: GapSettings = GapSettings()
    fixed: FixedSettings = FixedSettings()
    coin: CoinSettings = CoinSettings()
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of a curriculum that a package adds, which reads them itself."""


class RunningSettings(_Settings):
    """The baseline of `baseline: running`."""

    label: str = "task"
    """The session's label whose every value has a mean of its own, in each arm. Sessions without it share
    one."""
    minimum: int = Field(default=16, ge=1)
    """Rewards before a mean counts; rollouts that come sooner raise it and don't train."""
    decay: float = Field(default=0.99, gt=0, le=1)
    """Weight of the rewards so far after each further one."""


class JudgeSettings(_Settings):
    """The judge model of `reward: judge`."""

    model: str = ""
    """URL/model, as https://host/v1/MODEL."""
    rubric: str = RUBRIC
    """By which it decides."""
    samples: int = Field(default=1, ge=1)
    """Answers about a session; their majority counts."""
    key_env: str = ""
    """The environment variable that holds its key. Without one, api.openai.com gets OPENAI_API_KEY, and other
    hosts get none."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that an answer may take."""
    concurrency: int = Field(default=8, ge=1)
    """Sessions that it is asked about at a time."""
    calibration: int = Field(default=40, ge=1)
    """Verified sessions that it is compared with before the run, at most."""


class TrainConfig(_Settings):
    """All settings of a training run, but for where it reads and writes."""

    objective: str = "gspo"
    loss: ObjectiveSettings = ObjectiveSettings(clip_low=0.2, clip_high=0.2)
    optimiser: OptimiserSettings = OptimiserSettings()
    lora: LoraSettings = LoraSettings()
    curriculum: CurriculumSettings = CurriculumSettings()
    advantages: AdvantageScope = "per_arm"
    """`per_arm`: NoisyAgent eq. 9. `group`: over both arms together."""
    whitening: Literal["none", "batch", "buffer"] = "none"
    """Normalise the advantages once more, over an optimiser step's groups or over the whole training step's.
    """
    reward: str = "given"
    """What a rollout is worth: `given`, as it was posted; `toolrl`, `state_augmentation`, or one that a
    package adds. Sessions count once they were given a reward, whichever is computed. `judge`, and a Python
    function as MODULE:FUNCTION, give sessions their rewards once they are closed."""
    reward_deadline: float = Field(default=10.0, gt=0)
    """Seconds that the Python function may take."""
    reward_import_deadline: float = Field(default=120.0, gt=0)
    """Seconds that its import may take."""
    judge: JudgeSettings = JudgeSettings()
    baseline: Baseline = "normalised"
    """What a reward is compared with, within its arm or group. `normalised`: (r - μ)/σ. `group`: r - μ.
    `leave_one_out`: r less the mean of the others. `running`: r less the mean so far of its label and arm.
    """
    running: RunningSettings = RunningSettings()
    train_on: Literal["groups", "sessions"] = "groups"
    """`sessions`: live traffic, of sessions that are in no group; `groups_per_step` counts sessions then."""
    temperature: float = Field(default=1.0, gt=0)
    """What the rollouts are sampled at, and so what log-probabilities are taken at."""
    steps: int = Field(default=100, ge=0)
    groups_per_step: int = Field(default=16, ge=1)
    group_size: int = Field(default=32, ge=2)
    """Rollouts that a group should have; groups of another size train too, and are counted."""
    refill: Literal["off", "groups"] = "off"
    """`groups`: for each group with all rewards equal another is taken (DAPO's dynamic sampling, §3.2)."""
    refill_limit: float = Field(default=3.0, ge=1)
    """How many groups a step takes at most, as a multiple of `groups_per_step`."""
    leg_deadline: float = Field(default=60.0, ge=0)
    """Seconds that a group waits for the last events of its tool legs outside the gateway."""
    group_deadline: float = Field(default=3600.0, gt=0)
    """Seconds without an event in a group, after which it trains without the rollouts that it waits for."""
    failed_rollouts: Literal["void", "mask"] = "void"
    """Rollouts that the engine, the gateway, a tool or the client failed, and not injected noise. `void`:
    they don't count. `mask`: their rewards count in baselines and success, their tokens don't train."""
    staleness: int = Field(default=4, ge=0)
    """How many policy versions behind the newest a token may be."""
    max_sequence: int = Field(default=40_960, ge=2)
    """Tokens; a rollout with a longer sequence doesn't train."""
    logprob_tolerance: float = Field(default=1e-3, gt=0)
    """How far the engine's log-probabilities may be from ours, on average and at the 99th percentile.
    float32: 1e-3 is ample; bfloat16: 0.1.
    """
    minimum_effective_share: float = Field(default=0.2, ge=0, lt=1)
    """A step whose effective sample size is a smaller share of its tokens moves no weight: a few tokens with
    large importance weights would decide it.
    """
    probe_rollouts: int = Field(default=8, ge=1)
    """How many of a step's rollouts a new version is confirmed with."""
    seed: int = 0
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    checkpointing: bool = False
    """Compute activations again in the backward pass in place of keeping them: less memory, about a third
    more time. Changes the result by rounding at most."""
    worker_deadline: float = Field(default=300.0, gt=0)
    """Seconds that a worker of several may keep the others waiting in a step, after which the run ends."""
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

    @model_validator(mode="after")
    def _check_baseline(self) -> TrainConfig:
        if self.train_on == "sessions" and self.baseline != "running":
            raise ValueError(f"sessions without a group need baseline=running, not {self.baseline!r}")
        if self.whitening != "none" and self.baseline != "normalised":
            raise ValueError(
                f"whitening={self.whitening} is a normalisation over more than a group: it takes "
                f"baseline=normalised, not {self.baseline!r}"
            )
        if self.baseline == "running" and self.refill == "groups":
            raise ValueError("refill=groups is for groups that are compared within: take refill=off")
        return self

    @property
    def most_groups(self) -> int:
        """How many groups a step takes at most."""
        return int(self.groups_per_step * (self.refill_limit if self.refill == "groups" else 1))


def configure(preset: str, changes: Mapping[str, Any]) -> TrainConfig:
    """A preset with some settings changed: `changes` maps dotted names (`optimiser.learning_rate`) to values.

    Raises SettingsError for an unknown preset, an unknown name or a value that doesn't fit.
    """
    if preset not in PRESETS:
        raise SettingsError(f"--preset: there is no {preset!r}; {_nearest(preset, PRESETS)}")
    document = _merge(TrainConfig().model_dump(), PRESETS[preset])
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
        if not name:  # It is about several settings, and names them.
            raise SettingsError(first["msg"].removeprefix("Value error, ")) from None
        raise SettingsError(f"{name}: {first['input']!r} can't be used: {first['msg'].lower()}") from None


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, folder by folder."""
    out = dict(base)
    for name, value in over.items():
        out[name] = _merge(out[name], value) if isinstance(out[name], dict) else value
    return out


def _names(document: Mapping[str, Any], prefix: str = "") -> list[str]:
    out: list[str] = []
    for name, value in document.items():
        out += _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return out


def _nearest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.3)
    return f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(sorted(known))}"
