"""What a call of a tool gets that isn't there: never an invented fact, never an effect."""

from __future__ import annotations

import json


def unavailable(name: str) -> tuple[str, ...]:
    """The tool exists and does nothing here; another one has to be used."""
    first = {
        "error": "not_available",
        "message": f"{name} is not enabled here. Nothing was done.",
    }
    again = {"error": "not_available", "message": f"{name} is still not enabled. Use another tool."}
    return json.dumps(first), json.dumps(again)


def no_such_tool(name: str) -> tuple[str, ...]:
    """The tool isn't there at all."""
    return (json.dumps({"error": "unknown_tool", "message": f"no such tool: {name}"}),)
