"""Map stored items and messages of a provider back to those that the client gave and got.

A provider stores what the policy met. A client that fetches it gets its own clean texts and its own names of
tools; what it never saw is left out. Everything else is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.protocols.document import JsonPath, replace_values
from crosswind.gateway.protocols.hidden_tools import Reinsertion
from crosswind.gateway.protocols.json_values import (
    as_list,
    as_mapping,
    as_mappings,
    as_text,
    decode,
    decode_or_none,
    encode,
)
from crosswind.gateway.protocols.responses.items import rename_loaded_tools

_TEXTS = ("content", "output")
_IDS = ("id", "call_id", "tool_call_id")


@dataclass(frozen=True, slots=True)
class ClientView:
    """A session's client's values for those that its policy met."""

    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Clean texts by the call that they answer and the noisy text: two calls may have met the same error.
    Each stands under no call ("") as well."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Declared names of tools by shown ones."""
    hidden_ids: frozenset[str] = frozenset()
    """The ids of calls, results and reasoning that the client never saw."""

    def map_page(self, body: bytes) -> bytes:
        """A page of a list, or one item; the same object if nothing in it is ours."""
        answer = decode_or_none(body)
        if not isinstance(answer, dict):
            return body
        data = answer.get("data")
        if not isinstance(data, list):
            item = self.map_item(answer)
            return body if item == answer or item is None else encode(item)
        kept = [item for item in map(self.map_item, data) if item is not None]
        if kept == data:
            return body
        ends: dict[str, Any] = {}
        if len(kept) != len(data):
            ids = [item.get("id") for item in kept if isinstance(item, dict)]
            ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
        changed: dict[JsonPath, Any] = {(name,): value for name, value in ends.items() if name in answer}
        return replace_values(body, {("data",): kept, **changed})

    def next_cursor(self, body: bytes) -> str | None:
        """The item behind which a list continues, if the client has no item of this page: clients take an
        empty page for the last one.
        """
        answer = as_mapping(decode_or_none(body))
        data = as_list(answer.get("data"))
        if answer.get("has_more") is not True or any(self.map_item(item) is not None for item in data):
            return None
        return as_text(data[-1], "id") or None if data else None

    def map_output(self, body: bytes) -> bytes:
        """A compacted history, with its items as the client has them."""
        answer = decode_or_none(body)
        output = as_mapping(answer).get("output")
        if not isinstance(output, list):
            return body
        kept = [item for item in map(self.map_item, output) if item is not None]
        return body if kept == output else replace_values(body, {("output",): kept})

    def map_item(self, item: Any) -> Any:
        """An item or a message as the client has it; None if the client has none."""
        if not isinstance(item, dict):
            return item
        if any(item.get(name) in self.hidden_ids for name in _IDS if isinstance(item.get(name), str)):
            return None
        mapped = dict(item)
        call = as_text(item, "call_id") or as_text(item, "tool_call_id")
        for name in _TEXTS:
            if name in item:
                mapped[name] = self._clean(item[name], call)
        if item.get("type") == "function_call" and isinstance(item.get("name"), str):
            mapped["name"] = self.names.get(item["name"], item["name"])
        mapped = rename_loaded_tools(mapped, lambda name: self.names.get(name, name))
        if isinstance(item.get("tool_calls"), list):
            calls = [call for call in map(self._call, item["tool_calls"]) if call is not None]
            mapped["tool_calls"] = calls or None
        return mapped

    def _clean(self, content: Any, call: str) -> Any:
        if isinstance(content, str):
            return self.texts.get((call, content)) or self.texts.get(("", content), content)
        if isinstance(content, list):
            return [
                {**part, "text": self._clean(part["text"], call)}
                if isinstance(part, dict) and isinstance(part.get("text"), str)
                else part
                for part in content
            ]
        return content

    def _call(self, call: Any) -> Any:
        """A call of Chat Completions."""
        if not isinstance(call, dict):
            return call
        if as_text(call, "id") in self.hidden_ids:
            return None
        function = as_mapping(call.get("function"))
        if as_text(function, "name") not in self.names:
            return call
        return {**call, "function": {**function, "name": self.names[function["name"]]}}


def hidden_ids(put_backs: Iterable[Reinsertion]) -> frozenset[str]:
    """The ids of the calls, results and messages that these reinsertions hide from the client."""
    ids: set[str] = set()
    for put in put_backs:
        for raw in (*put.before, *put.results, *(call for _, call in put.calls)):
            item = decode(raw.encode())
            found = as_mappings([item, *as_list(as_mapping(item).get("tool_calls"))])
            ids.update(one[name] for one in found for name in _IDS if isinstance(one.get(name), str))
    return frozenset(ids)


def map_stored_answer(body: bytes, produced: Any, delivered: Any) -> bytes:
    """A fetched answer as it was delivered: members that differed from the produced ones are replaced, all
    others keep the bytes that come now.
    """
    answer = decode_or_none(body)
    if not all(isinstance(one, dict) for one in (answer, produced, delivered)):
        return body
    if answer.get("id") != produced.get("id"):
        return body
    changed = {name: value for name, value in delivered.items() if value != produced.get(name)}
    here: dict[JsonPath, Any] = {(name,): value for name, value in changed.items() if name in answer}
    if ("output",) in here:
        here["output",] = _items(answer["output"], delivered["output"])
    return replace_values(body, here) if here else body


def _items(now: Any, delivered: Any) -> Any:
    """The delivered items with the contents that come now, but for their names."""
    if not isinstance(now, list) or not isinstance(delivered, list):
        return delivered
    found = {as_text(item, "id"): item for item in now if isinstance(item, dict)}
    out = []
    for item in delivered:
        live = found.get(as_text(item, "id")) if isinstance(item, dict) else None
        named = {"name": item["name"]} if isinstance(item, dict) and "name" in item else {}
        out.append(item if live is None else {**live, **named})
    return out
