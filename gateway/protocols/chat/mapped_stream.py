"""Chat Completions: map the calls of a streamed choice to the client's names, and keep hidden ones from it.

Only deltas of calls are held, and only until it is known whether their call is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.json_values import as_mapping, as_text


@dataclass(slots=True)
class _Call:
    """One call as it streams."""

    name: str = ""
    call_id: str = ""
    arguments: str = ""
    held: list[dict[str, Any]] = field(default_factory=list)
    """The deltas that wait."""
    decided: bool = False
    other: bool = False
    """It is no function's, such as one of a custom tool: it goes to the client unchanged."""
    index: int | None = None
    """Its index for the client, once it goes there."""


class CallStream:
    """The calls of one choice, in the order in which the policy made them."""

    def __init__(self, mapping: CallMapping) -> None:
        self._mapping = mapping
        self._calls: dict[int, _Call] = {}
        self.delivered = 0

    def feed(self, deltas: Sequence[Any]) -> list[dict[str, Any]]:
        """Take the `tool_calls` of a delta; gives those that go to the client now."""
        out: list[dict[str, Any]] = []
        for delta in deltas:
            if isinstance(delta, dict):
                out += self._take(delta)
        return out

    def end(self) -> list[dict[str, Any]]:
        """No more deltas will come: gives those that still waited."""
        return self._settle(complete=True)

    @property
    def first_id(self) -> str:
        """The id of the first call that the client got; empty if it got none."""
        return next((call.call_id for call in self._calls.values() if call.index == 0), "")

    def hidden_calls(self) -> list[HiddenCall]:
        """The calls that the client doesn't get."""
        return [
            HiddenCall(position, call.call_id, call.name, call.arguments, _merge(call))
            for position, (_, call) in enumerate(sorted(self._calls.items()))
            if call.decided and call.index is None
        ]

    def _take(self, delta: dict[str, Any]) -> list[dict[str, Any]]:
        index = delta.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else len(self._calls), _Call())
        function = as_mapping(delta.get("function"))
        call.other |= not function and as_text(delta, "type") not in ("", "function")
        call.name += as_text(function, "name")
        call.arguments += as_text(function, "arguments")
        call.call_id = call.call_id or as_text(delta, "id")
        if call.decided and call.index is not None:
            return [{**delta, "index": call.index}]
        if not call.decided or self._mapping.is_hidden(call.name, call.arguments):
            call.held.append(delta)
        return [] if call.decided else self._settle(complete=False)

    def _settle(self, *, complete: bool) -> list[dict[str, Any]]:
        """Decide what can be decided, in order: a call waits for those before it."""
        out: list[dict[str, Any]] = []
        for index, call in sorted(self._calls.items()):
            if call.decided:
                continue
            # A call is whole once the next one has begun.
            whole = complete or index < max(self._calls)
            if not whole and self._waits(call):
                break
            call.decided = True
            call.other |= not any("function" in delta for delta in call.held)
            if call.other or not self._mapping.is_hidden(call.name, call.arguments):
                call.index, self.delivered = self.delivered, self.delivered + 1
                out += self._map_call(call)
                call.held.clear()
        return out

    def _waits(self, call: _Call) -> bool:
        if call.other:
            return False
        if not call.name or self._mapping.needs_arguments(call.name):
            return True
        return not call.arguments and self._mapping.may_continue(call.name)

    def _map_call(self, call: _Call) -> list[dict[str, Any]]:
        """The deltas that waited; a function's as one, under the client's name."""
        if call.other:
            return [{**delta, "index": call.index} for delta in call.held]
        whole = _merge(call)
        function = {**whole["function"], "name": self._mapping.client_name(call.name)}
        return [{**whole, "index": call.index, "function": function}]


def _merge(call: _Call) -> dict[str, Any]:
    """A call's deltas merged into the call, with members that only its provider knows."""
    merged: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for delta in call.held:
        inner = {**as_mapping(delta.get("function")), **inner}
        merged = {**delta, **merged}
    merged.pop("index", None)
    return {**merged, "function": {**inner, "name": call.name, "arguments": call.arguments}}
