"""What the provider produced, by which it knows its own again: calls, signatures, encrypted reasoning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from tests.clients.upstream.dialogue import Asked, Dialogue


def sealed(text: str) -> str:
    """The seal on a reasoning text: a thinking block's signature, a reasoning item's encrypted content."""
    return "sealed-" + hashlib.blake2b(text.encode(), digest_size=24).hexdigest()


@dataclass(slots=True)
class Produced:
    """The calls that were made, by their ids; and the seals that were given."""

    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    seals: set[str] = field(default_factory=set)

    def call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        self.calls[call_id] = (name, arguments)

    def seal(self, text: str) -> str:
        seal = sealed(text)
        self.seals.add(seal)
        return seal

    def sealed(self, text: Any, seal: Any) -> bool:
        """Whether a seal is one of ours, and this text's."""
        return isinstance(text, str) and seal in self.seals and seal == sealed(text)

    def differing(self, dialogue: Dialogue) -> list[str]:
        """Calls that came back otherwise than they were made."""
        return [
            f"call {item.id} was made as {self.calls[item.id]} and came back as {item.name} {item.arguments}"
            for item in dialogue.items
            if isinstance(item, Asked)
            and item.id in self.calls
            and self.calls[item.id] != (item.name, item.given)
        ]
