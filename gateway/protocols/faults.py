"""Faults on the link to the model, as they were decided for one exchange: what happens where."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """One decision carried out: an operator and its settings (`crosswind.injectors.engine.link`,
    `crosswind.injectors.engine.model_link`).
    """

    operator: str
    settings: Mapping[str, Any]

    @property
    def delays(self) -> bool:
        """Whether all that it does is to delay."""
        return self.settings.get("kind") == "delay"

    def number(self, name: str) -> float:
        """A number among the settings; 0 where there is none."""
        return float(self.settings.get(name, 0.0))


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one exchange. Transport has `where` and `kind`, the model `where` and what it says."""

    transport: Sequence[Fault] = ()
    model: Fault | None = None

    def __bool__(self) -> bool:
        return bool(self.transport) or self.model is not None

    def find(self, where: str, kind: str) -> Fault | None:
        """The first transport fault of a kind at a place."""
        for fault in self.transport:
            if fault.settings.get("where") == where and fault.settings.get("kind") == kind:
                return fault
        return None

    def instead(self) -> Fault | None:
        """What the model's provider says in place of an answer."""
        return self.model if self.model and self.model.settings.get("where") == "instead" else None

    def edit(self) -> Fault | None:
        """What becomes of the provider's answer on its way."""
        return self.model if self.model and self.model.settings.get("where") == "after" else None

    @property
    def on_the_way_back(self) -> bool:
        """Whether something happens while the answer is passed on, which needs to see its bytes."""
        return self.edit() is not None or any(
            fault.settings.get("where") in ("response", "stream") for fault in self.transport
        )

    @property
    def of_whole_answers(self) -> list[Fault]:
        """What acts on an answer as a whole, for which it has to be held."""
        edit = self.edit()
        return [
            *(one for one in self.transport if one.settings.get("where") == "response" and not one.delays),
            *([] if edit is None else [edit]),
        ]

    async def wait(self, where: str) -> None:
        """Wait as long as the delays at a place say."""
        delays = [
            fault.number("delay_ms")
            for fault in self.transport
            if fault.settings.get("where") == where and fault.delays
        ]
        if (total_ms := sum(delays)) > 0:
            await asyncio.sleep(total_ms / 1000.0)


NO_FAULTS = Faults()
