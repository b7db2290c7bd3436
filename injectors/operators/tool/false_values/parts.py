"""Counts that are a part of another count beside them: no more bags are loaded than there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.figures import read_figure
from crosswind.injectors.operators.words import fields

_PARTS = frozenset(
    """
    loaded boarded checked used sold free left remaining occupied scanned delivered shipped received paid done
    completed missing damaged available booked reserved taken open closed passed failed present absent
    attended
    belegt verkauft frei freie geladen gebucht reserviert offen verfügbar verfuegbar übrig uebrig rest
    libres vendidas vendidos ocupadas ocupados restantes disponibles reservadas reservados
    vendus vendues occupées restants restantes disponibles réservées
    """.split()
)
"""Words of fields that count a part."""
_WHOLES = frozenset(
    """
    total expected capacity max maximum limit planned ordered quota target all available booked
    gesamt insgesamt kapazität kapazitaet erwartet maximal maximum geplant
    capacidad máximo maximo previsto previstos capacité capacite maximal prévu prevus
    """.split()
)
"""Words of fields that count a whole, or say how many there may be."""


def group_counts(facts: Sequence[Fact]) -> dict[tuple[str | int, ...], list[int]]:
    """The whole numbers of each object that nothing measures, by their place among the facts."""
    groups: dict[tuple[str | int, ...], list[int]] = {}
    for at, one in enumerate(facts):
        if (
            one.kind is FactKind.FIGURE
            and one.text.isdigit()
            and one.place
            and not one.prose
            and _counts(one)
        ):
            groups.setdefault(one.place[:-1], []).append(at)
    return {place: group for place, group in groups.items() if len(group) > 1}


_NOT_COUNTED = fields.MEASURED | fields.UNITS | fields.MONEY | fields.BOUNDED


def _counts(fact: Fact) -> bool:
    return _NOT_COUNTED.isdisjoint(fact.words)


def find_parts(facts: Sequence[Fact]) -> list[Fact]:
    """The counts that are a part of another one beside them, and these."""
    found: list[Fact] = []
    for group in group_counts(facts).values():
        for one in group:
            for other in group:
                if one != other and _are_tied(facts[one], facts[other]):
                    found.append(facts[one])
                    break
    return found


def _are_tied(one: Fact, other: Fact) -> bool:
    return any(
        not _PARTS.isdisjoint(first.words) or not _WHOLES.isdisjoint(second.words)
        for first, second in ((one, other), (other, one))
    )


class Wholes:
    """Says of false counts whether a part would be more than its whole."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts
        self._groups = group_counts(facts)

    def are_kept(self, at: int, shown: str, drawn: Mapping[int, str]) -> bool:
        """Whether a fact may show this, where `drawn` are what others do by now."""
        fact = self._facts[at]
        group: Iterable[int] = self._groups.get(fact.place[:-1], ()) if fact.place else ()
        before, after = read_figure(fact.text), read_figure(shown)
        if at not in group or before is None or after is None:
            return True
        for other in group:
            if other == at or not _are_tied(fact, self._facts[other]):
                continue
            was, now = (
                read_figure(self._facts[other].text),
                read_figure(drawn.get(other, self._facts[other].text)),
            )
            if was is None or now is None:
                continue
            if (before <= was and after > now) or (before >= was and after < now):
                return False
        return True
