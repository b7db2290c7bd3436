"""What a model is told of a tool's call, whose result isn't there yet."""

from __future__ import annotations

import json

from crosswind.injectors.targets import ToolResultTarget


def call(target: ToolResultTarget) -> str:
    """The tool, what it says of itself, and what it was called with, as JSON."""
    says = next((tool.description for tool in target.tools if tool.name == target.tool), "")
    told = {"tool": target.tool, "description": says, "arguments": target.arguments}
    return json.dumps(told, ensure_ascii=False)
