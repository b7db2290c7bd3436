"""The training loop: take groups from the store, learn, save a checkpoint, publish, update the curriculum.

A step's number, groups, rewards and seeds are written to the store before the step is computed. The step has
been taken once its checkpoint is renamed into place. A run that is killed before that repeats the step from
the same row with the same result, bit for bit on one CPU thread. What follows the checkpoint (publishing,
completing the row) is done at the next start.

A step's work may be shared by several processes, of which this is the first. The only learning-rate schedule
is a warm-up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from crosswind.gateway.trajectory.record import TrainStep
from crosswind.trainer.curriculum.driver import CurriculumDriver
from crosswind.trainer.errors import RunFailed, RunRefused
from crosswind.trainer.learning.learner import Learner, Measurement, UpdateResult
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.rollouts.assembly import assemble_batch
from crosswind.trainer.rollouts.batches import Sample
from crosswind.trainer.rollouts.source import GroupSource, NoGroups, TakenGroups, describe_reasons
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.checkpoint import RunState
from crosswind.trainer.run.progress import (
    evaluate,
    intake_figures,
    publication_figures,
    success_rates,
    update_figures,
)
from crosswind.trainer.run.run import Run, begin_or_resume, deploy_version, finish_interrupted, roll_back

_UNMOVED = 20
"""After so many steps without a changed weight the run says so."""


class EngineMismatch(RunFailed):
    """The engine's recorded log-probabilities aren't ours: what it serves isn't what we train."""


@dataclass(frozen=True, slots=True)
class _StepOutcome:
    """What a step's groups came to. `moved`: whether the weights are others than before."""

    samples: Sequence[Sample]
    moved: bool
    figures: Mapping[str, Any]
    running_means: Mapping[str, Any]


def train(run: Run) -> RunState:
    """Train until `steps` or until told to stop; gives the state that the run is in then.

    Raises EngineMismatch, NotConfirmed or EngineError where the engine doesn't serve what is trained,
    NoGroups where nothing comes, RunRefused, SettingsError, ModelError, VersionError or CheckpointError
    before anything is done.
    """
    config = run.config
    learner, state = begin_or_resume(run)
    try:
        driver = CurriculumDriver(config.curriculum, config.advantages, state.curriculum)
    except ValueError as error:
        raise RunRefused(str(error)) from error
    source = run.source(state)
    finish_interrupted(run, learner, state)
    if state.step == 0:
        driver.continue_numbering(run.sink)
    _declare(run, driver)
    if state.step < config.steps:
        run.progress.note(f"waiting for groups, to train version {state.version}", version=state.version)

    while state.step < config.steps and not run.stop.is_set():
        # Groups, and the write-ahead row.
        number, waiting = state.step + 1, time.monotonic()
        begun = _begin(run, source, state, number, learner.policy)
        if begun is None:
            break
        taken, planned = begun
        started = time.monotonic()
        learned = _learn(run, learner, state, taken, planned)

        # The curriculum, for sessions that open from now on.
        changes = driver.observe(taken.groups)
        trained = time.monotonic() - started

        # The checkpoint: with its rename the step has been taken.
        version = f"{run.name}-{number:05d}" if learned.moved else state.version
        figures: dict[str, Any] = {
            "step": number,
            "version": version,
            **learned.figures,
            **driver.metrics(),
            "waited_seconds": started - waiting,
            "train_seconds": trained,
            "tokens_per_second": learned.figures["tokens"] / max(trained, 1e-9),
        }
        state = _advance(run, state, source, driver, learned, figures)
        checkpoint.save(run.checkpoints, learner.policy, learner.optimiser, state)

        # The new version: exported, served, confirmed on this step's own rollouts.
        publication = deploy_version(run, learner, state, learned.samples)
        figures |= publication_figures(publication) | {"seconds": time.monotonic() - started}
        run.complete_step(planned, state, figures)
        _finish(run, state, driver, figures, changes)

    return state


def _advance(
    run: Run,
    state: RunState,
    source: GroupSource,
    driver: CurriculumDriver,
    learned: _StepOutcome,
    figures: Mapping[str, Any],
) -> RunState:
    """The state after a step with these figures."""
    return replace(
        run.move_on(state, figures["version"]) if learned.moved else state,
        step=figures["step"],
        cursor=source.cursor.to_json(),
        curriculum=driver.to_json(),
        unmoved=0 if learned.moved else state.unmoved + 1,
        running_means=learned.running_means,
        metrics=figures,
    )


