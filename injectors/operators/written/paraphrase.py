"""The whole message in a model's other words."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.targets import Draw, Result, UserTarget
from crosswind.injectors.wording import written

EXTENT = ("a few words and turns of phrase", "most of the wording", "the wording throughout")
"""By thirds of the severity."""


@written("user.paraphrase")
class Paraphrase:
    """RobustBench-TC, appendix F: a paraphrase of the query that keeps every entity. The guard refuses one
    that lost an entity, changed their order, or brought in a number."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        extent = EXTENT[min(2, int(3 * severity))]
        task = (
            "Say what the user says in other words, in the user's own voice, speaking to the same "
            f"assistant. Change {extent}. Keep every request and condition, add none. Keep every id, "
            "number, date, name, quotation and technical term exactly as it is, and in the same order."
        )
        return task, target.text

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        return Result(
            read_text(text, 200 + 3 * len(target.text), like=target.text), "The message was reworded."
        )
