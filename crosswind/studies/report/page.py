"""The report's page: every number in it is read from the store or from an evaluation's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.figures.breakdown import kind_by_name
from crosswind.gateway.trajectory.prefixes import check_newest_sessions
from crosswind.gateway.trajectory.record import Arm, TrainStep
from crosswind.gateway.trajectory.store import Store
from crosswind.studies.attempts import read_attempts
from crosswind.studies.drop.store import StoreDrop
from crosswind.studies.report import figures
from crosswind.studies.report.doses import dose_table, read_doses
from crosswind.studies.report.example import ReportExample, lay_out
from crosswind.studies.report.figures import CLEAN, NOISY, Series
from crosswind.studies.report.noise_types import type_rows
from crosswind.studies.report.report_table import ReportTable
from crosswind.studies.report.session_list import session_table
from crosswind.studies.report.tables import prefix_table, reward_tables, traffic_tables

_COUNTS = ("sessions", "turns", "events", "rewards")
_PLOTS = ("before_after", "success", "curriculum", "levels", "exposure", "health", "injections")
_EXAMPLES_READ = 400
"""How many of the newest sessions are searched for the example."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`crosswind bench` before and after training, and its comparison of the two."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    comparison: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrainingVerdict:
    """What the paired difference of noisy success says."""

    rose: bool
    text: str


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm's line of the table, in percent."""

    name: str
    n: int
    before: str
    before_interval: str
    after: str
    after_interval: str
    difference: str
    difference_interval: str


