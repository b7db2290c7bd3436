"""What a rambling user adds, in a model's words."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import read_lines
from crosswind.injectors.targets import Draw, Result, UserTarget
from crosswind.injectors.wording import Unusable, written


@written("user.redundant")
class Redundant:
    """As many sentences as the rule would add, and in its places: the message itself isn't touched."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        count = len(draw["before"]) + len(draw["after"])
        task = (
            f"Write {count} short sentences, each on a line of its own, that this user might add to the "
            "message: some that repeat what it says in other words, some about their day that have nothing "
            "to do with it. Ask nothing, order nothing, add no fact, state no wish."
        )
        return task, target.text

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        count = len(draw["before"])
        found = read_lines(text, count + len(draw["after"]), like=target.text)
        if any("?" in line for line in found):
            raise Unusable("the model asked something that the user didn't")
        joint = "\n" if "\n" in target.text else " "
        pieces = (" ".join(found[:count]), target.text, " ".join(found[count:]))
        what = "A sentence" if len(found) == 1 else f"{len(found)} sentences"
        note = f"{what} without any new request or fact came with the user's message."
        return Result(joint.join(piece for piece in pieces if piece), note)
