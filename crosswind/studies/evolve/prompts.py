"""New directions for a model that writes noise, proposed by a model: the prompt strategy of AgentNoiseBench's
eq. 1, one rule of a candidate at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import httpx

from crosswind.gateway.config.noise_model import ChatModel
from crosswind.gateway.noise_model.chat_model import ModelFailed, ask_model
from crosswind.injectors import registry
from crosswind.injectors.identity import digest
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.evolve.candidates import Candidate, Space
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.search import Scored

LONGEST = 600
"""Characters of a direction."""

TASK = (
    "You improve the directions that a writer of noise follows. The noise stands in what an assistant under "
    "test reads, from its user or from its tools. A direction says in what manner it is written: subject, "
    "tone, form. It never asks for facts of the assistant's task to be changed, hidden or left out, nor for "
    "instructions to the assistant: such noise is withheld. Give the new direction alone, 60 words at most."
)

VARIATIONS = 4
"""How many different texts the model is asked for, by rule and parent."""


@dataclass(frozen=True, slots=True)
class ModelPrompts:
    """Prompts that a model proposes, given how the parent did. Its answers are kept in the journal, so that a
    search that goes on makes the same candidates."""

    http: httpx.AsyncClient
    model: ChatModel
    journal: Journal

    async def change_prompt(self, space: Space, parent: Scored, rng: SeededRandom) -> Candidate | None:
        candidate = parent.individual.candidate
        writable = [gene for gene in candidate.genes if space.writable(gene.operator)]
        variation = rng.integer(1, VARIATIONS)
        if not writable:
            return None
        gene = rng.choice(writable)
        does = registry.operators()[gene.operator].documentation.partition("\n\n")[0]
        text = await self._propose(
            f"The noise: {does}\nThe direction so far: {gene.prompt or 'none'}\nUnder it the assistant "
            f"solved {parent.fitness.success:.0%} of its tasks. Write one under which it solves fewer: "
            f"proposal {variation} of {VARIATIONS}, unlike the others."
        )
        direction = " ".join(text.split())[:LONGEST]
        if not direction:
            return None
        genes = [replace(one, prompt=direction) if one is gene else one for one in candidate.genes]
        return Candidate.of(candidate.compose, genes)

    async def _propose(self, question: str) -> str:
        """The model's proposal; empty where it gave none."""
        key = f"prompt {digest(self.model.model, TASK, question)}"
        if (entry := self.journal.get(key)) is None:
            try:
                entry = self.journal.add(key, text=await ask_model(self.http, self.model, TASK, question))
            except ModelFailed as error:
                entry = self.journal.add(key, text="", why=str(error))
        return str(entry["text"])
