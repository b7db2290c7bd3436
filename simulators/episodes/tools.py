"""Where an agent's tools are: in the episode itself, or behind a server that it calls over HTTP or stdio."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import httpx

from crosswind.simulators.environment import Episode, unblocked

ToolObject = Mapping[str, Any]
"""A tool as the OpenAI chat API writes it."""

_PROTOCOL = "2025-06-18"


class Tools(Protocol):
    """The tools that an agent has in an episode."""

    async def list_tools(self) -> Sequence[ToolObject]:
        """The tools to show the model. httpx.HTTPError where their server can't be reached."""
        ...

    async def call(self, name: str, arguments: str) -> str:
        """Call one; `arguments` is JSON text as the model wrote it. A call that fails gives a text, too."""
        ...


class OwnTools:
    """An episode's tools, called in this process."""

    def __init__(self, episode: Episode, tools: Sequence[ToolObject]) -> None:
        self._episode = episode
        self._tools = tools

    async def list_tools(self) -> Sequence[ToolObject]:
        return self._tools

    async def call(self, name: str, arguments: str) -> str:
        return await unblocked(self._episode.call, name, arguments)


class McpLink(Protocol):
    """The way to an MCP server."""

    async def ask(self, message: Mapping[str, Any]) -> object:
        """The answer to a request, whatever it is. httpx.HTTPError where there is none."""
        ...

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Send a notification."""
        ...


class McpOverHttp:
    """An MCP server at a URL, which answers with plain JSON."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def ask(self, message: Mapping[str, Any]) -> object:
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": _PROTOCOL}
        answer = await self._http.post(self._url, json=message, headers=headers)
        try:
            return answer.json()
        except ValueError:
            return None

    async def tell(self, message: Mapping[str, Any]) -> None:
        await self._http.post(self._url, json=message)


class McpOverStdio:
    """An MCP server over the standard streams of a process. It is asked one thing at a time."""

    def __init__(self, process: asyncio.subprocess.Process, timeout_s: float) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self._timeout_s = timeout_s
        self._asking = asyncio.Lock()

    async def ask(self, message: Mapping[str, Any]) -> object:
        async with self._asking:
            await self.tell(message)
            try:
                return await asyncio.wait_for(self._find_answer(message["id"]), self._timeout_s)
            except TimeoutError:
                raise httpx.ReadTimeout("the server doesn't answer") from None

    async def tell(self, message: Mapping[str, Any]) -> None:
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            await self._input.drain()
        except OSError as error:
            raise httpx.WriteError(str(error)) from error

    async def _find_answer(self, request: object) -> object:
        while line := await self._output.readline():
            said = json.loads(line)
            if said.get("id") == request and "method" not in said:
                return said
        raise httpx.ReadError("the server has ended")


class McpTools:
    """The tools of an MCP server."""

    def __init__(self, link: McpLink) -> None:
        self._link = link
        self._ids = itertools.count(1)

    async def list_tools(self) -> Sequence[ToolObject]:
        client = {"name": "crosswind-practice", "version": "1"}
        opening = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        await self._ask("initialize", opening)
        await self._link.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = await self._ask("tools/list", {})
        if "result" not in listed:
            raise httpx.DecodingError(f"tools/list: {listed['error']}")
        return [_as_openai(one) for one in listed["result"]["tools"]]

    async def call(self, name: str, arguments: str) -> str:
        try:
            given = json.loads(arguments)
        except ValueError:
            return _error("arguments are not JSON")
        if not isinstance(given, dict):
            return _error("arguments are not an object")
        try:
            said = await self._ask("tools/call", {"name": name, "arguments": given})
        except httpx.HTTPError as error:
            return _error(_name(error))
        if "error" in said:
            return json.dumps({"error": said["error"]})
        return "\n".join(block["text"] for block in said["result"]["content"] if block["type"] == "text")

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        said = await self._link.ask(message)
        if not isinstance(said, dict) or not {"result", "error"} & said.keys():
            raise httpx.DecodingError("the answer is no message of JSON-RPC")
        return said


class ApiTools:
    """Tools that are operations of an HTTP API at the client's base URL: `methods` has each one's, and its
    path is its name."""

    def __init__(
        self, http: httpx.AsyncClient, tools: Sequence[ToolObject], methods: Mapping[str, str]
    ) -> None:
        self._http = http
        self._tools = tools
        self._methods = methods

    async def list_tools(self) -> Sequence[ToolObject]:
        return self._tools

    async def call(self, name: str, arguments: str) -> str:
        try:
            if self._methods.get(name) == "GET":
                answer = await self._http.get(name, params=json.loads(arguments))
            else:
                headers = {"content-type": "application/json"}
                answer = await self._http.post(name, content=arguments, headers=headers)
        except (httpx.HTTPError, ValueError, TypeError) as error:
            return _error(_name(error))
        return answer.text or _error(f"HTTP status {answer.status_code}")


def _as_openai(tool: Mapping[str, Any]) -> ToolObject:
    function = {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["inputSchema"],
    }
    return {"type": "function", "function": function}


def _error(text: str) -> str:
    return json.dumps({"error": text})


def _name(error: Exception) -> str:
    return f"the tool can't be reached: {type(error).__name__}"
