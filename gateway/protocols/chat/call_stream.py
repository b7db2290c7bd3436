"""Chat Completions: the calls of a streamed choice, mapped back to the client's names, inner ones withheld.

Only tool-call deltas wait, and only until it is known whose they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall


@dataclass(slots=True)
class _Call:
    """One call as it streams. `held` are the deltas that wait; `index` is set once it goes to the client.
    `other`: it is no function's, such as one of a custom tool, and goes there as it comes.
    """

    name: str = ""
    call_id: str = ""
    arguments: str = ""
    held: list[dict[str, Any]] = field(default_factory=list)
    decided: bool = False
    other: bool = False
    index: int | None = None


class CallStream:
    """The calls of one choice, in the order in which the policy made them."""

    def __init__(self, mapping: CallMapping) -> None:
        self._mapping = mapping
        self._calls: dict[int, _Call] = {}
        self.delivered = 0

    def feed(self, deltas: Sequence[Any]) -> list[dict[str, Any]]:
        """Take the `tool_calls` of a delta; gives what goes to the client now."""
        out: list[dict[str, Any]] = []
        for delta in deltas:
            if isinstance(delta, dict):
                out += self._take(delta)
        return out

    def end(self) -> list[dict[str, Any]]:
        """No more deltas will come: what still waited."""
        return self._settle(complete=True)

    @property
    def first_id(self) -> str:
        """The id of the first call that the client got; empty where it got none."""
        return next((call.call_id for call in self._calls.values() if call.index == 0), "")

    def inner(self) -> list[HiddenCall]:
        """The calls that were withheld."""
        return [
            HiddenCall(position, call.call_id, call.name, call.arguments, _whole(call))
            for position, (_, call) in enumerate(sorted(self._calls.items()))
            if call.decided and call.index is None
        ]

    def _take(self, delta: dict[str, Any]) -> list[dict[str, Any]]:
        index = delta.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else len(self._calls), _Call())
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
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
        """Decide what can be decided, in order: a call waits for the ones before it."""
        out: list[dict[str, Any]] = []
        for index, call in sorted(self._calls.items()):
            if call.decided:
                continue
            # The next call has begun, so this one is whole.
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
        """The deltas that waited: a function's as one, under the client's name."""
        if call.other:
            return [{**delta, "index": call.index} for delta in call.held]
        whole = _whole(call)
        function = {**whole["function"], "name": self._mapping.client_name(call.name)}
        return [{**whole, "index": call.index, "function": function}]


def _whole(call: _Call) -> dict[str, Any]:
    """A call's deltas as the call itself, with fields that only its provider knows."""
    merged: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for delta in call.held:
        function = delta.get("function")
        inner = {**(function if isinstance(function, dict) else {}), **inner}
        merged = {**delta, **merged}
    merged.pop("index", None)
    return {**merged, "function": {**inner, "name": call.name, "arguments": call.arguments}}
