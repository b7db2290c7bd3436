"""Runs a measurement on a ground of its own, with progress, and says how long it took."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress

from crosswind.simulators.environment import Environment
from crosswind.studies.proof.catalogue import Catalogue, catalogue_of
from crosswind.studies.proof.play import Assignment, Outcome, play
from crosswind.studies.proof.stack import gateway_before

Plan = Callable[[Catalogue], tuple[Sequence[Assignment], Callable[[Outcome], None]]]
"""What to play on a gateway that offers this, and who sees the outcomes."""


def run(
    environment: Environment, plan: Plan, *, seed: int, recovers: bool, concurrency: int, store: Path | None
) -> float:
    """Play what the plan says before the environment's oracle; gives the seconds that it took.

    The gateway's store is left in the folder `store`, where one is given.
    """

    async def main() -> None:
        with _folder(store) as folder, Progress(transient=True) as progress:
            oracle = environment.oracle(recovers=recovers)
            async with gateway_before(oracle.decide, folder) as control:
                todo, see = plan(await catalogue_of(control))
                bar = progress.add_task("episodes", total=sum(len(one.tasks) for one in todo))

                def on_outcome(outcome: Outcome) -> None:
                    see(outcome)
                    progress.advance(bar)

                await play(
                    environment,
                    control,
                    todo,
                    seed=seed,
                    recovers=recovers,
                    concurrency=concurrency,
                    on_outcome=on_outcome,
                )

    begun = time.monotonic()
    asyncio.run(main())
    return time.monotonic() - begun


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="crosswind-") as made:
        yield Path(made)
