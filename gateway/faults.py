"""Carries out transport faults that were decided: waits, on the way to the upstream or on the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

MODEL_LINK = "model"


def delay_s(settings: Sequence[Mapping[str, Any]], where: str) -> float:
    """The injected wait in seconds; `where` is `request` (before the upstream) or `response` (default)."""
    return (
        sum(float(one.get("delay_ms", 0.0)) for one in settings if one.get("where", "response") == where)
        / 1000.0
    )


async def wait(settings: Sequence[Mapping[str, Any]], where: str) -> None:
    """Wait as decided."""
    if (seconds := delay_s(settings, where)) > 0:
        await asyncio.sleep(seconds)
