"""An environment's tools as an HTTP API: reads whose arguments are texts are GET, all other calls POST."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from crosswind.simulators.environment import Environment, Episode
from crosswind.simulators.tool_servers.mcp import is_error


def method_of(environment: Environment, tool: Mapping[str, Any]) -> str:
    """The HTTP method of a tool (OpenAI's object)."""
    function = tool["function"]
    texts = all(one.get("type") == "string" for one in function["parameters"]["properties"].values())
    # An environment from elsewhere may not say which tools only read.
    return "GET" if texts and function["name"] in getattr(environment, "read_only", ()) else "POST"


def describe(environment: Environment) -> dict[str, Any]:
    """The API's OpenAPI document."""
    paths = {f"/{tool['function']['name']}": _operation(environment, tool) for tool in environment.tools}
    return {"openapi": "3.1.0", "info": {"title": environment.name, "version": "1"}, "paths": paths}


def _operation(environment: Environment, tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    parameters = function["parameters"]
    operation: dict[str, Any] = {
        "operationId": function["name"],
        "description": function["description"],
        "responses": {"200": {"description": "The result."}, "422": {"description": "Why it can't be done."}},
    }
    if method_of(environment, tool) == "POST":
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
        for name, schema in parameters["properties"].items()
    ]
    return {"get": operation}


def answer(
    environment: Environment, episode: Episode, method: str, path: str, query: bytes, body: bytes
) -> tuple[int, str]:
    """The status and the text that a request gets."""
    name = path.removeprefix("/")
    tool = next((one for one in environment.tools if one["function"]["name"] == name), None)
    if tool is None:
        return 404, json.dumps({"error": f"there is no tool {name}"})
    if method != (allowed := method_of(environment, tool)):
        return 405, json.dumps({"error": f"send {allowed}"})
    given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    text = episode.call(name, json.dumps(given) if method == "GET" else body.decode(errors="replace"))
    return 422 if is_error(text) else 200, text
