"""A simulated user that is told to talk as difficult users do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.patterns import HEADING, OBJECTIVE, PATTERNS
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, InstructionsTarget, Recovery, Result

Kind = Literal["ambiguous", "inconsistent", "redundant", "topic_drift", "boundary_probing", "out_of_scope"]


@operator(
    "user.interaction_pattern",
    site=Site.INSTRUCTIONS,
    recovery=Recovery.ASK_USER,
    aliases=("interaction_pattern",),
    source="NoisyAgent section 3.1, eq. 5 (user-side injection, before the task starts)",
)
@dataclass(frozen=True)
class InteractionPattern:
    """The instructions of a model that plays the user get patterns of talking, the objective preserved.

    For the session of the simulated user, not of the agent under test: globs of operators don't stand for it.
    They are rewritten with the first request, and stay so. Severity: the number of patterns is binomial with
    mean 2 x severity (2 trials); of a given kind there is one, with probability severity. The instructions'
    own words all stay, in their order; behind them stand the patterns, and that goal and facts are unchanged.
    """

    kind: Kind | None = None
    """Which pattern; absent: drawn evenly."""

    def draw(self, target: InstructionsTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.uniform() < severity for _ in range(2 if self.kind is None else 1))
        kinds = rng.sample(tuple(PATTERNS), 2)[:count] if self.kind is None else [self.kind][:count]
        return {"kinds": kinds} if kinds and target.text.strip() else None

    def apply(self, target: InstructionsTarget, draw: Draw) -> Result:
        return patterned(target, draw, "\n".join(PATTERNS[kind] for kind in draw["kinds"]))


def patterned(target: InstructionsTarget, draw: Draw, pattern: str) -> Result:
    """The instructions with a pattern behind them."""
    kinds = " and ".join(kind.replace("_", " ") for kind in draw["kinds"])
    text = f"{target.text.rstrip()}\n\n{HEADING}\n{pattern}\n{OBJECTIVE}"
    return Result(text, f"The simulated user was told how to talk: {kinds}.")
