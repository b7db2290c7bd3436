"""Each tool is perturbed on one leg only: what a tool leg serves, the model leg leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.sessions.tool_legs import find_served, label_tools
from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_http import served
from tests.gateway.proxy.test_tool_mcp import events_of

NOISE = (
    "name: n\nrules: [{operator: tool.misleading, severity: 1}, {operator: schema.reorder, severity: 1}]\n"
)
CALLS = [{"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": 7}'}}]
FUNCTION = {"name": "get_order", "description": "Get an order.", "parameters": {"type": "object"}}
BODY: dict[str, Any] = {
    "model": "tiny",
    "tools": [{"type": "function", "function": FUNCTION}],
    "messages": [
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "c1", "content": '{"id": 7, "city": "Lisbon", "total": 17.5}'},
    ],
}


@pytest.mark.parametrize("on_wire", [False, True])
async def test_a_result_that_came_over_a_tool_leg_is_shown_as_it_is(
    tmp_path: Path, app: ScriptedProvider, on_wire: bool
) -> None:
    async with served(tmp_path, app, NOISE) as (running, _, url):
        if on_wire:
            await running.http.get(f"{url}/orders/7")
        assert (await running.chat(BODY, "s1")).status_code == 200
        of_turns = [one for one in await events_of(running, "s1") if one.turn_index >= 0]
        assert any(one.after is not None for one in of_turns) is not on_wire


def test_tools_are_known_under_the_names_that_frameworks_give_them() -> None:
    labels = {"mine": "x", **label_tools("shop", ["place_order", "get-order"])}
    names = {"place_order", "mcp__shop__place_order", "shop.get-order", "replace_order", "order", "mine"}
    assert find_served(labels, names) == {"place_order", "mcp__shop__place_order", "shop.get-order"}
    assert not find_served({"mine": "x"}, names)
