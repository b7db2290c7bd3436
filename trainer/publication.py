"""Export, publish, confirm: a version's turns count for training only once the engine is seen to serve it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policies.confirmation import Probe, confirm
from policies.engine import Engine
from policies.version import PolicyVersion, Registry, VersionError, checksum, read_version
from trainer.checkpoint import State
from trainer.model import WEIGHTS, Policy


class PublicationError(Exception):
    """The engine doesn't serve what was trained. The message says what it serves now."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A version that the engine serves and that was confirmed on `tokens` tokens (0: nothing to confirm it
    with).
    """

    version: str
    swap_ms: float
    max_difference: float
    tokens: int


def first_version(directory: Path) -> PolicyVersion:
    """The version that a run starts from. Raises VersionError where the directory holds none."""
    version = read_version(directory)
    if version.checksum and checksum(directory) != version.checksum:
        raise VersionError(
            f"--policy: the files of {directory} aren't those of version {version.version!r} any longer; "
            "name an unchanged directory"
        )
    return version


def export(policy: Policy, state: State, registry: Registry) -> PolicyVersion:
    """Put the weights into the registry under `state.version`. Where an interrupted run did, that is kept.

    Raises PublicationError where the name is taken by other weights.
    """
    target = registry.root / state.version
    if not target.exists():
        parent = state.versions[-2] if len(state.versions) > 1 else None
        return registry.add(
            state.version,
            policy.write,
            parent=parent,
            step=state.step,
            run=state.run,
            metrics=dict(state.metrics),
        )
    version = registry.get(state.version)
    if not policy.equals(version.path / WEIGHTS):
        raise PublicationError(
            f"version {state.version!r} is in {registry.root} already, with other weights: name another --run"
        )
    return version


def publish(
    engine: Engine,
    version: PolicyVersion,
    previous: PolicyVersion | None,
    probe: Probe | None,
    tolerance: float,
) -> Publication:
    """Have the engine serve a version and compare log-probabilities; roll back to `previous` where they
    differ.

    Raises EngineError where the engine refuses, PublicationError where it serves something else than was
    trained.
    """
    swap_ms = 0.0
    if engine.health().version != version.version:
        swap_ms = engine.publish(version).swap_ms
    if probe is None or not probe.prompts:
        return Publication(version.version, swap_ms, 0.0, 0)
    confirmation = confirm(engine, version.version, probe)
    if confirmation.max_difference <= tolerance:
        return Publication(version.version, swap_ms, confirmation.max_difference, confirmation.tokens)
    outcome = "there is no earlier version to go back to"
    if previous is not None:
        engine.publish(previous)
        outcome = f"rolled back to {previous.version!r}"
    raise PublicationError(
        f"version {version.version!r}: the engine's log-probabilities differ from the trainer's by up to "
        f"{confirmation.max_difference:.3g} over {confirmation.tokens} tokens, above logprob_tolerance "
        f"({tolerance:g}); {outcome}"
    )
