"""When a rule acts: pure decisions from counters that run along the branch's own path.

A rule's *occasions* are the items of its operator's site that its `where` lets through, in order: user
messages for user operators, tool results for tool operators, declared tools for schema operators, exchanges
for transport and model operators. Where a rule names one tool, `nth: 3` is that tool's third call. Turns are
counted from 0: one turn per request to the policy.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from crosswind.injectors.guard.bounds import Real, Whole
from crosswind.injectors.seeded_random import draw_once

Count = Annotated[Whole, Field(ge=1)]
Share = Annotated[Real, Field(ge=0, le=1)]


class Stage(StrEnum):
    """Thirds of the expected turns (never of the observed ones, which the future would change)."""

    EARLY = "early"
    MIDDLE = "middle"
    LATE = "late"


Window = tuple[float, float]
"""The share [start, end) of the expected turns in which a rule may act; an end of 1 has no end."""

WHOLE: Window = (0.0, 1.0)
STAGES: dict[Stage, Window] = {
    Stage.EARLY: (0.0, 1 / 3),
    Stage.MIDDLE: (1 / 3, 2 / 3),
    Stage.LATE: (2 / 3, 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """A two-state Markov chain along a rule's occasions, which begins calm. The chances add up to 1 at most;
    bursts hold `enter / (enter + leave)` of the occasions, `1 / leave` of them in a row on average.

    With `of: backend` it is the chain of the system behind a tool, along all of the session's results: its
    tools, and all rules that ask for it, share its bursts, and other systems have their own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    enter: Annotated[Real, Field(gt=0, le=1)]
    """Chance that a burst begins at an occasion that follows a calm one."""
    leave: Annotated[Real, Field(gt=0, le=1)]
    """Chance that it is over at an occasion that follows one of a burst."""
    of: Literal["rule", "backend"] = "rule"
    """Whose bursts they are. Only results have a backend: rules elsewhere have bursts of their own."""

    def holds(self, key: str, index: int) -> bool:
        """Whether the occasion lies in a burst of the chain with that key. Pure: one draw per occasion moves
        both states, so that the latest draw that leads to one state from either settles it."""
        for earlier in range(index, -1, -1):
            drawn = draw_once(f"{key}|burst|{earlier}")
            if drawn < self.enter:
                return True
            if drawn >= 1 - self.leave:
                return False
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A rule's schedule. All of its conditions must hold; what is absent holds always."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    probability: Annotated[Real, Field(ge=0, le=1)] = 1.0
    """Chance at each occasion that meets the other conditions, before the operator's own draw."""
    first_call: bool = False
    """Only the first occasion of the session."""
    every: Count | None = None
    """Only each n-th occasion: the n-th, the 2n-th, ..."""
    nth: Count | None = None
    """Only the n-th occasion, from 1."""
    at_most: Count | None = None
    """No more than this many injections by this rule in a session."""
    at_least_one: bool = False
    """Until the rule has injected once, nothing is left to chance: it acts at the first place that it has.
    From then on chance and severity decide as always."""
    start: Annotated[Whole, Field(ge=0)] = 0
    """No injection before this turn, from 0."""
    stage: Stage | None = None
    during: tuple[Share, Share] | None = None
    """Only in that share [start, end) of the expected turns: a stage of one's own. An end of 1 has no end."""
    min_interval: Count | None = None
    """At least this many occasions from one injection by this rule to its next."""
    from_nth: Count | None = None
    """Not before the n-th occasion, from 1, and on each from then on: a change that lasts."""
    regime: Count | None = None
    """In every other stretch of that many occasions, the first being calm: a hidden state that flips."""
    burst: Burst | None = None
    """Only in bursts, so that injections come in clusters."""
    after_tool: str = ""
    """Only once a call of such a tool (a name or a glob) has been answered on this branch."""

    def by_chance(self, slot: str) -> bool:
        """Whether the probability lets the rule act in this slot. Its stream is its own: certainty needs
        none."""
        return self.probability >= 1.0 or draw_once(f"{slot}|when") < self.probability

    def without_chance(self) -> When:
        """The same schedule with all that it leaves to chance taken out."""
        return replace(self, probability=1.0, burst=None, at_least_one=False)


ALWAYS = When()


@dataclass(frozen=True, slots=True)
class Occasion:
    """One chance to act, as the rule's counters on this branch describe it."""

    index: int
    """Occasions of this rule before this one."""
    turn: int
    injected: int
    """Injections by this rule before this occasion."""
    last: int | None = None
    """The index of the occasion of the last injection."""
    key: str = ""
    """What the rule's hidden state is drawn by: the same along the whole session."""
    called: Collection[str] = ()
    """The tools whose calls have been answered so far."""
    step: int | None = None
    """How far the hidden state has come; None: as far as the rule's occasions."""


def due(when: When, window: Window, occasion: Occasion, expected_turns: int) -> bool:
    """Whether the schedule, its probability apart, lets the rule act on this occasion."""
    number = occasion.index + 1
    step = occasion.index if occasion.step is None else occasion.step
    return (
        (not when.first_call or number == 1)
        and (when.nth is None or number == when.nth)
        and (when.every is None or number % when.every == 0)
        and (when.at_most is None or occasion.injected < when.at_most)
        and occasion.turn >= when.start
        and (
            when.min_interval is None
            or occasion.last is None
            or occasion.index - occasion.last >= when.min_interval
        )
        and within(window, occasion.turn, expected_turns)
        and (when.from_nth is None or number >= when.from_nth)
        and (when.regime is None or occasion.index // when.regime % 2 == 1)
        and (not when.after_tool or any(fnmatchcase(tool, when.after_tool) for tool in occasion.called))
        and (when.burst is None or when.burst.holds(occasion.key, step))
    )


def within(window: Window, turn: int, expected_turns: int) -> bool:
    """Whether the turn lies in the window's share of the expected turns."""
    start, end = window
    share = turn / max(1, expected_turns)
    return share >= start and (end >= 1.0 or share < end)
