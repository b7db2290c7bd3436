"""Content of little use around a tool's answer, in a model's words."""

from __future__ import annotations

from crosswind.injectors.operators.model_text import check_general, read_lines
from crosswind.injectors.operators.tool.redundant import Redundant as ByRule
from crosswind.injectors.operators.written.calls import call
from crosswind.injectors.targets import Draw, Result, ToolResultTarget
from crosswind.injectors.wording import written


@written("tool.redundant")
class LowValue:
    """The rule's fields in the rule's places, with sentences of a model's in place of their values: notices,
    disclaimers, advice on other things. They hang on the call alone, and name no value."""

    ahead = True

    def ask(self, target: ToolResultTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material is a call of a tool. Write {_count(draw)} sentences, each on a line of its own, "
            "such as services put around their results and nobody reads: notices, disclaimers, hints at "
            "other services. True of any result, of no use for this one, with nothing in particular in "
            "them."
        )
        return task, call(target)

    def apply(self, target: ToolResultTarget, draw: Draw, text: str) -> Result:
        said = iter([check_general(line) for line in read_lines(text, _count(draw))])
        worded = {side: [[key, next(said)] for key, _ in draw[side]] for side in ("before", "after")}
        return ByRule().apply(target, {**draw, **worded})


def _count(draw: Draw) -> int:
    return len(draw["before"]) + len(draw["after"])
