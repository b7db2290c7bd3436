"""An agent on openai-agents: its model and its MCP server through the gateway, in one session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.timeline import order_by_time
from crosswind.testing import ScriptedProvider, plain
from tests.gateway.proxy.test_tool_mcp import FAIL
from tests.gateway.servers import answer, gateway
from tests.gateway.tools.shop import mcp_shop


def calling(number: int) -> dict[str, Any]:
    """A completion that orders tea."""
    function = {"name": "place_order", "arguments": json.dumps({"item": "tea"})}
    said = answer("")
    said["choices"][0]["message"] |= {
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }
    said["choices"][0]["finish_reason"] = "tool_calls"
    return said


async def test_turn_fault_retry_and_recovery_are_one_trajectory(tmp_path: Path) -> None:
    set_tracing_disabled(True)
    replies = [plain(calling(1)), plain(calling(2)), plain(answer("Ordered."))]
    async with (
        ScriptedProvider(*replies, strict=False) as model,
        mcp_shop() as shop,
        gateway(tmp_path, model, noise=FAIL, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        params: Any = {"url": f"{running.data}/s/s1/mcp/shop"}
        client = AsyncOpenAI(base_url=f"{running.data}/s/s1/v1", api_key="unused", max_retries=0)
        async with MCPServerStreamableHttp(params) as server, client:
            agent = Agent(
                name="clerk", model=OpenAIChatCompletionsModel("tiny", client), mcp_servers=[server]
            )
            result = await Runner.run(agent, "Order tea.")
        assert result.final_output == "Ordered."
        assert shop.orders == ["tea"]
        await running.flush()
    store = SqliteStore(tmp_path / "store.db")
    found = store.trajectory("s1")
    store.close()
    assert found is not None
    told = [
        f"{one.operator} {one.draw.get('outcome', '')}".strip() if isinstance(one, Event) else "turn"
        for one in order_by_time(found)
        if not (isinstance(one, Event) and one.slot and one.after is None)
    ]
    assert told == ["turn", "tool.execution_failure", "call injected", "turn", "call answered", "turn"]
    # The policy saw the fault once, from the tool leg, and nothing of the model leg's.
    assert not [event for event in found.events if event.turn_index >= 0 and event.after is not None]
