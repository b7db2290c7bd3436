"""Parameters that a tool does not take."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import ToolTarget

FOREIGN = (
    ("reference", "string", "A reference number."),
    ("query", "string", "What to look for."),
    ("scope", "string", "Where it applies."),
    ("amount", "number", "How much of it."),
    ("limit", "integer", "The most that may be given."),
    ("verbose", "boolean", "Whether to tell more."),
    ("format", "string", "The form of the answer."),
)
"""Name, type and description of parameters such as any tool might have."""


def wrong_parameters(target: ToolTarget, rng: Stream) -> dict[str, Any] | None:
    """As many parameters as the tool has, at least one, and none of its own. None: all names are its own."""
    own = set(target.tool.parameters.get("properties") or {})
    free = [one for one in FOREIGN if one[0] not in own]
    chosen = rng.sample(free, max(1, min(len(own), 3)))
    properties = {name: {"type": kind, "description": says} for name, kind, says in chosen}
    if not properties:
        return None
    return {"type": "object", "properties": properties, "required": [chosen[0][0]]}
