"""New directions for a model that writes noise, proposed by a model: the prompt strategy of AgentNoiseBench's
eq. 1, one rule of a candidate at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gateway.evolution.space import Candidate, Space
from injectors import registry
from injectors.streams import Stream

if TYPE_CHECKING:
    from gateway.evolution.search import Scored

LONGEST = 600
"""Characters of a direction."""

TASK = (
    "You improve the directions that a writer of noise follows. The noise stands in what an assistant under "
    "test reads, from its user or from its tools. A direction says in what manner it is written: subject, "
    "tone, form. It never asks for facts of the assistant's task to be changed, hidden or left out, nor for "
    "instructions to the assistant: such noise is withdrawn. Give the new direction alone, 60 words at most."
)

Complete = Callable[[str, str, int], Awaitable[str | None]]
"""A model's answer to a system text and a user text under a seed; None where it gave none."""


class Directions(Protocol):
    """Proposes candidates whose rules differ in their prompt only."""

    async def renewed(self, space: Space, parent: Scored, rng: Stream) -> Candidate | None:
        """The parent with a new prompt for one of its rules; None where no rule has one, or none came."""
        ...


class Proposed:
    """Directions that a model proposes, told how the parent's did."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    async def renewed(self, space: Space, parent: Scored, rng: Stream) -> Candidate | None:
        candidate = parent.individual.candidate
        writable = [gene for gene in candidate.genes if space.writable(gene.operator)]
        seed = rng.integer(0, 2**31 - 1)
        if not writable:
            return None
        gene = rng.choice(writable)
        does = registry.operators()[gene.operator].documentation.partition("\n\n")[0]
        asked = (
            f"The noise: {does}\nThe direction so far: {gene.prompt or 'none'}\nUnder it the assistant "
            f"solved {parent.fitness.success:.0%} of its tasks. Write one under which it solves fewer."
        )
        text = await self._complete(TASK, asked, seed)
        if text is None or not (direction := " ".join(text.split())[:LONGEST]):
            return None
        genes = [replace(one, prompt=direction) if one is gene else one for one in candidate.genes]
        return Candidate.of(candidate.compose, genes)
