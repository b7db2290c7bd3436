"""Deleting sessions: what others share stays, all else goes, at the cost of what they referred to."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crosswind.gateway.trajectory.content import Chain, Frame, View
from crosswind.gateway.trajectory.record import Reward, SessionClosed, SessionDeleted, Turn
from crosswind.gateway.trajectory.retention import RetentionLimits, prune
from crosswind.gateway.trajectory.sqlite import schema
from crosswind.gateway.trajectory.sqlite.schema import migrations
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows
from tests.gateway.trajectory.rows import talk, turns_of

EMPTY = {"block": 0, "chain": 0, "frame": 0, "share": 0, "released": 0}


def delete(store: SqliteStore, *session_ids: str, at_once: int = 500) -> int:
    """Delete sessions with their content; returns how many pieces were given up."""
    store.write([SessionDeleted(session_id) for session_id in session_ids])
    store.forget_deleted(-1.0)
    return rows.sweep_all(store, at_once)


def contents(store: SqliteStore) -> dict[str, int]:
    """Rows of content, and of who uses it."""
    return {name: rows.query(store.path, f"SELECT count(*) FROM {name}")[0][0] for name in EMPTY}


@pytest.mark.parametrize("writes", [1, 3])
@pytest.mark.parametrize("at_once", [1, 3, 500])
def test_content_goes_with_the_last_session_that_has_it(
    store: SqliteStore, at_once: int, writes: int
) -> None:
    everyone = {name: talk(name, 4) for name in ("a", "b", "c")}
    for written in everyone.values() if writes > 1 else [list(chain(*everyone.values()))]:
        store.write(written)
    for name in ("a", "c", "b"):
        delete(store, name, at_once=at_once)
        del everyone[name]
        for other, written in everyone.items():
            assert store.turns(other) == turns_of(written)
    assert contents(store) == EMPTY


def test_a_deletion_costs_what_the_session_referred_to(tmp_path: Path) -> None:
    few, many = (_steps_of_deleting(tmp_path / f"{count}.db", bystanders=count) for count in (3, 60))
    assert many < 1.2 * few, "twenty times the store is not twenty times the work"


def _steps_of_deleting(path: Path, bystanders: int) -> int:
    """SQLite's virtual machine steps: unlike time, they are the same on each machine."""
    store = SqliteStore(path)
    for number in range(bystanders):
        store.write(talk(f"bystander{number}", 10))
    store.write(talk("goes", 10))
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._writer.set_progress_handler(step, 1)
    delete(store, "goes")
    store.close()
    return steps


def test_a_process_that_dies_between_loses_nothing_and_the_next_goes_on(store: SqliteStore) -> None:
    store.write([*talk("stays", 3), *talk("goes", 40)])
    store.write([SessionDeleted("goes")])
    store.sweep(7)
    store.close()
    again = SqliteStore(store.path)
    assert contents(again)["released"] > 0 and again.turns("stays") == turns_of(talk("stays", 3))
    again.write(talk("new", 1))
    assert rows.sweep_all(again, 7) > 0
    assert again.turns("stays") == turns_of(talk("stays", 3)) and again.turns("new") == turns_of(
        talk("new", 1)
    )
    delete(again, "stays", "new")
    assert contents(again) == EMPTY
    again.close()


def test_a_session_of_a_deleted_ones_name_brings_its_content_anew(store: SqliteStore) -> None:
    other = SqliteStore(store.path)
    first = talk("s", 3)
    store.write(first)
    delete(other, "s")
    store.write(first)  # this process holds every node and frame for stored
    assert store.turns("s") == turns_of(first)
    other.write(talk("sharer", 1))
    delete(other, "sharer")
    assert store.turns("s") == turns_of(first)
    other.close()


def test_what_a_deleted_session_shared_is_brought_anew_by_one_of_its_name(store: SqliteStore) -> None:
    def turn(name: str, index: int, chain: Chain) -> Turn:
        return rows.turn(name, index, received=View((b"[", None, b"]"), chain))

    other, remembered = SqliteStore(store.path), Chain(None, b"system")
    store.write([rows.session("a"), turn("a", 0, remembered)])
    other.write([rows.session("b"), turn("b", 0, Chain(None, b"system"))])
    delete(other, "a")
    again = turn("a", 0, Chain(remembered, b"more"))
    store.write([rows.session("a"), again])
    delete(other, "b")
    assert store.turns("a") == [again] and store.check().whole
    other.close()


