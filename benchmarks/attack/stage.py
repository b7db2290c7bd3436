"""What the parts of a campaign share: a folder for each try, draws, and the outcome."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.attack.report import Outcome


@dataclass
class Stage:
    folder: Path
    library: Path
    seed: int
    outcome: Outcome
    draws: random.Random
    _folders: Counter[str] = field(default_factory=Counter)

    def new_folder(self, name: str) -> Path:
        """A folder that nothing has used yet."""
        self._folders[name] += 1
        folder = self.folder / f"{name}-{self._folders[name]:04d}"
        folder.mkdir()
        return folder

    def count(self, figure: str, number: int = 1) -> None:
        self.outcome.figures[figure] = self.outcome.figures.get(figure, 0) + number

    def report(self, problem: str) -> None:
        self.outcome.problems.append(problem)