def _begin(
    run: Run, source: GroupSource, state: RunState, number: int, policy: Policy
) -> tuple[TakenGroups, TrainStep] | None:
    """The groups of a step and its write-ahead row: those of an interrupted step, else the groups that
    completed first. None where the run is told to stop meanwhile.
    """
    config, planned = run.config, run.find_unfinished(number)
    admission = run.admission(state, policy)
    if planned is not None:
        taken = source.reload(planned, admission)
        if gone := [group.id for group in taken.groups if group.gone]:
            run.progress.note(
                f"step {number} goes on without groups that were deleted since: {', '.join(gone)}"
            )
        return taken, planned
    found = source.take(
        config.groups_per_step,
        admission,
        run.stop,
        most=config.most_groups,
        wait_seconds=config.wait_seconds,
        ended=run.recorded is not None,
    )
    if found is None:
        return None
    if not found.groups:
        if state.step == 0 and found.reasons:
            raise NoGroups(f"--from: no group of the store can train: {describe_reasons(found)}")
        run.progress.note(f"the store has no further groups that train: step {number} isn't taken")
        return None
    planned = run.plan_step(number, found.groups)
    run.store.plan_step(planned)
    return found, planned


def _learn(
    run: Run, learner: Learner, state: RunState, taken: TakenGroups, planned: TrainStep
) -> _StepOutcome:
    """Sequences and advantages, scored by the weights as they are; then the optimiser's steps on them."""
    config = run.config
    torch.manual_seed(planned.seeds["torch"])
    means = run.running_means(state)
    seed = planned.seeds["mini_batches"]
    batch = assemble_batch(taken.groups, config, run.compared_version(state), seed, means)
    before = learner.measure(batch)
    _compare_with_engine(run, state, before)
    if before.oversized:
        run.progress.note(
            f"step {planned.step}: a micro-batch of {before.oversized} is above optimiser.token_budget "
            f"({learner.token_budget}), since no rollout is divided: it is taken alone; where that "
            "doesn't fit into memory, set checkpointing=true, or max_sequence to leave such rollouts out"
        )
    if before.effective_share >= config.minimum_effective_share:
        learned = learner.update(before, planned.step)
        for each in learned.halved:
            run.progress.note(
                f"step {planned.step}: a micro-batch of {each} didn't fit into memory and was halved; "
                f"micro-batches have at most {learner.token_budget} tokens from now on"
            )
    else:
        learned = UpdateResult()
        run.progress.note(
            f"step {planned.step} moved no weight: its effective sample size is "
            f"{100 * before.effective_share:.0f} % of {before.tokens} tokens, and minimum_effective_share is "
            f"{config.minimum_effective_share:g}; lower `staleness`, or take loss.importance=mean"
        )
    divergence = learner.divergence(before) if learned.optimiser_steps else 0.0
    figures = {
        **intake_figures(taken, batch, before, config),
        **success_rates(taken.groups, config.curriculum.gap.success_at),
        **update_figures(learned, before, divergence),
    }
    if means is not None:
        means.add([rollout for group in taken.groups for rollout in group.rollouts])
    kept = means.to_json() if means is not None else {}
    return _StepOutcome(batch.samples, bool(learned.optimiser_steps), figures, kept)


def _finish(
    run: Run, state: RunState, driver: CurriculumDriver, figures: dict[str, Any], changes: Sequence[str]
) -> None:
    """Give the curriculum to those who plan sessions, and report the step."""
    config, progress, number = run.config, run.progress, figures["step"]
    run.store.write(driver.to_settings(run.name))
    _declare(run, driver)
    checkpoint.retain(run.checkpoints, config.keep_checkpoints)
    progress.step(figures)
    if state.unmoved and state.unmoved % _UNMOVED == 0:
        progress.note(
            f"the last {state.unmoved} steps moved no weight: {figures['filtered_groups']} of "
            f"{figures['groups']} groups of this one have all rewards equal, and refused rollouts are "
            f"{figures['refused'] or 'none'}; other tasks, more rollouts a group or another reward may help"
        )
    for change in changes:
        progress.note(f"curriculum: {change}")
    if config.evaluate_every and number % config.evaluate_every == 0:
        out = run.out / "evaluations" / f"step-{number:06d}.json"
        evaluate(config.evaluate_arguments, out, progress)


def _declare(run: Run, driver: CurriculumDriver) -> None:
    """A control plane that doesn't answer is told again after the next step; training goes on."""
    trouble = driver.declare(run.sink)
    if trouble is not None:
        run.progress.note(f"the curriculum was not declared: {trouble}")


def _compare_with_engine(run: Run, state: RunState, before: Measurement) -> None:
    """Say before the first update how far apart trainer and engine are; refuse to train where it is too
    far.
    """
    gap, tolerance = before.engine_gap, run.config.logprob_tolerance
    if gap is None:
        return
    if state.step == 0:
        run.progress.note(
            "before the first update: the trainer's log-probabilities differ from those that the engine "
            f"recorded by {gap}",
            max_difference=gap.largest,
            mean_difference=gap.mean,
            tokens=gap.tokens,
        )
    if not gap.is_rounding(tolerance):
        reason = (
            f"the engine recorded log-probabilities for version {state.version!r} that differ from the "
            f"trainer's by {gap} (logprob_tolerance is {tolerance:g}): it serves other weights, or "
            f"samples at another temperature than {run.config.temperature:g}"
        )
        raise EngineMismatch(f"{reason}; nothing was trained on it; {roll_back(run, state, reason)}")
