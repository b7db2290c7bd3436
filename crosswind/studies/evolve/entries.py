"""The entries of phrase packs that a search chooses from, and what it has learned of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crosswind.injectors.conversation import ToolList, UserText
from crosswind.injectors.packs.domains import detect_domain
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.parts import PARTS, Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.evolve.fitness import EntryCount

SHARES = (0.2, 0.4, 0.6, 0.8)
"""Of a part's entries: those that are kept."""
FEWEST = 3
HEAVY = 3.0
"""The weight of the better half of them."""
UNCERTAIN = 0.3
"""How far chance may move an entry whose failures are counted."""

Parts = tuple[tuple[str, ...], ...]
"""The names of the entries of each part of an operator."""


@dataclass(frozen=True, slots=True)
class EntryPool:
    """The entries that operators draw in an agent's conversations, with how often the agent failed where it
    met them."""

    by_operator: Mapping[str, Parts] = field(default_factory=dict)
    counts: dict[str, EntryCount] = field(default_factory=dict)

    def parts(self, operator: str) -> Parts:
        return self.by_operator.get(operator, ())

    def learn(self, counts: Mapping[str, EntryCount]) -> None:
        for name, found in counts.items():
            self.counts[name] = self.counts.get(name, EntryCount()) + found

    def choose(self, names: Sequence[str], rng: SeededRandom) -> dict[str, float]:
        """Weights for a part's entries: those under which the agent failed most are kept, chance aside."""
        kept = max(FEWEST, round(rng.choice(SHARES) * len(names)))
        scores = {name: self._failure_rate(name) + rng.uniform(0, UNCERTAIN) for name in names}
        ranked = sorted(names, key=lambda name: -scores[name])
        heavy = rng.chance(0.5)
        weights = dict.fromkeys(ranked[kept:], 0.0)
        return weights | (dict.fromkeys(ranked[: kept // 2], HEAVY) if heavy else {})

    def _failure_rate(self, name: str) -> float:
        """Towards a half, where few sessions met it."""
        found = self.counts.get(name, EntryCount())
        return (found.failed + 1) / (found.met + 2)


def list_entries(conversations: Sequence[RecordedConversation], half: Half) -> EntryPool:
    """The entries of a half that fit the domains and languages of these conversations."""
    packs = {_find_pack(one) for one in conversations}
    places = sorted(
        {place for language, domain in packs for place in ((language, domain), (language, Domain.GENERAL))}
    )
    found: dict[str, list[tuple[str, ...]]] = {}
    for operator, part in PARTS:
        read = [pack for place in places if (pack := load(*place)) is not None]
        names = [f"{pack.name}#{one.id}" for pack in read for one in pack.select(operator, part, half)]
        if len(names) > FEWEST:
            found.setdefault(operator, []).append(tuple(names))
    return EntryPool({operator: tuple(parts) for operator, parts in found.items()})


def _find_pack(recorded: RecordedConversation) -> tuple[Language, Domain]:
    conversation = recorded.conversation
    opening = next((one.text for one in conversation.items if isinstance(one, UserText)), "")
    return detect_language(opening) or Language.EN, detect_domain(ToolList.of(conversation.tools), opening)
