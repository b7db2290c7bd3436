"""How many entries the packs lack, against the wanted counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from crosswind.injectors.packs.model import Pack
from crosswind.injectors.packs.parts import PARTS, WANTED_DOMAINS, Domain, Part, count_wanted
from crosswind.injectors.text.languages import Language


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A part of which a language and domain has fewer entries than wanted."""

    language: Language
    domain: Domain
    part: Part
    has: int
    wanted: int

    @property
    def count(self) -> int:
        return self.wanted - self.has


def find_shortfalls(packs: Iterable[Pack]) -> list[Shortfall]:
    """What each language and domain lacks, whether it has a pack or not."""
    has = Counter(
        (pack.language, pack.domain, entry.operator, entry.part) for pack in packs for entry in pack.entries
    )
    rows = (
        Shortfall(language, domain, part, has[language, domain, *named], count_wanted(part, language, domain))
        for language, domains in WANTED_DOMAINS.items()
        for domain in domains
        for named, part in PARTS.items()
    )
    return [row for row in rows if row.count > 0]
