"""One small real run, versions swapped while episodes go on, and what its record proves."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from crosswind.gateway.trajectory.commands.sessions import sessions
from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.prefixes import check_by_model
from crosswind.gateway.trajectory.record import Arm, RewardState, TrainStep, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import Store, open_store
from crosswind.gateway.trajectory.trust import VERSION
from tests.loop.children import ROOT, Children, owner
from tests.loop.replaying import compared

STEPS, GROUPS, SIZE = 2, 2, 8
MOST_STEPS = 10
"""Two steps do, as a rule; a swap seldom finds nothing in flight, and seldom do no two rewards of an arm
differ. Then the run goes on."""
ENOUGH = """
SELECT (SELECT count(DISTINCT policy_version) FROM train_step WHERE completed_us IS NOT NULL) >= ?
   AND EXISTS (SELECT 1 FROM turn WHERE policy_first != policy_last)
"""
RUN = "small"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's store. Workers of one test run share it: the first that needs it makes it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "learning"
    folder.mkdir(exist_ok=True)
    store, done = folder / "store.db", folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            assert not store.exists(), "the run failed where another test needed it"
            with owner(folder / "logs") as children:
                _learn(children, folder, store)
            done.touch()
    return store


def _learn(children: Children, folder: Path, store: Path) -> None:
    """Rollouts go on while the trainer takes its steps. Noise is strong from the start: groups must differ
    within an arm for a step to move the weights."""
    engine = children.engine()
    gateway = children.gateway(engine, store, "--capture", "on", "--seed", "1")
    trainer = children.start(
        *("train", "run", "--preset", "demo", "--policy", "retail", "--run", RUN, "--json-progress"),
        *("--store", f"sqlite:///{store}", "--out", str(folder / "train"), "--engine", engine),
        *("--control", gateway.control, "--steps", str(MOST_STEPS), "--wait", "100"),
        *("--groups-per-step", str(GROUPS), "--group-size", str(SIZE), "--seed", "1"),
        *("--set", "curriculum.gap.warmup_steps=0", "--set", "curriculum.gap.start_level=4"),
        *("--set", "curriculum.gap.rho_start=0.5"),
    )
    trainer.until(lambda: "waiting for groups" in trainer.said)
    rollouts = children.start(
        *("rollout", "run", "--control", gateway.control, "--group-size", str(SIZE), "--seed", "1"),
        *("--concurrency", "48", "--json-progress", "--grace", "20"),
    )
    trainer.until(lambda: trainer.process.poll() is not None or _enough(store))
    assert trainer.stop() == 0, trainer.said
    assert rollouts.stop() == 0, rollouts.said
    assert gateway.child.stop() == 0, gateway.child.said


def _enough(store: Path) -> bool:
    with _rows(store) as rows:
        return bool(rows.execute(ENOUGH, (STEPS,)).fetchone()[0])


@pytest.fixture
def store(recorded: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{recorded}", create=False)) as opened:
        yield opened


@contextmanager
def _rows(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as a person reads it, with plain sqlite3."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def _turns(store: Store) -> list[Turn]:
    return [turn for session in store.sessions(limit=10_000) for turn in store.turns(session.id)]


def test_another_process_recomputes_every_sent_view(
    recorded: Path, store: Store, children: Children, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.db"
    with closing(SqliteStore(bare)) as copy:
        for session in reversed(store.sessions(limit=10_000)):
            # Nothing that the replay could copy its answer from comes along.
            copy.write([session, *(replace(turn, sent=None) for turn in store.turns(session.id))])
    said = children.run(
        f"sqlite:///{bare}",
        command=(sys.executable, "-m", "tests.loop.replaying"),
        environment={"PYTHONHASHSEED": "4242"},
        cwd=ROOT,
    )
    replayed = {tuple(line["turn"]): line for line in map(json.loads, said.splitlines())}
    turns = _turns(store)
    assert len(replayed) == len(turns) > 100
    changed = injected = 0
    for turn in turns:
        line = replayed[turn.session_id, turn.index, turn.attempt]
        assert turn.sent is not None and turn.received is not None
        assert line["sent"] == content_key(turn.sent.bytes()).hex(), turn
        events = [
            compared(event) for event in store.events(turn.session_id) if event.turn_index == turn.index
        ]
        assert line["events"] == json.loads(json.dumps(events))
        changed += turn.sent.chain != turn.received.chain
        injected += len(events)
    assert changed > 10 and injected > 10, "too little noise to prove anything"


def test_a_turn_that_a_swap_fell_into_says_which_version_sampled_what(store: Store) -> None:
    turns = _turns(store)
    assert any(turn.policy_first != turn.policy_last for turn in turns)
    assert len(store.versions()) > 1
    for turn in turns:
        for completion in turn.completions:
            if not completion.token_ids:
                continue
            spans = completion.versions
            edges = [0, *(span.end for span in spans)]
            assert [span.start for span in spans] == edges[:-1] and edges[-1] == len(completion.token_ids)
            assert all(span.end > span.start for span in spans)
            assert (turn.policy_first, turn.policy_last) == (spans[0].version, spans[-1].version)


def test_versions_follow_each_other_in_the_order_they_were_trained(store: Store) -> None:
    """A turn is never sampled by an older version after a newer one."""
    order = {version: at for at, version in enumerate(dict.fromkeys(["retail", *_trained(store)]))}
    assert set(store.versions()) <= set(order)
    for turn in _turns(store):
        for completion in turn.completions:
            ages = [order[span.version] for span in completion.versions]
            assert ages == sorted(set(ages))


def _trained(store: Store) -> list[str]:
    return [step.policy_version for step in store.steps(RUN) if step.policy_version is not None]


def test_every_turn_is_fit_for_training_or_says_why_not(store: Store) -> None:
    fit = 0
    for turn in _turns(store):
        if turn.fitness != Fitness.FIT:
            assert turn.fitness and turn.fitness != "no_token_ids", turn
            assert turn.error is not None, f"an untroubled turn is unfit: {turn.fitness}"
            continue
        fit += 1
        (completion,) = turn.completions
        assert turn.prompt_ids is not None and turn.error is None
        assert len(completion.token_ids) == len(completion.logprobs) == turn.usage["completion_tokens"] > 0
        assert len(turn.prompt_ids.bytes()) == 4 * turn.usage["prompt_tokens"]
        assert all(logprob <= 0 for logprob in completion.logprobs)
        assert turn.finish_reason == completion.finish_reason is not None
    assert fit > 100


def test_the_gateway_was_told_that_every_version_was_confirmed(store: Store) -> None:
    told = {setting.name: setting.value for setting in store.settings(VERSION)}
    assert set(store.versions()) <= told.keys()
    assert all(said["trusted"] and said["max_difference"] < 1e-3 for said in told.values())


def test_every_prompt_extends_what_came_before_in_noisy_sessions_too(store: Store) -> None:
    noisy = [session for session in store.sessions(limit=10_000) if session.arm is Arm.NOISY]
    (found,) = check_by_model(store.turns(session.id) for session in noisy).values()
    assert found.pairs > 20
    assert found.breaks == []


def test_a_reader_sees_the_four_views_of_a_turn(recorded: Path) -> None:
    with _rows(recorded) as rows:
        found = rows.execute("SELECT * FROM readable_turn WHERE fitness = 'fit'").fetchall()
    assert len(found) > 100
    shown = {
        (session, turn["turn"], turn["attempt"]): turn
        for session in {row["session_id"] for row in found}
        for turn in _show(recorded, session)
    }
    for row in found:
        turn = shown[row["session_id"], row["turn"], row["attempt"]]
        views = [
            json.loads(turn[name]) for name in ("agent_sent", "policy_saw", "policy_produced", "agent_got")
        ]
        agent_sent, policy_saw, produced, got = views
        assert "return_token_ids" not in agent_sent and policy_saw["return_token_ids"] is True
        assert len(agent_sent["messages"]) == len(policy_saw["messages"])
        assert produced["choices"][0]["finish_reason"] and got["choices"] == produced["choices"]
        assert row["view_changed"]
        assert (turn["agent_sent"] != turn["policy_saw"]) or not row["injected"]
    assert any(row["injected"] for row in found)


def _show(recorded: Path, session_id: str) -> list[dict[str, Any]]:
    """What `crosswind sessions show` prints of a session's turns."""
    result = CliRunner().invoke(sessions, ["show", session_id, "--store", str(recorded), "--json"])
    assert result.exit_code == 0, result.output
    turns: list[dict[str, Any]] = json.loads(result.stdout)["turns"]
    return turns


