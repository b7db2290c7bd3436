"""Several gateways on one store in one process, each as it runs in a worker of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from crosswind.gateway.peers.peers import Peers
from crosswind.testing import ScriptedProvider
from tests.gateway.servers import Running, gateway


async def flush(peers: Sequence[Running]) -> None:
    for running in peers:
        await running.flush()


@contextlib.asynccontextmanager
async def workers(
    tmp: Path, to: ScriptedProvider | str, count: int = 2, **given: Any
) -> AsyncIterator[list[Running]]:
    """Workers that share a store and the run's folder within the block."""
    folder = tmp / "run"
    folder.mkdir(exist_ok=True)
    async with contextlib.AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(gateway(tmp, to, Peers(number, folder), **given))
            for number in range(1, count + 1)
        ]
