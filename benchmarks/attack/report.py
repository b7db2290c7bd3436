"""What a campaign found: a short table for people, JSON for machines."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.attack.ledger import Difference, Ledger

_SHOWN = 10


@dataclass
class Outcome:
    """One campaign's result. It held where nothing was lost, doubled or broken and there are no problems."""

    campaign: str
    tries: int = 0
    seconds: float = 0.0
    told: dict[str, int] = field(default_factory=dict)
    difference: Difference = field(default_factory=Difference)
    problems: list[str] = field(default_factory=list)
    """Answers with status 500, hangs, tracebacks, growth."""
    figures: dict[str, Any] = field(default_factory=dict)
    series: dict[str, list[float]] = field(default_factory=dict)
    """Samples over time, for the JSON document only."""
    skipped: list[str] = field(default_factory=list)
    """Known defects: not tried."""

    @property
    def held(self) -> bool:
        return not self.difference and not self.problems

    def take(self, ledger: Ledger) -> None:
        """Take over what clients were told."""
        for kind, count in ledger.counts().items():
            self.told[kind] = self.told.get(kind, 0) + count
        self.problems += ledger.problems

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as rows, then what went wrong, then what was not tried."""
    head = ("campaign", "tries", "seconds", "told", "lost", "doubled", "broken", "problems")
    rows = [head, *(_row(one) for one in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    for one in outcomes:
        lines += [f"{one.campaign}: {name} {value}" for name, value in one.figures.items()]
        found = one.difference
        bad = [("lost", found.lost), ("doubled", found.doubled), ("broken", found.broken)]
        for name, items in [*bad, ("problem", one.problems)]:
            lines += [f"{one.campaign}: {name}: {item}" for item in items[:_SHOWN]]
            if len(items) > _SHOWN:
                lines.append(f"{one.campaign}: {name}: and {len(items) - _SHOWN} more")
        lines += [f"{one.campaign}: known, not tried: {item}" for item in one.skipped]
    return "\n".join(lines)


def _row(one: Outcome) -> tuple[str, ...]:
    found = one.difference
    counts = (len(found.lost), len(found.doubled), len(found.broken), len(one.problems))
    return (
        one.campaign,
        str(one.tries),
        f"{one.seconds:.0f}",
        str(sum(one.told.values())),
        *map(str, counts),
    )
