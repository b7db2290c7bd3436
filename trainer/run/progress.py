"""What a run reports while it goes: a step's figures, and lines for people or JSON lines for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import orjson

from crosswind.policies.bench import BenchError, run_bench
from crosswind.policies.deployment.confirmation import Difference
from crosswind.policies.deployment.deployment import DeployedVersion
from crosswind.trainer.config.settings import TrainConfig
from crosswind.trainer.learning.learner import Measurement, UpdateResult
from crosswind.trainer.rollouts.assembly import TrainingBatch, count_refusals
from crosswind.trainer.rollouts.groups import Group
from crosswind.trainer.rollouts.source import TakenGroups
from crosswind.trainer.run.reporters import Reporter
from crosswind.trainer.run.watch import Watch


class Progress:
    """Writes to standard output, a line at a time. JSON lines carry {"event": "note" | "step", ...}. `watch`
    takes their place; `reporters` get each step's figures as well.
    """

    def __init__(
        self,
        *,
        as_json: bool,
        stream: TextIO | None = None,
        reporters: Sequence[Reporter] = (),
        watch: Watch | None = None,
    ) -> None:
        self._as_json = as_json
        self._stream = stream
        self._reporters = reporters
        self._watch = watch

    def note(self, message: str, **values: Any) -> None:
        """Something to know. `values` goes into the JSON line only."""
        if self._watch is not None:
            self._watch.note(message)
        else:
            self._write({"event": "note", "message": message, **values} if self._as_json else message)

    def step(self, metrics: Mapping[str, Any]) -> None:
        for reporter in self._reporters:
            reporter.step(metrics)
        if self._watch is not None:
            self._watch.step(metrics)
        else:
            self._write({"event": "step", **metrics} if self._as_json else _format_step(metrics))

    def _write(self, line: str | Mapping[str, Any]) -> None:
        text = line if isinstance(line, str) else orjson.dumps(line).decode()
        print(text, file=self._stream or sys.stdout, flush=True)


def success_rates(groups: list[Group], success_at: float) -> dict[str, Any]:
    """Clean and noisy success of these groups, per noise type too, and mean rewards; None where an arm is
    empty.
    """
    arms: dict[str, list[bool]] = {}
    rewards: dict[str, list[float]] = {}
    for group in groups:
        for rollout in group.rollouts:
            rewards.setdefault(str(rollout.arm), []).append(rollout.reward)
            solved = rollout.reward >= success_at
            arms.setdefault(str(rollout.arm), []).append(solved)
            if rollout.noise_type is not None:
                arms.setdefault(rollout.noise_type, []).append(solved)
    rates = {name: sum(solved) / len(solved) for name, solved in sorted(arms.items())}
    return {
        "clean_success": rates.pop("clean", None),
        "noisy_success": rates.pop("noisy", None),
        "success_by_type": rates,
        "rewards": {arm: sum(given) / len(given) for arm, given in sorted(rewards.items())},
    }


def _format_step(metrics: Mapping[str, Any]) -> str:
    def share(name: str) -> str:
        return "  –  " if metrics[name] is None else f"{100 * metrics[name]:4.0f}%"

    levels = " ".join(f"{name}:{level}" for name, level in metrics["levels"].items())
    fields = (
        f"step {metrics['step']:>3}",
        str(metrics["version"]),
        f"groups {metrics['groups']} ({metrics['filtered_groups']} even)",
        f"clean {share('clean_success')}",
        f"noisy {share('noisy_success')}",
        f"loss {metrics['loss']:+.4f}",
        f"kl {metrics['kl']:.1e}",
        f"clipped {share('clip_share')}",
        f"entropy {metrics['entropy']:.3f}",
        f"rho {metrics['rho']:.2f}",
        f"{metrics['seconds']:.1f} s",
    )
    line = "  ".join(fields) + (f"  levels {levels}" if levels else "")
    return "\n".join([line, *_format_gaps(metrics)])


def _format_gaps(metrics: Mapping[str, Any]) -> list[str]:
    """A line for each noise type with data: its gap with the interval, and what was exposed."""
    width = max(map(len, metrics["gaps"]), default=0)
    lines = []
    for name, rate in metrics["exposure_rates"].items():
        if rate is not None:
            gap, interval, counted = (
                metrics[each][name] for each in ("gaps", "gap_intervals", "counted_gaps")
            )
            shown = (
                "gap unknown" if gap is None else f"gap {gap:+.3f} [{interval[0]:+.3f}, {interval[1]:+.3f}]"
            )
            whole = "" if counted is None else f", undivided {counted:+.3f}"
            lines.append(f"  {name:<{width}}  {shown}{whole}, {100 * rate:.0f}% exposed")
    return lines


def intake_figures(
    taken: TakenGroups, batch: TrainingBatch, before: Measurement, config: TrainConfig
) -> dict[str, Any]:
    """What the step took and what of it could train: in groups, rollouts and tokens."""
    rollouts = [rollout for group in taken.groups for rollout in group.rollouts]
    return {
        "groups": len(taken.groups),
        "filtered_groups": batch.filtered_groups,
        "refilled_groups": max(0, len(taken.groups) - config.groups_per_step),
        "dropped_groups": dict(taken.reasons),
        "reward_disagreements": dict(taken.disagreements),
        "other_sized_groups": sum(
            len(group.rollouts) + len(group.left_out) != config.group_size for group in taken.groups
        ),
        "flat_arms": batch.flat_arms,
        "rollouts": len(rollouts),
        "trained_rollouts": len(batch.samples),
        "refused": count_refusals(taken.groups, batch),
        "splits": batch.splits,
        "tokens": before.tokens,
        "staleness": max((rollout.staleness for rollout in rollouts), default=0),
    }


def update_figures(learned: UpdateResult, before: Measurement, moved: float) -> dict[str, Any]:
    """What the optimiser's steps came to. `moved`: how far, in nats per token (`Learner.divergence`)."""
    return {
        "loss": learned.loss,
        "kl": moved,
        "clip_share": learned.clip_share,
        "gradient_norm": learned.gradient_norm,
        "optimiser_steps": learned.optimiser_steps,
        "not_finite": learned.not_finite,
        "entropy": before.entropy,
        **_engine_gap_figures(before.engine_gap),
        "drift": before.drift,
        "effective_share": before.effective_share,
    }


