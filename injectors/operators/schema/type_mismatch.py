"""A parameter declared with another type than the tool takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolChange, ToolTarget

DECLARED_AS = {
    "string": ("integer", "integer", "number"),
    "integer": ("string",),
    "number": ("string",),
    "boolean": ("string", "string", "integer"),
    "array": ("string", "string", "object"),
}
"""The types that a parameter can be declared with, by the type that the tool takes; the likely ones twice."""

PLAIN = frozenset({"type", "description", "title", "items"})
"""Parameters with other keywords (enum, format, minimum, ...) would no longer fit them."""


@operator(
    "schema.type_mismatch",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (8): a future axis; there the model errs, here the declaration does",
    effect=Effect.REWORDS,
    version=2,
)
class TypeMismatch:
    """A parameter's declared type differs from the one that the tool takes; the error names the right one.

    The first call that follows the declaration is answered with that error and doesn't reach the agent; every
    later one does. Severity: the probability that a parameter of a plain type is declared wrong.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        # Each parameter has a generator of its own: a client may write them in another order.
        wrong = [
            {"parameter": name, "takes": schema["type"], "says": one.choice(DECLARED_AS[schema["type"]])}
            for name, schema in sorted(find_properties(target.tool.parameters).items())
            if (one := rng.named(name)).chance(severity) and _is_plain(schema)
        ]
        return {"wrong": wrong} if wrong else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        tool = target.tool
        properties = dict(find_properties(tool.parameters))
        for one in draw["wrong"]:
            was = properties[one["parameter"]]
            kept = {key: value for key, value in was.items() if key != "items"}
            properties[one["parameter"]] = {**kept, "type": one["says"]}
        takes = {one["parameter"]: one["takes"] for one in draw["wrong"]}
        shown = ToolSchema(tool.name, tool.description, {**tool.parameters, "properties": properties})
        said = ", ".join(f"{one['parameter']} as {one['says']}" for one in draw["wrong"])
        return Result(ToolChange(shown, takes=takes), f"The tool {tool.name} is declared to take {said}.")


def _is_plain(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not PLAIN.issuperset(schema):
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and kind in DECLARED_AS
