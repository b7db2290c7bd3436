"""A pattern of talking that a model writes for this very user."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.user.interaction_pattern import patterned
from crosswind.injectors.operators.user.patterns import PATTERNS
from crosswind.injectors.targets import Draw, InstructionsTarget, Result
from crosswind.injectors.wording import written

LONGEST = 1200


@written("user.interaction_pattern")
class InteractionPattern:
    """NoisyAgent's noise generator writes it anew for each user; here it writes the pattern alone, behind the
    user's own instructions, and the rule's last sentence preserves the objective."""

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
        return patterned(target, draw, read_text(text, LONGEST, like=target.text))
