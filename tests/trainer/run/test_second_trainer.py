"""Two trainers at the same work: the second one is refused, and neither publishes over the other."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.commands.policy import policy as policy_command
from crosswind.policies.deployment.confirmation import Confirmation
from crosswind.policies.deployment.deployment import JournalObserver
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import Registry
from crosswind.trainer.learning import model
from crosswind.trainer.run.engine_ownership import EngineTaken
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from crosswind.trainer.run.run import Run
from tests.trainer.practice import FIRST, make_run, play_groups, settings
from tests.trainer.processes import run_trainer, start_trainer


def started(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return run_trainer("run", *arguments, "--wait", "0.1")


def test_a_run_and_an_engine_have_one_trainer_on_a_store(
    first_policy: Path, engine_url: str, tmp_path: Path
) -> None:
    given = ["--store", f"sqlite:///{tmp_path}/store.db", "--policy", str(first_policy)]
    given += ["--curriculum", "off"]
    first = [*given, "--engine", engine_url, "--run", "one", "--out", str(tmp_path / "one")]
    with start_trainer(*first) as process:
        assert process.stdout is not None
        # Before that it may say whose place it takes on the engine, which other tests publish to.
        assert any("waiting for groups" in line for line in process.stdout)
        who = f"(process {process.pid}, --out {tmp_path / 'one'})"
        (alias := tmp_path / "alias").symlink_to(tmp_path)
        for store in (tmp_path, alias):
            again = ["--store", f"sqlite:///{store}/store.db", "--run", "one", "--out", str(tmp_path / "two")]
            done = started([*given, *again])
            assert done.returncode == 2
            assert done.stderr == (
                f"crosswind: --run: another trainer has run 'one' on this store {who}; "
                "end that one, or name another\n"
            )
        done = started([*given, "--engine", f"{engine_url}/v1", "--out", str(tmp_path / "two")])
        assert done.returncode == 2
        assert f"--engine: another trainer has the engine at {engine_url} on this store {who}" in done.stderr
        done = started(first)
        assert done.returncode == 2
        assert f"--out: another trainer is at work in {tmp_path / 'one'} {who}" in done.stderr
        done = started([*given, "--run", "two", "--out", str(tmp_path / "two")])
        assert done.returncode == 1 and "no group completed" in done.stderr, "another run is no second one"
    done = started(first)
    assert done.returncode == 1 and "no group completed" in done.stderr, "it was killed: the locks are free"


@dataclass(frozen=True)
class Meddler(JournalObserver):
    """Does something to the engine once a version is confirmed."""

    when: str
    meddle: Callable[[], object]

    def on_confirmed(self, version: str, confirmation: Confirmation) -> None:
        if version == self.when:
            self.meddle()


def meddler(run: Run, meddle: Callable[[], object]) -> Meddler:
    """After the first step."""
    return Meddler(run.registry.journal, "embedded", "run-00001", meddle)


@pytest.fixture
def ready(store: SqliteStore, first_policy: Path, tmp_path: Path, engine: EmbeddedEngine) -> Run:
    """A run of two steps, whose groups are there."""
    play_groups(store, model.load(first_policy), range(4), reward=lambda done: done[-1].token_ids[0] % 5 / 4)
    return make_run(tmp_path / "out", first_policy, store, settings(steps=2), engine=engine)


def test_what_another_trainer_published_is_not_published_over(
    ready: Run, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    other = replace(
        ready,
        name="other",
        out=tmp_path / "other",
        registry=Registry(tmp_path / "other" / "versions"),
        config=settings(steps=1),
    )
    run = replace(ready, observers=[meddler(ready, lambda: train(other))])
    with pytest.raises(EngineTaken) as caught:
        train(run)
    said = str(caught.value)
    assert said.startswith("the engine serves 'other-00001', which run 'run' didn't give it")
    assert "started again, it goes on after step 2" in said and "\n" not in said
    assert engine.health().version == "other-00001"

    said_again = StringIO()
    assert train(make_run(ready.out, ready.policy, ready.store, settings(steps=2), engine=engine)).step == 2
    again = make_run(
        other.out,
        ready.policy,
        ready.store,
        settings(steps=1),
        engine=engine,
        progress=Progress(as_json=False, stream=said_again),
    )
    train(replace(again, name="other"))
    assert engine.health().version == "other-00001"
    assert "the engine served 'run-00002'; 'other-00001' of this run takes its place" in said_again.getvalue()


def test_a_trainer_of_the_same_name_elsewhere_is_another_one(
    ready: Run, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    out = tmp_path / "elsewhere"
    assert isinstance(ready.store, SqliteStore)
    ready.store.backup(tmp_path / "copy.db")
    store = SqliteStore(tmp_path / "copy.db")
    config = settings(steps=1, optimiser__learning_rate=0.01)
    other = make_run(out, ready.policy, store, config, engine=engine)
    run = replace(ready, observers=[meddler(ready, lambda: train(other))])
    with pytest.raises(EngineTaken, match="the engine serves 'run-00001'"):
        train(run)
    store.close()


def test_a_version_rolled_back_by_hand_stops_nothing(
    ready: Run, engine: EmbeddedEngine, engine_url: str
) -> None:
    def by_hand() -> None:
        given = ["rollback", str(ready.registry.root), "--engine", engine_url, "--reason", "by hand"]
        done = CliRunner().invoke(policy_command, given)
        assert done.exit_code == 0, done.output
        assert engine.health().version == FIRST

    train(replace(ready, observers=[meddler(ready, by_hand)]))
    assert engine.health().version == "run-00002"
