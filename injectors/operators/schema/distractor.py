"""What the tempting neighbours of a tool share: a name that promises, a description that owns up."""

from __future__ import annotations

from typing import ClassVar

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.schema.naming import abbreviated, suffixed
from crosswind.injectors.operators.schema.phantom import unavailable
from crosswind.injectors.operators.schema.placing import drawn_order, drawn_place, of_object, with_sentence
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, Result, ToolChange, ToolTarget


class Distractor:
    """A phantom beside the tool, with its description and parameters and an honest word on its price."""

    suffix: ClassVar[str]
    """Ends the phantom's name. Empty: the phantom takes the tool's name and the tool an abbreviated one."""
    wordings: ClassVar[tuple[str, ...]]
    """The honest word; `{tool}` is the true tool, `{times}` a whole number above 1."""

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        present = rng.chance(severity)
        wording, times = rng.choice(self.wordings), rng.choice((3, 4, 5, 8, 10))
        behind, order = drawn_place(target, rng), drawn_order(rng)
        name = target.tool.name
        true, phantom = (name, suffixed(name, self.suffix, target.taken))
        if not self.suffix:
            true, phantom = abbreviated(name), name
        if not present or phantom is None or phantom == true or (true != name and true in target.taken):
            return None
        says = wording.format(tool=true, times=times)
        return {"true": true, "phantom": phantom, "says": says, "behind": behind, "order": order}

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        tool = target.tool
        description = with_sentence(tool.description, draw["says"])
        answers = unavailable(draw["phantom"])
        phantom = AddedTool(draw["phantom"], description, of_object(tool.parameters), answers, draw["behind"])
        true = ToolSchema(draw["true"], tool.description, tool.parameters)
        renamed = "" if true.name == tool.name else f" {tool.name} itself is shown as {true.name}."
        note = f"A tool {phantom.name}, worse by its own description, stands beside {true.name}.{renamed}"
        return Result(ToolChange(true, (phantom,), order=draw["order"]), note)
