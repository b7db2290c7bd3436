"""An environment's tools as an MCP server of the handshake era: JSON-RPC messages in, messages out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crosswind.simulators.environment import Environment, Episode

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32600, -32601, -32602

Members = dict[str, Any]


def answer(environment: Environment, episode: Episode, body: bytes) -> Members | None:
    """The answer to a message; None where it is a notification."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _refuse(_PARSE_ERROR, "the message is not JSON")
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _refuse(_INVALID_REQUEST, "the message must be an object with a `method`")
    if "id" not in message:
        return None
    params = message.get("params")
    said = _carry_out(environment, episode, message["method"], params if isinstance(params, dict) else {})
    return {"jsonrpc": "2.0", "id": message["id"], **said}


def _carry_out(environment: Environment, episode: Episode, method: str, params: Mapping[str, Any]) -> Members:
    """The answer's member `result`, or `error`."""
    match method:
        case "initialize":
            return {"result": _introduce(environment, params.get("protocolVersion"))}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": list_tools(environment)}}
        case "tools/call" if isinstance(params.get("name"), str):
            said = episode.call(params["name"], json.dumps(params.get("arguments", {})))
            return {"result": {"content": [{"type": "text", "text": said}], "isError": is_error(said)}}
        case "tools/call":
            return _error(_INVALID_PARAMS, "params.name: give the tool's name")
    return _error(_METHOD_NOT_FOUND, f"there is no method {method}")


def list_tools(environment: Environment) -> list[Members]:
    """The tools as MCP lists them. What a tool does to the world is in its annotations."""
    functions = [tool["function"] for tool in environment.tools]
    return [
        {
            "name": one["name"],
            "description": one["description"],
            "inputSchema": one["parameters"],
            "annotations": _annotate(environment, one["name"]),
        }
        for one in functions
    ]


def _annotate(environment: Environment, tool: str) -> Members:
    if tool in getattr(environment, "read_only", ()):  # an environment from elsewhere may not say
        return {"readOnlyHint": True}
    if tool in environment.repeatable:
        return {"readOnlyHint": False, "idempotentHint": True}
    return {}


def is_error(text: str) -> bool:
    """Whether a result tells of an error and of nothing else."""
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return isinstance(said, dict) and set(said) == {"error"}


def _introduce(environment: Environment, asked: object) -> Members:
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": environment.name, "version": "1"},
        "instructions": environment.instructions,
    }


def _error(code: int, message: str) -> Members:
    return {"error": {"code": code, "message": message}}


def _refuse(code: int, message: str) -> Members:
    """The answer to what is no request."""
    return {"jsonrpc": "2.0", "id": None, **_error(code, message)}
