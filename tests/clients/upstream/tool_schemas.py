"""Declared tools, checked as the providers check them."""

from __future__ import annotations

import re
from typing import Any

from tests.clients.upstream.dialogue import Tool
from tests.clients.upstream.refusals import refuse

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


def openai_tool(function: Any, where: str) -> Tool:
    """A function as Chat Completions and Responses declare it."""
    refuse(not isinstance(function, dict), f"Invalid type for '{where}': expected an object.", where)
    name = function.get("name")
    refuse(
        not isinstance(name, str) or not _NAME.match(name),
        f"Invalid '{where}.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.",
        f"{where}.name",
        "invalid_value",
    )
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    refuse(
        not isinstance(parameters, dict) or parameters.get("type") != "object",
        f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.",
        f"{where}.parameters",
        "invalid_function_parameters",
    )
    if function.get("strict"):
        _strict(parameters, f"Invalid schema for function '{name}'", where)
    return Tool(name, function.get("description") or "", parameters)


def anthropic_tool(tool: Any, where: str) -> Tool:
    """A tool as Messages declares it."""
    name, schema = tool.get("name"), tool.get("input_schema")
    refuse(not isinstance(name, str), f"{where}.name: Field required")
    refuse(
        not _ANTHROPIC_NAME.match(name),
        f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
    )
    refuse(not isinstance(schema, dict), f"{where}.input_schema: Field required")
    refuse(schema.get("type") != "object", f"{where}.input_schema.type: Input should be 'object'")
    return Tool(name, tool.get("description") or "", schema)


def _strict(schema: Any, message: str, where: str) -> None:
    """Every object is closed and all its properties are required."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        refuse(
            schema.get("additionalProperties") is not False,
            f"{message}: 'additionalProperties' is required to be supplied and to be false.",
            where,
            "invalid_function_parameters",
        )
        refuse(
            set(schema.get("required", ())) != set(properties),
            f"{message}: 'required' is required to be supplied and to be an array including every key in "
            "properties.",
            where,
            "invalid_function_parameters",
        )
        for one in properties.values():
            _strict(one, message, where)
    for one in schema.get("$defs", {}).values():
        _strict(one, message, where)
    _strict(schema.get("items"), message, where)
    for one in schema.get("anyOf", ()):
        _strict(one, message, where)


def strict_schema(schema: Any, name: str, where: str) -> None:
    """400 for the schema of a structured output that isn't strict."""
    _strict(schema, f"Invalid schema for response_format '{name}'", where)
