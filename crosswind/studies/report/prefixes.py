"""The report's table of the prefix property."""

from __future__ import annotations

from crosswind.gateway.trajectory.prefixes import CAUSES, SESSIONS_READ, Prefixes
from crosswind.studies.report.traffic import Grid


def grid(found: dict[str, Prefixes]) -> Grid:
    """A row per model, and one per cause of a break."""
    rows: list[tuple[str, str, str, str]] = []
    for model, one in sorted(found.items()):
        rows.append((model, f"{one.pairs:,}", f"{one.held:,}", f"{one.held / one.pairs:.1%}"))
        rows += [
            (f"— {cause}: {CAUSES[cause]}", f"{count:,}", "", f"{count / one.pairs:.1%}")
            for cause, count in one.causes().most_common()
        ]
    return Grid(
        "Prompts that extend what came before",
        f"Turns with token ids, of the {SESSIONS_READ} newest sessions, whose prompt goes on from the turn "
        "before's prompt and completion token for token; the others begin a new sequence in training.",
        ("model", "turns", "extend", "share"),
        rows,
    )
