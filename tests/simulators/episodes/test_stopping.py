"""A run that is stopped in the midst of its episodes says nothing of its own cancellations."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

from crosswind.simulators.episodes.runner import EpisodeRunner, run_all


class Endless:
    """A runner whose episodes never end."""

    waits = False

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def run(self, _: Any) -> Any:
        self.begun.set()
        await asyncio.Event().wait()


async def test_cancelled_episodes_leave_no_exception_that_nobody_asked_for() -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    runner, stopping = Endless(), asyncio.Event()
    playing = asyncio.create_task(
        run_all(
            cast(EpisodeRunner, runner),
            iter(cast(Any, range(9))),
            concurrency=3,
            on_record=lambda _: None,
            stopping=stopping,
            grace_s=0.0,
        )
    )
    await runner.begun.wait()
    stopping.set()
    await playing
    del playing
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
