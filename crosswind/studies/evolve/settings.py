"""What a search is made of; every number that shapes it, in one place."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crosswind.injectors.identity import digest
from crosswind.injectors.packs.load import OWN
from crosswind.studies.evolve.detectability import Detectability

FINALISTS = 4
"""Survivors that are measured again, on other tasks than those they were selected on."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Which tasks are played: the first `count` of the seed's order of a split, each `samples` times."""

    name: str
    split: str
    seed: int
    count: int
    samples: int = 1


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """One search. `reference` and `second` are policies for the embedded engine, or base URLs of servers."""

    reference: str = "retail"
    second: str | None = None
    against: str = "agentnoisebench/all"
    """The profile whose dose is the result's, and which it is held against."""
    operators: tuple[str, ...] = ("user.*", "tool.*", "state.*")
    budget: int = 120
    """Candidates that are evaluated."""
    tasks: int = 64
    held_out: int = 128
    samples: int = 1
    seeds: int = 4
    """Sets of held-out tasks and noise on which the second agent is measured."""
    phrases: float = 0.4
    regression: float = 0.6
    """The highest recalls of the detectors at which a candidate is played."""
    seed: int = 0
    name: str = "evolved"
    version: int = 1
    environment: str = "retail"
    bench: tuple[str, ...] = ()
    """Further options of `crosswind bench`."""
    config: Path | None = None
    packs: Path | None = None
    """A folder of phrase packs that go before the shipped ones, and before those of `config`."""
    out: Path = Path("runs/evolve")

    def identity(self) -> dict[str, Any]:
        """What makes two runs the same search, the packs in use too; where they write is no part of it."""
        apart = ("out", "config", "packs")
        known = {name: value for name, value in asdict(self).items() if name not in apart}
        if OWN.packs:
            known["packs"] = sorted(pack.edition for pack in OWN.packs.values())
        config = digest(self.config.read_text(encoding="utf-8")) if self.config else None
        return {**known, "operators": list(self.operators), "bench": list(self.bench), "config": config}

    @property
    def searched(self) -> TaskSet:
        return TaskSet("search", "train", self.seed, self.tasks)

    @property
    def confirmed(self) -> TaskSet:
        """Other tasks of that split: the best of many is partly the luckiest on those it was chosen on."""
        return TaskSet("confirm", "train", self.seed + 1, 2 * self.tasks)

    @property
    def limits(self) -> Detectability:
        return Detectability(self.phrases, self.regression, 0)

    @property
    def apart(self) -> list[TaskSet]:
        """The sets of held-out tasks: of another split, which no choice depends on."""
        first = self.seeds * self.seed
        return [
            TaskSet(f"held-out-{seed}", "test", seed, self.held_out, self.samples)
            for seed in range(first, first + self.seeds)
        ]

    @property
    def frozen(self) -> Path:
        return self.out / "profile.yaml"