def test_an_old_store_learns_who_uses_what(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "migrations", lambda: migrations()[:1])
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            schema.migrate(connection, str(path))
    rows.execute(path, Path(__file__).with_name("old_store.sql").read_text("utf-8"))
    store = SqliteStore(path)
    assert store.turns("a") == turns_of(talk("a", 3)) and store.turns("b") == turns_of(talk("b", 2))
    delete(store, "a")
    assert store.turns("b") == turns_of(talk("b", 2))
    store.write(talk("c", 2))
    delete(store, "b")
    assert store.turns("c") == turns_of(talk("c", 2))
    assert len(rows.query(path, "SELECT agent_got FROM readable_turn")) == 2
    delete(store, "c")
    assert contents(store) == EMPTY
    store.close()


NAMES = st.sampled_from(["a", "b", "c"])
PROCESSES = st.sampled_from([0, 1])
TEXTS = st.sampled_from([b"", b"system", b"hello"])
HOW = st.sampled_from(["goes on", "goes on", "fresh", "noisy"])
FRAMES = st.sampled_from([(b"{", None, b"}"), (b"{", None, b",tools}"), (None,)])


class Life(RuleBasedStateMachine):
    """Two processes with one store. Each keeps its chains in memory, whatever the other deletes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = contextlib.ExitStack()
        path = Path(self.folder.enter_context(tempfile.TemporaryDirectory())) / "life.db"
        self.processes = [SqliteStore(path), SqliteStore(path)]
        self.chains: dict[int, dict[str, Chain]] = {0: {}, 1: {}}
        self.expected: dict[str, list[Turn]] = {}
        self.clock = 0

    def teardown(self) -> None:
        for process in self.processes:
            process.close()
        self.folder.close()

    @rule(process=PROCESSES, name=NAMES, texts=st.lists(TEXTS, min_size=1, max_size=3), frame=FRAMES, how=HOW)
    def talk(self, process: int, name: str, texts: list[bytes], frame: Frame, how: str) -> None:
        """Turns that continue what this process remembers of the session, be it stored still or not."""
        store, chains = self.processes[process], self.chains[process]
        if name not in self.expected:
            self.clock += 1
            store.write([rows.session(name, created_us=self.clock)])
            self.expected[name] = []
        if how == "fresh":
            chains.pop(name, None)
        for text in texts:
            received = Chain(chains.get(name), text)
            sent = Chain(received.parent, text + b"~") if how == "noisy" else received
            index = len(self.expected[name])
            written = rows.turn(
                name,
                index,
                received=View(frame, received),
                sent=View(frame, sent),
                produced=View.plain(text),
                prompt_ids=Chain(received.parent, b"ids "),
            )
            store.write([written, rows.shown(name, f"text:{index}")])
            chains[name] = received
            self.expected[name].append(written)

    @precondition(lambda self: self.expected)
    @rule(process=PROCESSES, which=st.integers(0, 9), steps=st.sampled_from([0, 1, 3, 100]))
    def delete(self, process: int, which: int, steps: int) -> None:
        """Deleted, and swept only so far: then the process is gone, or busy."""
        name = sorted(self.expected)[which % len(self.expected)]
        self.processes[process].write([SessionDeleted(name)])
        self.processes[process].forget_deleted(-1.0)
        del self.expected[name]
        for _ in range(steps):
            self.processes[process].sweep(2)

    @rule(process=PROCESSES, name=NAMES)
    def finish(self, process: int, name: str) -> None:
        if name in self.expected:
            self.clock += 1
            self.processes[process].write([SessionClosed(name, self.clock), Reward(name, self.clock, 1.0)])

    @rule(process=PROCESSES, most=st.integers(1, 9))
    def sweep(self, process: int, most: int) -> None:
        self.processes[process].sweep(most)

    @precondition(lambda self: self.expected)
    @rule(process=PROCESSES, everything=st.booleans(), cut=st.integers(0, 100))
    def prune(self, process: int, everything: bool, cut: int) -> None:
        store = self.processes[process]
        idle_s = -1.0 if everything or cut % 2 else 1e6
        for gone in prune(store, RetentionLimits(idle_s, None, everything)):
            for name in gone:
                del self.expected[name]
        store.forget_deleted(-1.0)
        store.drop_orphans()

    @invariant()
    def whole(self) -> None:
        verdict = self.processes[0].check()
        assert verdict.whole, verdict.problems

    @invariant()
    def survivors_are_as_they_were(self) -> None:
        for process in self.processes:
            assert {name: process.turns(name) for name in self.expected} == self.expected
            assert {one.id for one in process.sessions()} == set(self.expected)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