def _engine_gap_figures(gap: Difference | None) -> dict[str, float | None]:
    """How far the engine's log-probabilities were from the trainer's; None where no token tells."""
    return {
        "engine_gap": gap.largest if gap else None,
        "engine_gap_mean": gap.mean if gap else None,
        "engine_gap_percentile_99": gap.percentile_99 if gap else None,
    }


def publication_figures(publication: DeployedVersion | None) -> dict[str, Any]:
    """How the version got into service; nothing where it wasn't published."""
    if publication is None:
        return {}
    return {
        "swap_ms": publication.swap_ms,
        "confirmed_difference": publication.difference.largest,
        "confirmed_tokens": publication.difference.tokens,
    }


def check_bench(arguments: Sequence[str]) -> str | None:
    """Why the bench can't be run with these arguments, in one line; None if it can."""
    try:
        run_bench([*arguments, "--check"])
    except BenchError as error:
        return str(error)
    return None


def evaluate(arguments: Sequence[str], out: Path, progress: Progress) -> None:
    """Run the bench with these arguments, write its JSON to `out`, and report each arm's success. A failure
    is reported, not raised: training goes on.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        run_bench([*arguments, "--json", str(out)])
    except BenchError as error:
        progress.note(f"evaluation failed with exit code {error.code}: {error}")
        return
    arms = orjson.loads(out.read_bytes())["arms"]
    rates = {name: arm["success"] for name, arm in arms.items() if arm["success"] is not None}
    shown = ", ".join(f"{name} {100 * rate:.0f}%" for name, rate in rates.items())
    progress.note(f"evaluation: {shown} ({out})", success=rates)
