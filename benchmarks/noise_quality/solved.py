"""What the gold agent solved, profile by profile, and the file that keeps it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

STORE = Path(__file__).parent / "solved.json"


@dataclass(slots=True)
class Solved:
    """What the gold agent solved under one profile at one of its levels."""

    profile: str
    level: int | None
    played: int = 0
    solved: int = 0
    injected: int = 0
    withheld: int = 0
    unsolved: list[str] = field(default_factory=list)
    """Entries, each with the seed and what went wrong."""

    @property
    def noisy(self) -> bool:
        """Whether the profile has noise at this level."""
        return self.profile != "off" and self.level != 0


def read_solved() -> list[Solved]:
    """What was measured last; nothing where it never was."""
    return [Solved(**row) for row in json.loads(STORE.read_text())] if STORE.exists() else []


def write_solved(rows: Sequence[Solved]) -> None:
    STORE.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
