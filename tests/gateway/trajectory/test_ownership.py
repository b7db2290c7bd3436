"""Deleting sessions: all that is theirs goes, at the cost of what it is, and nothing else."""

from __future__ import annotations

import contextlib
import tempfile
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crosswind.gateway.trajectory.content import Chain, Frame, View
from crosswind.gateway.trajectory.record import Reward, SessionClosed, SessionDeleted, Turn
from crosswind.gateway.trajectory.retention import RetentionLimits, prune
from crosswind.gateway.trajectory.sqlite.deletion import AT_ONCE
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows
from tests.gateway.trajectory.rows import talk, turns_of

TABLES = ("session", "turn", "delivery", "event", "reward", "unswept")


def delete(store: SqliteStore, *session_ids: str, at_once: int = 500) -> int:
    """Delete sessions with all their turns; returns how many turns a sweep found."""
    store.write([SessionDeleted(session_id) for session_id in session_ids])
    store.forget_deleted(-1.0)
    return rows.sweep_all(store, at_once)


def held(store: SqliteStore) -> list[int]:
    """Rows of each table."""
    return [rows.query(store.path, f"SELECT count(*) FROM {name}")[0][0] for name in TABLES]


@pytest.mark.parametrize("writes", [1, 3])
def test_a_session_goes_with_its_rows_and_with_no_others(store: SqliteStore, writes: int) -> None:
    everyone = {name: talk(name, 4) for name in ("a", "b", "c")}
    for written in everyone.values() if writes > 1 else [list(chain(*everyone.values()))]:
        store.write(written)
    for name in ("a", "c", "b"):
        delete(store, name)
        del everyone[name]
        for other, written in everyone.items():
            assert store.turns(other) == turns_of(written)
    assert held(store) == [0] * len(TABLES)


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


def test_a_long_session_goes_in_steps_and_the_next_process_goes_on(store: SqliteStore) -> None:
    store.write([*talk("stays", 3), *talk("goes", AT_ONCE + 40)])
    store.write([SessionDeleted("goes")])
    assert store.session("goes") is None and store.turns("goes") == [] and store.check().whole
    assert store.sweep(7) == 7
    store.close()
    again = SqliteStore(store.path)
    assert again.check().whole and again.turns("stays") == turns_of(talk("stays", 3))
    again.write(talk("new", 1))
    assert rows.sweep_all(again, 7) == 33
    assert again.turns("stays") == turns_of(talk("stays", 3)) and again.turns("new") == turns_of(
        talk("new", 1)
    )
    delete(again, "stays", "new")
    assert held(again) == [0] * len(TABLES)
    again.close()


def test_a_number_is_never_given_again(store: SqliteStore) -> None:
    numbers = []
    for name in ("a", "b", "a", "c", "a"):
        store.write([rows.session(name)])
        numbers += rows.query(store.path, "SELECT number FROM session WHERE id = ?", name)
        delete(store, name)
    assert numbers == [(1,), (2,), (3,), (4,), (5,)]


def test_a_session_of_a_deleted_ones_name_brings_its_content_anew(store: SqliteStore) -> None:
    other = SqliteStore(store.path)
    first = talk("s", 3)
    store.write(first)
    delete(other, "s")
    store.write(first)  # this process knows every chain and frame of the first one
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
    @rule(process=PROCESSES, which=st.integers(0, 9), process_dies=st.booleans())
    def delete(self, process: int, which: int, process_dies: bool) -> None:
        """Deleted; then the process may be gone, and another one in its place."""
        name = sorted(self.expected)[which % len(self.expected)]
        self.processes[process].write([SessionDeleted(name)])
        self.processes[process].forget_deleted(-1.0)
        del self.expected[name]
        if process_dies:
            self.processes[process].close()
            self.processes[process] = SqliteStore(self.processes[process].path)

    @rule(process=PROCESSES, name=NAMES)
    def finish(self, process: int, name: str) -> None:
        if name in self.expected:
            self.clock += 1
            self.processes[process].write([SessionClosed(name, self.clock), Reward(name, self.clock, 1.0)])

    @precondition(lambda self: self.expected)
    @rule(process=PROCESSES, everything=st.booleans(), cut=st.integers(0, 100))
    def prune(self, process: int, everything: bool, cut: int) -> None:
        store = self.processes[process]
        idle_s = -1.0 if everything or cut % 2 else 1e6
        for gone in prune(store, RetentionLimits(idle_s, None, everything)):
            for name in gone:
                del self.expected[name]
        store.forget_deleted(-1.0)

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
