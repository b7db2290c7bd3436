"""A gate over a run: it is judged while the run goes on, and ends it as soon as the verdict stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from crosswind.figures.gate import Gate, GateResult, judge
from crosswind.figures.sequential import Verdict
from crosswind.gateway.trajectory.store import Store
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.chaos.episodes import Episode

_LOOKS = 20
"""A look reads all attempts, so that one after each of many tasks would take longer than they do: from so
many tasks on, one is taken when a further one of so many parts is there."""


class GateWatch:
    """Judges the tasks that are finished, in the gate's order and without a gap.

    The order in which tasks happen to finish is not independent of how they end.
    """

    def __init__(
        self, gate: Gate, order: Sequence[str], left: Iterable[Episode], store: Store, run: str, seed: int
    ) -> None:
        self._gate = gate
        self._order = order
        self._left = Counter(episode.task.id for episode in left)
        self._store = store
        self._run = run
        self._seed = seed
        self._finished = 0
        """Tasks from the beginning of the order that are finished."""
        self._next_look = 1
        """The number of finished tasks at which the gate looks again."""
        self._lock = Lock()
        self.decided = False
        self._advance()

    def finish(self, episode: Episode) -> None:
        """Take in that an episode is over, and judge if a task is, that was waited for. On any thread."""
        with self._lock:
            self._left[episode.task.id] -= 1
            self._advance()

    def _advance(self) -> None:
        before = self._finished
        while self._finished < len(self._order) and self._left[self._order[self._finished]] <= 0:
            self._finished += 1
        if self._finished > before and self._finished >= self._next_look and not self.decided:
            self._next_look = self._finished + max(1, self._finished // _LOOKS)
            self.decided = self.judge().verdict is not Verdict.INCONCLUSIVE

    def judge(self) -> GateResult:
        """The verdict on the tasks that are finished."""
        order = self._order[: self._finished]
        known = frozenset(order)
        found = read_attempts(self._store, with_labels({"run": self._run}), read_in_full=0).attempts
        attempts = [one for one in found if one.task in known]
        return judge(attempts, self._gate, order=order, seed=self._seed)

    def until_decided(self, episodes: Iterable[Episode]) -> Iterator[Episode]:
        """The episodes, as long as the verdict doesn't stand."""
        for episode in episodes:
            if self.decided:
                return
            yield episode
