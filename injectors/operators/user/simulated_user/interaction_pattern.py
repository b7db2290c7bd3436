"""A simulated user who behaves as difficult users do."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.user.simulated_user.behaviours import (
    KINDS,
    BehaviourKind,
    describe_behaviour,
    draw_behaviour,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, InstructionsTarget, Recovery, Result
from crosswind.injectors.text.word_lists import make_phrases
from crosswind.injectors.wording import written_form

LONGEST_PATTERN = 1200

HEADINGS = make_phrases(
    """
    How you talk: | Your way of writing: | This is how you behave: | As to your manner: |
    Play this person as follows: | What you are like to talk to: | On style: | Habits of yours: |
    Some notes on the role: | You have a quirk: | For the conversation, note this: |
    One thing about how you come across:
    """
)
OBJECTIVES = (
    "None of this changes what you want or what you know: your goal and every fact above stay as they are.",
    "Your goal and every fact above stay as they are; this is only about the way you talk.",
    "What you want, and all that you know, is still what is written above.",
    "Through all of it your wish and your facts remain the ones above, and you make up no others.",
    "The task and the details given before hold without any change.",
    "Whatever you say on the way, the aim is the one described, with the same data.",
    "Everything else in these instructions applies as before.",
    "It is a matter of tone alone; the request and its facts are fixed.",
    "Invent nothing: the purpose is the one you were given.",
)
"""What preserves the objective, after every pattern."""


@operator(
    "user.interaction_pattern",
    site=Site.INSTRUCTIONS,
    recovery=Recovery.ASK_USER,
    aliases=("interaction_pattern",),
    source="NoisyAgent section 3.1, eq. 5 (user-side injection, before the task starts)",
    effect=Effect.REWORDS,
    version=3,
)
@dataclass(frozen=True)
class InteractionPattern:
    """How a simulated user behaves is drawn before the task starts, the objective preserved: what the user
    withholds, contradicts, repeats and asks beside, and when.

    For the session of the simulated user, not of the agent under test: globs of operators don't match it. A
    model that plays the user is told the pattern: its instructions keep all their words in order, and the
    pattern comes after them in the first request, and stays. A scripted user gets it as data when its session
    is opened. Severity: the number of behaviours is binomial with mean 2 x severity (2 trials); of a given
    kind there is one, with probability severity. It also sets in how many messages a behaviour shows, from
    which message on, how much of it there is, and how late it is settled.
    """

    kind: BehaviourKind | None = None
    """Which behaviour; absent: drawn evenly."""

    def draw(self, target: InstructionsTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2 if self.kind is None else 1, severity)
        kinds = rng.sample(KINDS, 2)[:count] if self.kind is None else [self.kind][:count]
        if not kinds or not target.text.strip():
            return None
        drawn = [draw_behaviour(kind, target.branch.half, rng, severity) for kind in kinds]
        return {
            "kinds": kinds,
            "behaviours": [msgspec.to_builtins(behaviour) for behaviour, _ in drawn],
            "told": [describe_behaviour(behaviour, rng) for behaviour, _ in drawn],
            "heading": rng.choice(HEADINGS),
            "objective": rng.choice(OBJECTIVES),
            "phrases": [name for _, names in drawn for name in names],
        }

    def apply(self, target: InstructionsTarget, draw: Draw) -> Result:
        return _add_pattern(target, draw, "\n".join(draw["told"]))


@written_form("user.interaction_pattern")
class InteractionPatternWording:
    """A pattern for this very user, as NoisyAgent's noise generator writes it. It comes after the user's own
    instructions, and the rule's last sentence preserves the objective."""

    ahead = False

    def ask(self, target: InstructionsTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material instructs somebody who plays the user of an assistant. Write two to four sentences "
            "that tell this person how to talk, made to measure for this user and this wish. The manner: "
            f"{' '.join(draw['told'])} Neither repeat nor change the wish, and tell nobody else's part."
        )
        return task, target.text

    def apply(self, target: InstructionsTarget, draw: Draw, text: str) -> Result:
        return _add_pattern(target, draw, read_text(text, LONGEST_PATTERN, like=target.text))


def _add_pattern(target: InstructionsTarget, draw: Draw, pattern: str) -> Result:
    kinds = " and ".join(kind.replace("_", " ") for kind in draw["kinds"])
    text = f"{target.text.rstrip()}\n\n{draw['heading']}\n{pattern}\n{draw['objective']}"
    return Result(text, f"The simulated user was told how to talk: {kinds}.")
