"""A second gateway on a store is told of the first; workers of one gateway aren't."""

from __future__ import annotations

import asyncio
from pathlib import Path

from crosswind.testing import ScriptedProvider
from tests.loop.children import Children

SECOND = "another gateway serves this store"


async def test_a_second_gateway_on_a_store_is_told(
    tmp_path: Path, children: Children, app: ScriptedProvider
) -> None:
    store = tmp_path / "store.db"
    first = await asyncio.to_thread(children.gateway, app.url, store, "--workers", "2")
    second = await asyncio.to_thread(children.gateway, app.url, store)
    assert SECOND in second.child.said and str(first.child.process.pid) in second.child.said
    given = ("--upstream", f"{app.url}/v1", "--store", f"sqlite:///{store}", "--port", "0")
    doctor = (*given, "--control-port", "0")
    said = await asyncio.to_thread(children.run, "doctor", *doctor)
    assert f"! store sqlite:///{store}: the gateway of process {first.child.process.pid} serves it" in said
    for one in (second, first):
        await asyncio.to_thread(one.child.stop)
    assert SECOND not in first.child.said
    assert not await asyncio.to_thread(lambda: list(tmp_path.glob("*.serving")))
    assert "serves it" not in await asyncio.to_thread(children.run, "doctor", *doctor)
