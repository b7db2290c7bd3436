"""Responses that the provider keeps: items are found again by their ids, responses by theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.clients.upstream.refusals import Refused
from tests.clients.upstream.wire import Reply, plain


@dataclass(frozen=True, slots=True)
class Kept:
    """A response, and all items that were its context."""

    response: dict[str, Any]
    context: list[dict[str, Any]]


@dataclass(slots=True)
class Stored:
    """Everything that is kept. What was said with `store: false` is known only by its seals."""

    responses: dict[str, Kept] = field(default_factory=dict)
    _items: dict[str, dict[str, Any]] = field(default_factory=dict)
    _follows: dict[str, str] = field(default_factory=dict)
    _seals: set[str] = field(default_factory=set)

    def keep(self, response: dict[str, Any], context: list[dict[str, Any]]) -> None:
        self.responses[response["id"]] = Kept(response, context)
        self._items |= {item["id"]: item for item in [*context, *response["output"]]}

    def produced(self, output: list[dict[str, Any]]) -> None:
        """Remember which item each reasoning item belongs to, and its seal."""
        reasoning = None
        for item in output:
            if item["type"] == "reasoning":
                reasoning = item["id"]
                self._seals |= {seal for seal in (item.get("encrypted_content"),) if seal}
            elif reasoning is not None:
                self._follows[item["id"]] = reasoning

    def item(self, item_id: Any) -> dict[str, Any]:
        """A kept item. Refused where there is none."""
        if item_id not in self._items:
            raise Refused(
                404,
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input.",
                "input",
            )
        return self._items[item_id]

    def follows(self, item_id: str) -> str | None:
        """The reasoning item without which this item may not come."""
        return self._follows.get(item_id)

    def is_sealed(self, seal: str) -> bool:
        """Whether this encrypted content is one that was given out. Clients may drop its item's id."""
        return seal in self._seals

    def response(self, response_id: str) -> Kept:
        """A kept response. Refused where there is none."""
        if response_id not in self.responses:
            raise Refused(404, f"Response with id '{response_id}' not found.")
        return self.responses[response_id]

    def before(self, response_id: str | None) -> list[dict[str, Any]]:
        """The items that a new response continues."""
        if response_id is None:
            return []
        if response_id not in self.responses:
            raise Refused(
                400,
                f"Previous response with id '{response_id}' not found.",
                "previous_response_id",
                "previous_response_not_found",
            )
        kept = self.responses[response_id]
        return [*kept.context, *kept.response["output"]]


def retrieve(provider: Any, _: Any, path: re.Match[str]) -> Reply:
    return plain(provider.stored.response(path[1]).response)


def delete(provider: Any, _: Any, path: re.Match[str]) -> Reply:
    provider.stored.response(path[1])
    del provider.stored.responses[path[1]]
    return plain({"id": path[1], "object": "response", "deleted": True})


def input_items(provider: Any, seen: Any, path: re.Match[str]) -> Reply:
    """The items that a response was an answer to: the newest first unless asked otherwise."""
    query = parse_qs(urlsplit(seen.path).query)
    items = list(provider.stored.response(path[1]).context)
    if query.get("order", ["desc"])[0] == "desc":
        items.reverse()
    after = query.get("after", [None])[0]
    if after is not None:
        items = items[1 + [item["id"] for item in items].index(after) :]
    limit = int(query.get("limit", ["20"])[0])
    page = items[:limit]
    ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
    return plain({"object": "list", "data": page, **ends, "has_more": len(items) > limit})
