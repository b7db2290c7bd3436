"""Export a run's versions into the registry, once each."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from crosswind.policies.versions.version import PolicyVersion, Registry, VersionError, checksum, read_version
from crosswind.trainer.errors import RunFailed
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.run.checkpoint import RunState, copy_policy, locate


class PublicationError(RunFailed):
    """A version can't be exported under its name."""


def first_version(directory: Path) -> PolicyVersion:
    """The version that a run starts from. Raises VersionError where the directory holds none."""
    version = read_version(directory)
    if version.checksum and checksum(directory) != version.checksum:
        raise VersionError(
            f"--policy: the files of {directory} aren't those of version {version.version!r} any longer; "
            "name an unchanged directory"
        )
    return version


def export(policy: Policy, state: RunState, registry: Registry, checkpoints: Path) -> PolicyVersion:
    """Put the weights of the state's checkpoint, which are the policy's, into the registry under
    `state.version`. Where an interrupted run did, that is kept.

    Raises PublicationError where the name is taken by other weights.
    """
    target = registry.root / state.version
    if not target.exists():
        parent = state.versions[-2] if len(state.versions) > 1 else None
        return registry.add(
            state.version,
            partial(copy_policy, locate(checkpoints, state.step), weights_file=policy.weights_file),
            parent=parent,
            step=state.step,
            base=policy.base,
            run=state.run,
            metrics=dict(state.metrics),
        )
    version = registry.get(state.version)
    if not policy.equals(version.path / policy.weights_file):
        raise PublicationError(
            f"version {state.version!r} is in {registry.root} already, with other weights: name another --run"
        )
    return version
