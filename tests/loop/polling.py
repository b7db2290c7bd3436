"""Waiting for what another process does: its deeds are no events of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.loop.children import POLL_S

T = TypeVar("T")
WAIT_S = 120.0


async def wait_for(find: Callable[[], Awaitable[T]]) -> T:
    """Ask again and again until something is found."""
    async with asyncio.timeout(WAIT_S):
        while not (found := await find()):  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
    return found
