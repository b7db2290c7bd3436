"""What a plan's rules did on earlier exchanges of a link: pure, and asked for by each turn that follows.

Schedules with a memory and runs of destroyed answers hang on all turns before. Played over from the first one
with every turn, they would cost a session the square of its length: here the last answer is kept, from which
the next turn's follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

MOST_ACTS = 64

Counted = tuple[int, int | None]
"""A rule's injections before a turn, and the last one's turn."""


@dataclass(slots=True)
class Recollection:
    """Of one link, with streams or without."""

    _acts: dict[tuple[str, int], bool] = field(default_factory=dict)
    _counted: dict[str, tuple[int, Counted]] = field(default_factory=dict)
    _run: tuple[int, int] = (0, 0)

    def acts(self, rule: str, turn: int, find: Callable[[], bool]) -> bool:
        """Whether a rule acts on the first attempt at a turn; `find` settles it."""
        found = self._acts.get((rule, turn))
        if found is None:
            found = self.acted(rule, turn, find())
        return found

    def acted(self, rule: str, turn: int, found: bool) -> bool:
        """Take in whether a rule acts on the first attempt at a turn."""
        while len(self._acts) >= MOST_ACTS:
            del self._acts[next(iter(self._acts))]
        self._acts[rule, turn] = found
        return found

    def counted(self, rule: str, turn: int, injected: Callable[[int, Counted], bool]) -> Counted:
        """What a rule did before a turn; `injected` says whether it did on an earlier one, by what it did
        before that."""
        begin, so_far = self._counted.get(rule, (0, (0, None)))
        if begin > turn:
            begin, so_far = 0, (0, None)
        for earlier in range(begin, turn):
            if injected(earlier, so_far):
                so_far = so_far[0] + 1, earlier
        self._counted[rule] = turn, so_far
        return so_far

    def run_before(self, turn: int, destroys: Callable[[int], bool]) -> int:
        """The turn at which the run of turns begins that `destroys` holds for and that leads to this turn;
        the turn itself where there is none."""
        known, known_begin = self._run
        if turn == known:
            return known_begin
        begin = turn
        while begin > 0 and destroys(begin - 1):
            begin -= 1
            if begin == known:
                begin = known_begin
                break
        self._run = turn, begin
        return begin
