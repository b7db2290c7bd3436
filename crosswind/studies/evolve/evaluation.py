"""Measuring profiles on an agent: `crosswind bench` through its gateway, and the dose from the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

from crosswind.studies.evolve.agents import Agent
from crosswind.studies.evolve.dose import doses
from crosswind.studies.evolve.fitness import Dose, Fitness


@dataclass(frozen=True, slots=True)
class Tasks:
    """Which tasks are played: the first `count` of the seed's order of a split, each so many times."""

    name: str
    split: str
    seed: int
    count: int
    samples: int = 1


@dataclass(frozen=True, slots=True)
class Played:
    """A profile on an agent, beside the calm, and the version of its policy where it has one."""

    fitness: Fitness
    calm: float | None
    policy: str | None


@dataclass(slots=True)
class Bench:
    """Plays profiles on one agent, with the same tasks, wording, noise seeds and sampling seeds for all."""

    agent: Agent
    folder: Path
    options: Sequence[str]
    """Further options of `crosswind bench`: the environment, how the agent samples."""
    _process: str = field(default_factory=lambda: token_hex(4))
    """Tells sessions apart from those of an earlier process that was stopped and measured the same."""
    _plays: Iterator[int] = field(default_factory=count)

    async def fitness(self, profiles: Sequence[str], tasks: Tasks) -> list[Fitness]:
        """What each profile does, all of them in one go and none in calm."""
        results, met = await self._play(profiles, tasks, self.folder / f"{tasks.name}.json", calm=False)
        return [_fitness(results, name, met) for name in profiles]

    async def played(self, profile: str, tasks: Tasks, file: Path, *, calm: bool) -> Played:
        """What one profile does, beside the calm if so; the benchmark's figures are in the file."""
        results, met = await self._play([profile], tasks, file, calm=calm)
        beside = float(results["arms"]["clean"]["success"]) if calm else None
        return Played(_fitness(results, profile, met), beside, results["policy_version"])

    async def compared(self, before: Path, after: Path) -> Mapping[str, Any]:
        """The paired difference after − before of success in noise, with its 95 % interval."""
        out = after.with_name(f"{after.stem}-difference.json")
        await self.agent.processes.run(
            "bench compare", "bench", "--compare", str(before), str(after), "--json", str(out)
        )
        found: Mapping[str, Any] = (await asyncio.to_thread(_read, out))["arms"]["noisy"]
        return found

    async def _play(
        self, profiles: Sequence[str], tasks: Tasks, file: Path, *, calm: bool
    ) -> tuple[dict[str, Any], dict[str, Dose]]:
        served = await self.agent.served()
        run = f"{tasks.name}-{self._process}-{next(self._plays)}"
        await self.agent.processes.run(
            "bench",
            *("bench", "--control", served.control, "--split", tasks.split, "--seed", str(tasks.seed)),
            *("--tasks", str(tasks.count), "--samples", str(tasks.samples), "--run", run),
            *(part for name in profiles for part in ("--under", name)),
            *("--calm" if calm else "--no-calm", "--json", str(file), *self.options),
        )
        results = await asyncio.to_thread(_read, file)
        return results, await asyncio.to_thread(doses, served.store, run)


def _read(file: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return results


def _fitness(results: Mapping[str, Any], profile: str, met: Mapping[str, Dose]) -> Fitness:
    arm = results["arms"][profile]
    return Fitness(float(arm["success"]), int(arm["n"]), met[profile])
