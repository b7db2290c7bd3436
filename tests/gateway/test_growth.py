"""A gateway's memory is bounded: what it keeps of sessions, texts and tools doesn't grow with them."""

from __future__ import annotations

import functools
import gc
from collections import Counter
from pathlib import Path
from typing import Any

from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.servers import Running, gateway, upstream

_NOISE = profile(ABBREVIATED, "user.typos", "user.redundant", "tool.timeout", "tool.misleading")
_LIVE = 10
_SESSIONS = 40
_MAY_GROW = _SESSIONS // 4
_BOUNDED = {
    *("SessionContent", "Entry", "HeadTemplate", "KnownLines", "Route", "ToolList", "ToolSchema"),
    *("_Token", "_Word", "_Judged"),
}
"""Kept up to a number or weight that so few sessions don't reach."""
_OF_UPSTREAM = "ReceivedRequest"


async def test_more_sessions_leave_no_more_objects(tmp_path: Path) -> None:
    limits = {"live_sessions": _LIVE}
    async with upstream() as app, gateway(tmp_path, app, noise=_NOISE, limits=limits) as running:
        counts = []
        for number in range(3):
            await _talk(running, number)
            counts.append((_clear_caches(), _count_ours()))
    _, (remembered, before), (still_remembered, after) = counts
    grown = {name: (before[name], after[name]) for name in after if after[name] > before[name] + _MAY_GROW}
    assert not {name: counted for name, counted in grown.items() if name not in {*_BOUNDED, _OF_UPSTREAM}}
    assert remembered == still_remembered, "a cache without a bound has grown"


async def _talk(running: Running, number: int) -> None:
    """Sessions with words and tools of their own, requests that are refused, and what operators ask for."""
    for name in (f"s{number}-{one}" for one in range(_SESSIONS)):
        messages: list[dict[str, Any]] = []
        for text in (f"Where is the order of {name}, please?", f'{{"status": "sent", "order": "{name}"}}'):
            messages.append({"role": "user", "content": text})
            tools = [tool(f"find_{name}"), tool("get_it")]
            body = {"model": f"m-{name}", "messages": messages, "tools": tools}
            assert (await running.chat(body, session=name)).is_success
            messages.append({"role": "assistant", "content": "hello"})
        assert (await running.chat(body, session=f"{name}/?")).status_code == 404
        assert (await running.api("GET", f"/api/sessions/{name}/trajectory")).is_success
    await running.flush()


def _count_ours() -> Counter[str]:
    """The objects of our classes by class."""
    gc.collect()
    kinds = (type(one) for one in gc.get_objects())
    return Counter(kind.__qualname__ for kind in kinds if str(kind.__module__).startswith("crosswind."))


def _clear_caches() -> dict[str, int]:
    """Clear the caches of functions of ours that have a bound; how many results each other one holds."""
    caches = [one for one in gc.get_objects() if type(one) is functools._lru_cache_wrapper]
    ours = [one for one in caches if str(one.__module__).startswith("crosswind.")]
    assert ours
    endless = [one for one in ours if one.cache_info().maxsize is None]
    for one in ours:
        if one not in endless:
            one.cache_clear()
    return {f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize for one in endless}
