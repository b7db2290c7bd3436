"""Whoever writes, deletes, prunes or dies, in any order: the store stays whole, survivors as they were."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crosswind.gateway.trajectory.content import Chain, Frame, View
from crosswind.gateway.trajectory.record import Reward, SessionClosed, SessionDeleted, Turn
from crosswind.gateway.trajectory.retention import RetentionLimits, prune
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows

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
        before = 1_700_000_000_000_000 if everything else cut
        for gone in prune(store, RetentionLimits(before, None, everything)):
            for name in gone:
                del self.expected[name]
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
