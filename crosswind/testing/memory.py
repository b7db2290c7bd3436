"""What the provider remembers: the calls and seals that it gave out, and the responses that it stores."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from crosswind.testing.dialogue import Call, CallItem, Dialogue
from crosswind.testing.errors import ProviderError


def seal_of(text: str) -> str:
    """The seal on a reasoning text: a thinking block's signature, a reasoning item's encrypted content."""
    return "sealed-" + hashlib.blake2b(text.encode(), digest_size=24).hexdigest()


@dataclass(slots=True)
class Issued:
    """The calls that were made, by their ids; and the seals that were given."""

    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    seals: set[str] = field(default_factory=set)

    def add_call(self, call_id: str, call: Call) -> None:
        self.calls[call_id] = (call.name, CallItem(call_id, call.name, call.text).parsed)

    def seal(self, text: str) -> str:
        seal = seal_of(text)
        self.seals.add(seal)
        return seal

    def is_seal_of(self, text: Any, seal: Any) -> bool:
        """Whether a seal is one of ours, and this text's."""
        return isinstance(text, str) and seal in self.seals and seal == seal_of(text)

    def find_changed(self, dialogue: Dialogue) -> list[str]:
        """Calls that came back otherwise than they were made."""
        return [
            f"call {item.id} was made as {self.calls[item.id]} and came back as {item.name} {item.arguments}"
            for item in dialogue.items
            if isinstance(item, CallItem)
            and item.id in self.calls
            and self.calls[item.id] != (item.name, item.parsed)
        ]


@dataclass(frozen=True, slots=True)
class Kept:
    """A response, and all items that were its context."""

    response: dict[str, Any]
    context: list[dict[str, Any]]


@dataclass(slots=True)
class Stored:
    """Everything that is kept. Of what was said with `store: false`, only the seals are known."""

    responses: dict[str, Kept] = field(default_factory=dict)
    _items: dict[str, dict[str, Any]] = field(default_factory=dict)
    follows: dict[str, str] = field(default_factory=dict)
    """By an item's id: the reasoning item without which it may not come."""

    def keep(self, response: dict[str, Any], context: list[dict[str, Any]]) -> None:
        self.responses[response["id"]] = Kept(response, context)
        self._items |= {item["id"]: item for item in [*context, *response["output"]]}

    def remember(self, output: list[dict[str, Any]]) -> None:
        """Remember which item each reasoning item belongs to."""
        reasoning = None
        for item in output:
            if item["type"] == "reasoning":
                reasoning = item["id"]
            elif reasoning is not None:
                self.follows[item["id"]] = reasoning

    def item(self, item_id: Any) -> dict[str, Any]:
        """A kept item. Refused where there is none."""
        if item_id not in self._items:
            raise ProviderError(
                404,
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input.",
                "input",
            )
        return self._items[item_id]

    def response(self, response_id: str) -> Kept:
        """A kept response. Refused where there is none."""
        if response_id not in self.responses:
            raise ProviderError(404, f"Response with id '{response_id}' not found.")
        return self.responses[response_id]

    def before(self, response_id: str | None) -> list[dict[str, Any]]:
        """The items that a new response continues."""
        if response_id is None:
            return []
        if response_id not in self.responses:
            raise ProviderError(
                400,
                f"Previous response with id '{response_id}' not found.",
                "previous_response_id",
                "previous_response_not_found",
            )
        kept = self.responses[response_id]
        return [*kept.context, *kept.response["output"]]
