"""What operators share that put one fixed message in place of a result."""

from __future__ import annotations

from typing import ClassVar

from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Result, ToolResultTarget


class FixedError:
    """One message in place of the result, with probability severity. `what` ends the event's note."""

    text: ClassVar[str]
    what: ClassVar[str]

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        return {"text": self.text} if rng.chance(severity) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The result of {target.tool} was replaced by a message that {self.what}."
        )
