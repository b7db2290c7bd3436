"""A disk that is full while a version is published: nothing is left of it, and what serves serves on."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.policies.commands.policy import policy
from crosswind.policies.versions.journal import JournalError, VersionJournal
from crosswind.policies.versions.version import NotWritten, Registry
from crosswind.trainer.config.settings import OptimiserSettings
from crosswind.trainer.learning import model
from crosswind.trainer.learning.optimiser import make_optimiser
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.checkpoint import CheckpointError, RunState
from tests.policies.conftest import Served, add_successor


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Writes beyond this many bytes of a file fail, as on a full disk; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [200_000, 100])
def test_a_version_that_the_disk_doesnt_take_leaves_no_trace(
    served: Served, tmp_path: Path, size: int
) -> None:
    registry = Registry(tmp_path / "versions")
    with (
        no_file_above(size),
        pytest.raises(NotWritten, match=r"'v1' can't be written .* nothing of it was kept"),
    ):
        add_successor(registry, served.first, "v1")
    assert list(registry.root.iterdir()) == []
    assert served.client.health().version == "random-0"
    served.client.publish(add_successor(registry, served.first, "v1"))
    assert served.client.health().version == "v1"


def test_a_checkpoint_that_the_disk_doesnt_take_is_told_and_the_one_before_stays(
    served: Served, tmp_path: Path
) -> None:
    policy = model.load(served.first.path)
    optimiser = make_optimiser(policy.trainable_parameters(), OptimiserSettings())
    checkpoint.save(tmp_path, policy, optimiser, RunState("run", "c", step=1))
    with no_file_above(200_000), pytest.raises(CheckpointError, match=r"step-000002.*can't be written"):
        checkpoint.save(tmp_path, policy, optimiser, RunState("run", "c", step=2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


@pytest.mark.parametrize("room", [0, 10])
def test_a_journal_that_the_disk_doesnt_take_says_so(tmp_path: Path, room: int) -> None:
    journal = VersionJournal(tmp_path)
    journal.append("published", "v1")
    size = journal.path.stat().st_size
    with no_file_above(size + room), pytest.raises(JournalError, match="bad of 'v1' can't be written"):
        journal.append("bad", "v1", reason="r")
    assert [note.event for note in journal.entries()] == ["published"]
    journal.append("good", "v1")
    assert [note.event for note in journal.entries()] == ["published", "good"]


def test_a_version_is_published_and_confirmed_though_the_journal_takes_nothing(
    served: Served, tmp_path: Path
) -> None:
    """What can't be written is said; the engine is set right all the same."""
    registry = Registry(tmp_path / "versions")
    version = add_successor(registry, served.first, "v1")
    with no_file_above(0):
        done = CliRunner().invoke(policy, ["publish", str(version.path), "--engine", served.url])
    assert done.exit_code == 0, done.output
    assert "v1 serves" in done.output and "log-probabilities agree within" in done.output
    assert "published of 'v1' can't be written" in done.output and "free space" in done.output
    assert registry.journal.entries() == []
    again = CliRunner().invoke(policy, ["verify", str(version.path), "--engine", served.url])
    assert again.exit_code == 0 and registry.journal.read_statuses()["v1"].confirmed is not None
