"""A training run: its settings and resources, and how it begins or resumes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from crosswind.gateway.client import Client
from crosswind.gateway.trajectory.backlog import Backlog
from crosswind.gateway.trajectory.record import TrainStep
from crosswind.gateway.trajectory.store import Store
from crosswind.gateway.trajectory.trust import VERSION, untrusted_versions
from crosswind.policies.deployment.confirmation import Probe
from crosswind.policies.deployment.deployment import (
    DeployedVersion,
    Deployment,
    DeploymentObserver,
    JournalObserver,
)
from crosswind.policies.deployment.reference import probe
from crosswind.policies.engine import Engine, EngineError
from crosswind.policies.versions.version import (
    PolicyVersion,
    Registry,
    VersionError,
    check_name,
    read_version,
)
from crosswind.trainer.config.settings import SettingsError, TrainConfig
from crosswind.trainer.grading.grader import Grader, Grading
from crosswind.trainer.learning.learner import Learner
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.learning.worker_group import WorkerGroup
from crosswind.trainer.rewards.given import given
from crosswind.trainer.rewards.reward import resolve_reward
from crosswind.trainer.rollouts.assembly import assemble_batch
from crosswind.trainer.rollouts.batches import Sample
from crosswind.trainer.rollouts.cursor import GroupCursor
from crosswind.trainer.rollouts.groups import Admission, Group
from crosswind.trainer.rollouts.running_mean import RunningMeans
from crosswind.trainer.rollouts.source import GroupSource
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.checkpoint import RunState
from crosswind.trainer.run.engine_ownership import EngineOwnership, EngineTaken
from crosswind.trainer.run.progress import Progress, publication_figures
from crosswind.trainer.run.publication import export, first_version
from crosswind.trainer.run.start import Start, make_learner


@dataclass(frozen=True, slots=True)
class Run:
    """A run's settings, its places and what it works with.

    Without an engine versions are only exported; without a sink noise is not steered.
    """

    config: TrainConfig
    name: str
    policy: Path
    """The directory of the first policy version."""
    out: Path
    """Checkpoints go to `checkpoints`, evaluations to `evaluations` under it."""
    registry: Registry
    store: Store
    progress: Progress
    stop: Event = field(default_factory=Event)
    """Set: end after the current step."""
    engine: Engine | None = None
    sink: Client | None = None
    fresh: bool = False
    """Refuse to go on from a checkpoint."""
    recorded: Store | None = None
    """Train on this store's groups, whichever policy sampled them: offline. Nothing is written to it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Train on groups only whose sessions carry these labels."""
    observers: Sequence[DeploymentObserver] = ()
    """Told which versions the engine serves correctly, beside the registry's journal."""
    grader: Grader | None = None
    """Gives sessions their rewards; None: others do."""
    ownership: EngineOwnership = field(default_factory=EngineOwnership)
    workers: WorkerGroup = field(default_factory=WorkerGroup)
    """The processes that share a step's work; this one is rank 0."""

    @property
    def checkpoints(self) -> Path:
        return self.out / "checkpoints"

    def source(self, state: RunState) -> GroupSource:
        return GroupSource(
            self.recorded or self.store,
            self.labels,
            None if state.cursor is None else GroupCursor.from_json(state.cursor),
            alone=self.config.train_on == "sessions",
            reward=given if self.grader else resolve_reward(self.config.reward),
            poll_seconds=self.config.poll_seconds,
            group_deadline=self.config.group_deadline,
            leg_deadline=self.config.leg_deadline,
            say=self.progress.note,
            tell=self.tell_backlog,
            grading=None if self.grader is None else Grading(self.store, self.grader, self.progress.note),
        )

    def tell_backlog(self, position: int, waiting: int, *, at_work: bool = True) -> None:
        """Tell the gateway, by the store, how far this run is behind. Offline nobody has to know."""
        if self.recorded is None:
            backlog = Backlog(
                self.name,
                position,
                waiting,
                self.config.most_groups,
                self.config.train_on == "sessions",
                self.labels,
                at_work,
            )
            self.store.write([backlog.to_setting(time.time_ns() // 1000)])

    def running_means(self, state: RunState) -> RunningMeans | None:
        """The baselines as they stand; None where advantages come from groups."""
        if self.config.baseline != "running":
            return None
        return RunningMeans.from_json(self.config.running, state.running_means)

    def admission(self, state: RunState, policy: Policy) -> Admission:
        """What rollouts must meet to train on top of this state."""
        return Admission(
            state.ordinals,
            self.config.staleness,
            self.config.temperature,
            doubted=untrusted_versions(self.store.settings(VERSION)),
            is_retired=state.owns,
            void_failures=self.config.failed_rollouts == "void",
            any_version=self.recorded is not None,
            vocabulary=policy.vocabulary,
        )

    def compared_version(self, state: RunState) -> str:
        """The version whose recorded log-probabilities must be ours; "" offline, where names say nothing."""
        return "" if self.recorded is not None else state.version

    def deployment(self) -> Deployment | None:
        """The engine with all who are told of it; None without one."""
        if self.engine is None:
            return None
        observers = [*self.observers, JournalObserver(self.registry.journal, self.engine.name)]
        return Deployment(self.engine, observers, self.config.logprob_tolerance)

    def move_on(self, state: RunState, version: str) -> RunState:
        """The state once the version is the newest. Versions that are too old to train on are left out."""
        versions = [*state.versions, version]
        retired = max(0, len(versions) - max(self.config.staleness + 1, self.config.keep_versions))
        return replace(state, version=version, versions=versions[retired:], older=state.older + retired)

    def previous_version(self, state: RunState) -> PolicyVersion | None:
        """The version before the one that the weights are; None where that is the first."""
        if len(state.versions) < 2:
            return None
        name = state.versions[-2]
        return read_version(self.policy) if name == state.first else self.registry.get(name)

    def plan_step(self, number: int, groups: Sequence[Group]) -> TrainStep:
        """The write-ahead row of a step: its number, groups, seeds, and the rewards as they stand."""
        seeds = {
            "torch": self.config.seed * 1_000_003 + number,
            "mini_batches": f"{self.config.seed}|{self.name}|{number}",
        }
        ids = tuple(group.id for group in groups)
        rewards = {rollout.session.id: rollout.reward for group in groups for rollout in group.rollouts}
        return TrainStep(self.name, number, ids, seeds, time.time_ns() // 1000, rewards=rewards)

    def find_unfinished(self, number: int) -> TrainStep | None:
        """The write-ahead row of a step that was begun and never completed."""
        rows = [row for row in self.store.steps(self.name) if row.step == number and row.completed_us is None]
        return rows[0] if rows else None

    def complete_step(self, planned: TrainStep, state: RunState, metrics: Mapping[str, Any]) -> None:
        """Complete a step's row, once its version is in service."""
        done = replace(
            planned, policy_version=state.version, metrics=metrics, completed_us=time.time_ns() // 1000
        )
        self.store.complete_step(done)


def begin_or_resume(run: Run) -> tuple[Learner, RunState]:
    """The learner and where the run stands: its newest checkpoint, or the first policy."""
    try:
        check_name(f"{run.name}-00001")
    except VersionError as error:
        raise SettingsError(f"--run: its versions couldn't be exported; {error}") from None
    first = first_version(run.policy)
    path = checkpoint.find_newest(run.checkpoints)
    if path is not None and run.fresh:
        raise SettingsError(f"--fresh: {run.out} holds a run's checkpoints already; name another --out")
    if path is None and any(step.completed_us for step in run.store.steps(run.name)):
        raise SettingsError(
            f"--run: the store holds steps of run {run.name!r}, whose checkpoints aren't in {run.out}; "
            "name another --run, or the --out of that one"
        )
    start = Start(run.config, run.policy, first, path)
    if path is None:
        name = first.version
        fresh = RunState(run.name, first.checksum, version=name, first=name, versions=[name])
        return _make_learner(run, start), fresh
    state = checkpoint.read_state(path)
    if (state.run, state.first) != (run.name, first.version):
        raise SettingsError(
            f"--out: {path} is of run {state.run!r}, begun from {state.first!r}, and not of run "
            f"{run.name!r} from {first.version!r}; name those, or another --out"
        )
    if state.first_checksum != first.checksum:
        raise SettingsError(
            f"--policy: {run.policy} isn't what run {run.name!r} began from: its files were changed; "
            "name an unchanged copy, or another --run and --out"
        )
    learner = _make_learner(run, start)
    run.progress.note(f"resumed after step {state.step} with version {state.version}", step=state.step)
    return learner, state


def _make_learner(run: Run, start: Start) -> Learner:
    learner = make_learner(start, run.workers)
    if not learner.policy.sharing.branches:
        run.progress.note(
            "of rollouts that begin alike, whole sequences are computed once, and not their beginnings: "
            f"{learner.policy.unshared}"
        )
    return learner


def finish_interrupted(run: Run, learner: Learner, state: RunState) -> None:
    """Finish what a crash after the checkpoint left undone: the publication and the step's row."""
    checkpoint.retain(run.checkpoints, run.config.keep_checkpoints)
    _begin_with_engine(run, state)
    last = next((row for row in run.store.steps(run.name) if row.step == state.step), None)
    samples: list[Sample] = []
    if last is not None:
        admission = replace(run.admission(state, learner.policy), staleness=state.older + len(state.versions))
        groups = run.source(state).reload(last, admission).groups
        means = run.running_means(state)
        seed = last.seeds["mini_batches"]
        samples = assemble_batch(groups, run.config, run.compared_version(state), seed, means).samples
    publication = deploy_version(run, learner, state, samples)
    if last is not None and last.completed_us is None:
        run.complete_step(last, state, {**state.metrics, **publication_figures(publication)})


def deploy_version(
    run: Run, learner: Learner, state: RunState, samples: Sequence[Sample]
) -> DeployedVersion | None:
    """Export the state's version where it isn't the first one; serve and confirm it where there is an
    engine, on the samples, or on a probe of our own where there are none.

    Raises EngineTaken where somebody else published to the engine meanwhile.
    """
    version = read_version(run.policy)
    run.registry.adopt(version)
    if state.version != state.first:
        version = export(learner.policy, state, run.registry, run.checkpoints)
    service = run.deployment()
    if service is None:
        return None
    if (others := _describe_foreign(run, state)) is not None:
        raise EngineTaken(
            f"{others}; nothing was published over it. End what publishes there, or give this run an engine "
            f"of its own; started again, it goes on after step {state.step}"
        )

    def probe_of(which: PolicyVersion) -> Probe:
        if which.version == state.version and samples:
            return learner.probe(samples[: run.config.probe_rollouts])
        return probe(which)

    served = service.deploy(version, run.previous_version(state), probe_of)
    for trouble in served.problems:
        run.progress.note(trouble)
    run.registry.retain(run.config.keep_versions, protected=frozenset(state.versions[-2:]))
    return served


def _begin_with_engine(run: Run, state: RunState) -> None:
    """Take over the engine, and report a version that isn't this run's."""
    if run.engine is None:
        return
    other = run.ownership.begin(run.engine, state.owns)
    if other is not None:
        run.progress.note(f"the engine served {other!r}; {state.version!r} of this run takes its place")


def _describe_foreign(run: Run, state: RunState) -> str | None:
    """Describe a version that somebody else published to the engine; None if nobody did."""
    if run.engine is None:
        return None
    other = run.ownership.find_foreign(run.engine, state.owns, run.registry)
    if other is None:
        return None
    return (
        f"the engine serves {other!r}, which run {run.name!r} didn't give it: another trainer or a person did"
    )


def roll_back(run: Run, state: RunState, reason: str) -> str:
    """The engine was seen not to serve the state's version: nothing that it samples may be trained on, and
    the version before serves again. Says what came of it.
    """
    service = run.deployment()
    if service is None:
        return "there is no engine to roll back"
    service.report_doubt(state.version, reason)
    try:
        if (others := _describe_foreign(run, state)) is not None:
            return "; ".join([others, *service.unreported])
        previous = run.previous_version(state)
    except (VersionError, EngineError) as error:
        return str(error)
    return "; ".join([service.roll_back_to(previous, probe), *service.unreported])
