"""A simulated user instructed to talk as difficult users do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.words.patterns import HEADING, OBJECTIVE, PATTERNS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, InstructionsTarget, Recovery, Result
from crosswind.injectors.wording import written_form

LONGEST_PATTERN = 1200

Kind = Literal["ambiguous", "inconsistent", "redundant", "topic_drift", "boundary_probing", "out_of_scope"]


@operator(
    "user.interaction_pattern",
    site=Site.INSTRUCTIONS,
    recovery=Recovery.ASK_USER,
    aliases=("interaction_pattern",),
    source="NoisyAgent section 3.1, eq. 5 (user-side injection, before the task starts)",
    effect=Effect.REWORDS,
)
@dataclass(frozen=True)
class InteractionPattern:
    """Patterns of talking are added to the instructions of a model that plays the user, the objective
    preserved.

    For the session of the simulated user, not of the agent under test: globs of operators don't match it. The
    instructions are rewritten in the first request, and stay so. Severity: the number of patterns is binomial
    with mean 2 x severity (2 trials); of a given kind there is one, with probability severity. The
    instructions keep all their words in order; the patterns come after them, with a sentence that goal and
    facts are unchanged.
    """

    kind: Kind | None = None
    """Which pattern; absent: drawn evenly."""

    def draw(self, target: InstructionsTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2 if self.kind is None else 1, severity)
        kinds = rng.sample(tuple(PATTERNS), 2)[:count] if self.kind is None else [self.kind][:count]
        return {"kinds": kinds} if kinds and target.text.strip() else None

    def apply(self, target: InstructionsTarget, draw: Draw) -> Result:
        return _add_pattern(target, draw, "\n".join(PATTERNS[kind] for kind in draw["kinds"]))


@written_form("user.interaction_pattern")
class InteractionPatternWording:
    """A pattern for this very user, as NoisyAgent's noise generator writes it. It comes after the user's own
    instructions, and the rule's last sentence preserves the objective."""

    ahead = False

    def ask(self, target: InstructionsTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        manner = " ".join(PATTERNS[kind] for kind in draw["kinds"])
        task = (
            "The material instructs somebody who plays the user of an assistant. Write two to four sentences "
            "that tell this person how to talk, made to measure for this user and this wish. The manner: "
            f"{manner} Neither repeat nor change the wish, and tell nobody else's part."
        )
        return task, target.text

    def apply(self, target: InstructionsTarget, draw: Draw, text: str) -> Result:
        return _add_pattern(target, draw, read_text(text, LONGEST_PATTERN, like=target.text))


def _add_pattern(target: InstructionsTarget, draw: Draw, pattern: str) -> Result:
    kinds = " and ".join(kind.replace("_", " ") for kind in draw["kinds"])
    text = f"{target.text.rstrip()}\n\n{HEADING}\n{pattern}\n{OBJECTIVE}"
    return Result(text, f"The simulated user was told how to talk: {kinds}.")
