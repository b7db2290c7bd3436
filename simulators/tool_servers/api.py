"""An environment's tools as an HTTP API: reads whose arguments are texts are GET, all other calls POST."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from crosswind.simulators.environment import Episode, Equipment, unblocked
from crosswind.simulators.errors import EnvironmentFailedError
from crosswind.simulators.tool_servers.mcp import is_error


def method_of(equipment: Equipment, tool: Mapping[str, Any]) -> str:
    """The HTTP method of a tool (OpenAI's object)."""
    function = tool["function"]
    texts = all(one.get("type") == "string" for one in _properties(function).values())
    return "GET" if texts and equipment.tool_classes.get(function["name"]) == "read_only" else "POST"


def _properties(function: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = function["parameters"].get("properties", {})
    return found


def describe(title: str, equipment: Equipment) -> dict[str, Any]:
    """The API's OpenAPI document."""
    paths = {f"/{tool['function']['name']}": _operation(equipment, tool) for tool in equipment.tools}
    return {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": paths}


def _operation(equipment: Equipment, tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    parameters = function["parameters"]
    operation: dict[str, Any] = {
        "operationId": function["name"],
        "description": function.get("description", ""),
        "responses": {"200": {"description": "The result."}, "422": {"description": "Why it can't be done."}},
    }
    if method_of(equipment, tool) == "POST":
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": parameters}}}
        return {"post": operation}
    operation["parameters"] = [
        {
            "name": name,
            "in": "query",
            "required": name in parameters.get("required", ()),
            "description": schema.get("description", ""),
            "schema": {"type": schema["type"]},
        }
        for name, schema in _properties(function).items()
    ]
    return {"get": operation}


async def answer(
    equipment: Equipment, episode: Episode, method: str, path: str, query: bytes, body: bytes
) -> tuple[int, str]:
    """The status and the text that a request gets."""
    name = path.removeprefix("/")
    tool = next((one for one in equipment.tools if one["function"]["name"] == name), None)
    if tool is None:
        return 404, json.dumps({"error": f"there is no tool {name}"})
    if method != (allowed := method_of(equipment, tool)):
        return 405, json.dumps({"error": f"send {allowed}"})
    given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    arguments = json.dumps(given) if method == "GET" else body.decode(errors="replace")
    try:
        text = await unblocked(episode.call, name, arguments)
    except EnvironmentFailedError as error:
        return 502, json.dumps({"error": f"environment: {error}"})
    return 422 if is_error(text) else 200, text
