"""MCP: telling clients that noise has changed the list of tools in the middle of a session.

A client of the handshake era is told where its server declared `tools.listChanged`; one of the modern era
where it listens (`subscriptions/listen`), with the subscription's id. Nobody else is told: such a client
meets the change when it asks for the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.tools.mcp_messages import Id

METHOD = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
MOST_SCOPES = 10_000
"""Sessions of MCP that may be told; of more, the oldest aren't."""

_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


class ListChanges:
    """Who is to be told, and what nobody took yet. A scope is a client's connection or session."""

    def __init__(self) -> None:
        self._declared: dict[str, None] = {}
        """The scopes of the handshake era whose server tells of changes."""
        self._asked: set[Id] = set()
        """Subscriptions that the server hasn't acknowledged."""
        self._listening: set[Id] = set()
        self._due: dict[str, list[bytes]] = {}

    @property
    def anyone(self) -> bool:
        """Whether somebody can be told."""
        return bool(self._declared or self._listening)

    @property
    def awaits(self) -> bool:
        """Whether the server still has to acknowledge a subscription."""
        return bool(self._asked)

    def concerns(self, scope: str) -> bool:
        """Whether something may be told on a stream of this scope."""
        return scope in self._declared or any(key[0] == scope for key in (*self._asked, *self._listening))

    def learn(self, raw: bytes, scope: str) -> None:
        """The server's answer to `initialize`."""
        result = _members(_decode(raw), "result")
        if "protocolVersion" in result and _tells(_members(result, "capabilities")):
            self._declared[scope] = None
            if len(self._declared) > MOST_SCOPES:
                self.end(scope=next(iter(self._declared)))

    def listen(self, key: Id, params: Mapping[str, Any]) -> None:
        """A client asks to be told."""
        if _members(params, "notifications").get("toolsListChanged") is True:
            self._asked.add(key)

    def acknowledge(self, raw: bytes, scope: str) -> None:
        """A notification of the server that may acknowledge a subscription."""
        message = _decode(raw)
        if message.get("method") != ACKNOWLEDGED:
            return
        params = _members(message, "params")
        told = _members(params, "_meta").get(SUBSCRIPTION)
        key = next((one for one in self._asked if one[0] == scope and one[2] == told), None)
        if key is not None:
            self._asked.discard(key)
            if _members(params, "notifications").get("toolsListChanged") is True:
                self._listening.add(key)

    def end(self, *, scope: str, key: Id | None = None) -> None:
        """A subscription has ended, or all that a scope had."""
        for known in (self._asked, self._listening):
            known.difference_update({one for one in known if one == key or (key is None and one[0] == scope)})
        if key is None:
            self._declared.pop(scope, None)
            self._due.pop(scope, None)

    def tell(self) -> None:
        """The list has changed: everybody is due a notification, and no more than one."""
        for scope in self._declared:
            self._due[scope] = [_write({"jsonrpc": "2.0", "method": METHOD})]
        listening: dict[str, list[bytes]] = {}
        for key in sorted(self._listening, key=str):
            meta = {"_meta": {SUBSCRIPTION: key[2]}}
            message = {"jsonrpc": "2.0", "method": METHOD, "params": meta}
            listening.setdefault(key[0], []).append(_write(message))
        for scope, messages in listening.items():
            self._due[scope] = [*(self._due[scope] if scope in self._declared else ()), *messages]

    def take(self, scope: str) -> list[bytes]:
        """The notifications for a scope; whoever takes them delivers them."""
        return self._due.pop(scope, [])


def _tells(capabilities: Mapping[str, Any]) -> bool:
    return _members(capabilities, "tools").get("listChanged") is True


def _decode(raw: bytes) -> Mapping[str, Any]:
    try:
        value = _read(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _members(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
