"""Side questions that a model thinks of for this conversation."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import check_general, read_lines
from crosswind.injectors.operators.user.sentences import appended
from crosswind.injectors.targets import Draw, Result, UserTarget
from crosswind.injectors.wording import Unusable, written


@written("user.topic_drift")
class TopicDrift:
    """As many as the rule would ask, behind the message; the rule's last sentence leads back. They hang on
    what the user said first, so that those of later messages can be asked for beforehand."""

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        count = len(draw["questions"])
        task = (
            f"The material is what a user first asked an assistant. Write {count} side questions, each on a "
            "line of its own, by which the user drifts off to something near the subject: idle curiosity "
            "that needs no tool, orders nothing, and names nothing in particular. They come in the user's "
            f"message number {target.ordinal + 1}."
        )
        return task, target.opening

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        questions = [
            check_general(line) for line in read_lines(text, len(draw["questions"]), like=target.text)
        ]
        if not all(line.endswith(("?", "？", "؟")) for line in questions):
            raise Unusable("the model wrote something else than questions")
        note = "The user's message drifted off the subject and came back to it."
        return Result(appended(target.text, (*questions, draw["back"])), note)