def test_a_reader_with_sqlite3_sees_what_was_injected_and_why_it_stays_solvable(
    recorded: Path, store: Store
) -> None:
    with _rows(recorded) as rows:
        events = rows.execute("SELECT * FROM readable_event WHERE outcome = 'injected'").fetchall()
    saw = {
        (turn.session_id, turn.index): turn.sent.bytes().decode()
        for turn in _turns(store)
        if turn.sent is not None
    }
    assert len({event["operator"] for event in events}) >= 3
    for event in events:
        assert event["before"] != event["after"] and event["note"] and event["solvable_by"]
        assert event["severity"] > 0 and json.loads(event["draw"]) is not None
        assert json.dumps(event["after"], ensure_ascii=False)[1:-1] in saw[event["session_id"], event["turn"]]
        assert (event["tool"] is not None) == event["operator"].startswith("tool.")


def test_every_session_that_was_trained_on_was_rewarded(store: Store) -> None:
    steps = store.steps(RUN)
    for group_id in (group for step in steps for group in step.group_ids):
        sessions = [trajectory.session for trajectory in store.group(group_id)]
        assert [session.rollout_index for session in sessions] == list(range(SIZE))
        for session in sessions:
            assert session.reward_state is RewardState.GIVEN and session.reward in (0.0, 1.0)
            assert [given.reward for given in store.rewards(session.id)] == [session.reward]
        assert {session.arm.value for session in sessions} == {"clean", "noisy"}


def test_the_steps_are_on_record_whole(store: Store) -> None:
    steps = store.steps(RUN)
    assert [step.step for step in steps] == list(range(1, len(steps) + 1)) and len(steps) >= STEPS
    taken = [group for step in steps for group in step.group_ids]
    assert len(taken) == len(set(taken)) == len(steps) * GROUPS
    assert len(set(_trained(store))) >= STEPS
    for before, step in zip(["retail", *_trained(store)], steps, strict=False):
        _check_step(step, before)


def _check_step(step: TrainStep, before: str) -> None:
    metrics: dict[str, Any] = dict(step.metrics or {})
    assert step.completed_us is not None and step.completed_us > step.created_us
    assert step.seeds and metrics["version"] == step.policy_version and metrics["step"] == step.step
    assert (metrics["optimiser_steps"] > 0) == (step.policy_version != before)
    if step.policy_version != before:
        assert metrics["trained_rollouts"] > 0 and metrics["tokens"] > 0
        assert metrics["confirmed_tokens"] > 0 and metrics["confirmed_difference"] < 1e-3
    assert metrics["engine_gap"] is None or metrics["engine_gap"] < 1e-3
    assert metrics["not_finite"] == 0 and metrics["refused"] is not None
