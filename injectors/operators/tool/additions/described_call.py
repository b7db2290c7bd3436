"""What a model is told of a call whose result isn't there yet."""

from __future__ import annotations

import json

from crosswind.injectors.targets import ToolResultTarget


def describe_call(target: ToolResultTarget) -> str:
    """The tool, its description and the arguments of the call, as JSON."""
    description = next((tool.description for tool in target.tools if tool.name == target.tool), "")
    call = {"tool": target.tool, "description": description, "arguments": target.arguments}
    return json.dumps(call, ensure_ascii=False)
