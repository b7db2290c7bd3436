"""An environment's tools as an MCP server of the handshake era: JSON-RPC messages in, messages out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crosswind.simulators.environment import Environment, Episode, Equipment, equip, unblocked
from crosswind.simulators.errors import EnvironmentFailedError

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_INTERNAL_ERROR = -32603

Members = dict[str, Any]


async def answer(environment: Environment, episode: Episode, body: bytes) -> Members | None:
    """The answer to a message; None where it is a notification."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _refuse(_PARSE_ERROR, "the message is not JSON")
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _refuse(_INVALID_REQUEST, "the message must be an object with a `method`")
    if "id" not in message:
        return None
    given = message.get("params")
    params = given if isinstance(given, dict) else {}
    if message["method"] == "tools/call":
        said = await _call(episode, params)
    else:
        said = _answer(environment.name, equip(environment, episode), message["method"], params)
    return {"jsonrpc": "2.0", "id": message["id"], **said}


async def _call(episode: Episode, params: Mapping[str, Any]) -> Members:
    """The member `result` of a call's answer, or `error`."""
    if not isinstance(params.get("name"), str):
        return _error(_INVALID_PARAMS, "params.name: give the tool's name")
    try:
        said = await unblocked(episode.call, params["name"], json.dumps(params.get("arguments", {})))
    except EnvironmentFailedError as error:
        return _error(_INTERNAL_ERROR, f"environment: {error}")
    return {"result": {"content": [{"type": "text", "text": said}], "isError": is_error(said)}}


def _answer(name: str, equipment: Equipment, method: str, params: Mapping[str, Any]) -> Members:
    """The same of any other request."""
    match method:
        case "initialize":
            return {"result": _introduce(name, equipment, params.get("protocolVersion"))}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": list_tools(equipment)}}
    return _error(_METHOD_NOT_FOUND, f"there is no method {method}")


def list_tools(equipment: Equipment) -> list[Members]:
    """The tools as MCP lists them. What a tool does to the world is in its annotations."""
    functions = [tool["function"] for tool in equipment.tools]
    return [
        {
            "name": one["name"],
            "description": one.get("description", ""),
            "inputSchema": one["parameters"],
            "annotations": _ANNOTATIONS.get(equipment.tool_classes.get(one["name"], ""), {}),
        }
        for one in functions
    ]


_ANNOTATIONS: Mapping[str, Members] = {
    "read_only": {"readOnlyHint": True},
    "idempotent": {"readOnlyHint": False, "idempotentHint": True},
    "destructive": {"readOnlyHint": False, "destructiveHint": True},
}


def is_error(text: str) -> bool:
    """Whether a result tells of an error and of nothing else."""
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return isinstance(said, dict) and set(said) == {"error"}


def _introduce(name: str, equipment: Equipment, asked: object) -> Members:
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": "1"},
        "instructions": equipment.instructions,
    }


def _error(code: int, message: str) -> Members:
    return {"error": {"code": code, "message": message}}


def _refuse(code: int, message: str) -> Members:
    """The answer to what is no request."""
    return {"jsonrpc": "2.0", "id": None, **_error(code, message)}
