"""A vaguer message in a model's words."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.targets import Draw, Result, UserTarget
from crosswind.injectors.text import entities
from crosswind.injectors.text.edits import edited
from crosswind.injectors.wording import Unusable, written


@written("user.ambiguous")
class Ambiguous:
    """What is withheld is the rule's choice, so that one answer brings it back; the model blurs how the rest
    is said, and has to leave every other entity where it is."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "Say what the user says less exactly, as somebody does who hasn't thought it through: vague "
            "about degree, manner and reasons. Keep what the user wants done, and keep every id, number, "
            "date, name, quotation and technical term that is there exactly as it is, and in the same "
            "order."
        )
        return task, _without(target, draw)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        rest = _without(target, draw)
        vague = read_text(text, 200 + 2 * len(rest), like=rest)
        if (lost := entities.survive(rest, vague, target.tools)) is not None:
            raise Unusable(f"the model left out {lost!r:.60}")
        withheld = f", and withheld: {draw['withheld'][0]}" if draw["withheld"] else ""
        return Result(vague, f"The user's message was made vague{withheld}.")


def _without(target: UserTarget, draw: Draw) -> str:
    """The message without what is withheld."""
    return edited(target.text, [one for one in draw["edits"] if one["was"] in draw["withheld"]])
