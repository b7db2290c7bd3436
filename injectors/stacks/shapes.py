"""What a clean result is, by its text."""

from __future__ import annotations

from crosswind.injectors.stacks.model import Shape
from crosswind.injectors.text.json_payload import parse_json


def find_shape(text: str) -> Shape:
    value = parse_json(text)
    if isinstance(value, dict):
        return Shape.MCP if isinstance(value.get("content"), list) else Shape.OBJECT
    return Shape.ARRAY if isinstance(value, list) else Shape.TEXT