def render(store: Store, evaluation: Evaluation | None, drops: Sequence[StoreDrop] = ()) -> str:
    """The page as HTML, self-contained."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    page = Environment(
        loader=PackageLoader("crosswind.studies.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    ).get_template("page.html.jinja")
    steps = [step for run in store.runs() for step in store.steps(run) if step.metrics is not None]
    rows = arm_rows(evaluation) if evaluation else []
    summary, doses = store.summary(), read_doses(store)
    table = dose_table(doses)
    attempts = read_attempts(store, read_in_full=0, kinds=kind_by_name).attempts
    purposes = {one.id: str(one.labels.get("purpose") or "") for one in store.outcomes()}
    void = {one.sessions[0]: one.void.value for one in attempts if one.void is not None}
    types = type_rows(evaluation.before, evaluation.after, summary.noise) if evaluation else []
    return page.render(
        title="Crosswind report",
        lead="Clean and noisy trajectories, and what was learnt from them."
        if steps
        else "What was recorded, and what noise did to it.",
        verdict=verdict(evaluation.comparison) if evaluation else None,
        counts=_counts(store, steps),
        arms=rows,
        types=types,
        protocol=_protocol(evaluation) if evaluation else "",
        plots=_draw_plots(store, steps, evaluation),
        without_plots="" if figures.can_draw() else figures.WITHOUT_PLOTS,
        trained=bool(steps),
        rewards=reward_tables(attempts, purposes, doses),
        drops=drops,
        sessions=session_table(store, void),
        traffic=[*([table] if table.rows else []), *traffic_tables(summary), *_prefixes(store)],
        example=_choose_example(store),
    )


def _prefixes(store: Store) -> list[ReportTable]:
    found = check_newest_sessions(store)
    return [prefix_table(found)] if found else []


def verdict(comparison: Mapping[str, Any]) -> TrainingVerdict | None:
    """Whether noisy success rose: its paired difference and 95 % interval, in words."""
    noisy = comparison["arms"].get("noisy")
    if noisy is None:
        return None
    figures_ = (
        f"from {noisy['before']:.1%} to {noisy['after']:.1%}: paired difference "
        f"{_points(noisy['difference'], '+')} points, 95 % interval {_interval(noisy, '+')}, "
        f"{noisy['n']} held-out tasks"
    )
    if noisy["low"] > 0:
        return TrainingVerdict(True, f"Noisy success rose {figures_}.")
    if noisy["high"] < 0:
        return TrainingVerdict(False, f"Noisy success FELL {figures_}.")
    return TrainingVerdict(False, f"Noisy success did not rise beyond doubt; it went {figures_}.")


def arm_rows(evaluation: Evaluation) -> list[ArmRow]:
    """A row for every arm that both evaluations have, clean first and all noise together last."""
    before, after = evaluation.before["arms"], evaluation.after["arms"]
    rows = []
    for name in (each for each in before if each in after):
        paired = evaluation.comparison["arms"].get(name)
        rows.append(
            ArmRow(
                name,
                int(after[name]["n"]),
                _points(before[name]["success"]),
                _interval(before[name]),
                _points(after[name]["success"]),
                _interval(after[name]),
                _points(paired["difference"], "+") if paired else "n/a",
                _interval(paired, sign="+") if paired else "n/a",
            )
        )
    return rows


def _points(share: float | None, sign: str = "") -> str:
    return "no noise acted" if share is None else f"{100 * share:{sign}.1f}"


def _interval(measured: Mapping[str, Any], sign: str = "") -> str:
    if measured["low"] is None:
        return ""
    return f"[{_points(measured['low'], sign)}, {_points(measured['high'], sign)}]"


_HALVES = {
    "test": "The noise's phrases are of the test half of the packs: training draws from the other half. ",
    "train": "The noise's phrases are of the train half of the packs. ",
}


def _protocol(evaluation: Evaluation) -> str:
    after = evaluation.after
    return (
        f"{after['tasks']} tasks of the {after['environment']} environment's {after['split']} split, "
        f"temperature {after['temperature']:g}, seed {after['seed']}; "
        f"policy {evaluation.before['policy_version']} before, {after['policy_version']} after. "
        f"{_HALVES.get(str(after.get('phrases')), '')}"
        "Intervals of success are Wilson's, those of differences a paired bootstrap over tasks."
    )


def _counts(store: Store, steps: Sequence[TrainStep]) -> list[tuple[str, int]]:
    counts = store.counts()
    return [
        *((name, int(counts[name])) for name in _COUNTS),
        ("training steps", len(steps)),
        ("updates", sum(int((step.metrics or {})["optimiser_steps"]) for step in steps)),
        ("policy versions served", len(store.versions())),
    ]


def _draw_plots(store: Store, steps: Sequence[TrainStep], evaluation: Evaluation | None) -> Mapping[str, str]:
    plots = dict.fromkeys(_PLOTS, "")
    if not figures.can_draw():
        return plots
    if evaluation:
        before, after = evaluation.before["arms"], evaluation.after["arms"]
        plots["before_after"] = figures.plot_before_after(
            {name: (before[name], after[name]) for name in before if name in after}
        )
    if steps:
        plots |= _draw_training_plots(steps)
    if injections := store.injections():
        plots["injections"] = figures.plot_bars(injections, "injections, by operator")
    return plots


def _draw_training_plots(steps: Sequence[TrainStep]) -> dict[str, str]:
    numbers = [step.step for step in steps]
    metrics = [step.metrics or {} for step in steps]

    def column(name: str) -> list[float | None]:
        return [each.get(name) for each in metrics]

    types = sorted({name for each in metrics for name in each.get("levels", {})})
    exposure_series = [
        Series(name, [(each.get("exposure_rates") or {}).get(name) for each in metrics]) for name in types
    ]
    level_series = [Series(name, [each.get("levels", {}).get(name) for each in metrics]) for name in types]
    return {
        "success": figures.plot_lines(
            numbers,
            [
                Series("clean", column("clean_success"), CLEAN),
                Series("noisy", column("noisy_success"), NOISY),
            ],
            "success of rollouts",
            share=True,
        ),
        "curriculum": figures.plot_lines(
            numbers, [Series("noisy share", column("rho"), NOISY)], "noisy share ρ", share=True
        ),
        "levels": figures.plot_lines(numbers, level_series, "severity level", whole=True),
        "exposure": figures.plot_lines(numbers, exposure_series, "exposed, of the assigned", share=True),
        "health": figures.plot_lines(numbers, [Series("entropy", column("entropy"), CLEAN)], "entropy"),
    }


def _choose_example(store: Store) -> ReportExample | None:
    """The newest solved session that recovered from a fault; failing that, one with any injection, solved if
    there is one.
    """
    fallback = None
    newest = store.sessions(limit=_EXAMPLES_READ)
    noisy = [session for session in newest if session.arm is Arm.NOISY]
    for session in sorted(noisy, key=lambda session: not session.reward):
        injected = [event for event in store.events(session.id) if event.after is not None]
        if injected and (found := store.trajectory(session.id)):
            fallback = fallback or found
            if session.reward and any(event.recovery == "retry" for event in injected):
                return lay_out(found)
    return lay_out(fallback) if fallback else None
