"""The forward proxy in a gateway's session: one plan, one record, and each tool perturbed on one leg only."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.gateway.forward.conftest import RUN, Served
from tests.gateway.servers import Running, answer, gateway, plain, upstream

NOISE = """
name: n
rules: [{operator: tool.server_error, severity: 1}, {operator: tool.redundant, severity: 1}]
"""
AGENT = """
import os, sys, httpx
print(os.environ["CROSSWIND_SESSION"])
for _ in range(2):
    print(httpx.post(sys.argv[1] + "/orders", json={"sum": 7}).status_code)
"""
HISTORY = [
    {"role": "user", "content": "Pay 7."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "post_orders", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"state": "paid", "order": 1}'},
]


async def run_agent(tmp_path: Path, api: Served, control: str, *flags: str) -> list[str]:
    """What the agent prints behind the proxy."""
    command = [*RUN, "run", "--no-canary", "--control", control, *flags, "--", sys.executable, "-c", AGENT]
    process = await asyncio.create_subprocess_exec(
        *command,
        api.secure_url,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path), "SSL_CERT_FILE": str(api.certificate)},
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().split()


async def outcomes(running: Running, session: str) -> list[tuple[int, str]]:
    await running.flush()
    events = (await running.api("GET", f"/api/sessions/{session}/events")).json()["events"]
    return [(one["attempt"], one["draw"]["outcome"]) for one in events if one["operator"] == "call"]


async def test_a_fault_and_the_recovery_are_in_the_sessions_record_and_on_this_leg_only(
    tmp_path: Path, api: Served
) -> None:
    async with upstream(plain(answer())) as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        assert await run_agent(tmp_path, api, running.control, "--session", "mine") == ["mine", "500", "200"]
        assert api.api.orders == [{"sum": 7}]
        assert await outcomes(running, "mine") == [(0, "injected"), (1, "answered")]
        assert (await running.chat({"model": "tiny", "messages": HISTORY}, "mine")).status_code == 200
        await running.flush()
        events: list[Any] = (await running.api("GET", "/api/sessions/mine/events")).json()["events"]
        assert not any(one["after"] for one in events if one["turn_index"] >= 0)
        assert not list((tmp_path / "crosswind" / "tool-events").glob("*.jsonl"))


async def test_events_of_a_gateway_that_is_down_wait_and_come_once(tmp_path: Path, api: Served) -> None:
    spool = tmp_path / "crosswind" / "tool-events"
    async with upstream() as provider:
        async with gateway(tmp_path, provider, noise=NOISE) as running:
            control = running.control
        said = await run_agent(tmp_path, api, control, "--session", "mine", "--wait", "0")
        assert said == ["mine", "200", "200"], "there is no plan"
        [left] = spool.glob("*.jsonl")
        assert len(left.read_text().splitlines()) == 3
        async with gateway(tmp_path, provider, noise=NOISE) as running:
            head, *events = left.read_text().splitlines()
            left.write_text(
                "\n".join((json.dumps(json.loads(head) | {"control": running.control}), *events)) + "\n"
            )
            await run_agent(tmp_path, api, running.control, "--session", "other")
            assert await outcomes(running, "mine") == [(0, "answered"), (0, "answered")]
        assert not list(spool.glob("*.jsonl"))


async def test_a_session_that_the_gateway_refuses_gets_no_noise(tmp_path: Path, api: Served) -> None:
    async with upstream() as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        said = await run_agent(tmp_path, api, running.control, "--profile", "no-such-profile")
        assert said[1:] == ["200", "200"]


CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "post_orders", "arguments": '{"sum":7}'}}
    ],
}
OPENAI_AGENT = """
import asyncio, os, sys, httpx, openai
from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
set_tracing_disabled(True)
api, gateway = sys.argv[2], sys.argv[1]

@function_tool
async def post_orders(sum: int) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.post(api + "/orders", json={"sum": sum})).text

async def main():
    url = f"{gateway}/s/{os.environ['CROSSWIND_SESSION']}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
        model = OpenAIChatCompletionsModel(model="tiny", openai_client=client)
        agent = Agent(name="payer", model=model, tools=[post_orders])
        result = await Runner.run(agent, "Pay 7.", run_config=RunConfig(tracing_disabled=True))
        print(result.final_output)
asyncio.run(main())
"""


def _calls_again(number: int) -> dict[str, Any]:
    call = {**CALLING["tool_calls"][0], "id": f"c{number}"}  # type: ignore[index]
    choice = {"index": 0, "message": {**CALLING, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    return {**answer(), "choices": [choice]}


async def test_an_openai_agents_turns_fault_retry_and_recovery_are_one_record_in_order(
    tmp_path: Path, api: Served
) -> None:
    steps = (plain(_calls_again(1)), plain(_calls_again(2)), plain(answer("paid")))
    async with upstream(*steps) as provider, gateway(tmp_path, provider, noise=NOISE) as running:
        command = [*RUN, "run", "--no-canary", "--control", running.control, "--session", "mine", "--"]
        process = await asyncio.create_subprocess_exec(
            *command,
            *(sys.executable, "-c", OPENAI_AGENT, running.data, api.secure_url),
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"XDG_STATE_HOME": str(tmp_path), "SSL_CERT_FILE": str(api.certificate)},
        )
        said, _ = await process.communicate()
        assert said.decode().split() == ["paid"]
        assert api.api.orders == [{"sum": 7}]
        assert await outcomes(running, "mine") == [(0, "injected"), (1, "answered")]
        found = (await running.api("GET", "/api/sessions/mine/trajectory")).json()
        turns: list[Any] = found["turns"]
        events: list[Any] = (await running.api("GET", "/api/sessions/mine/events")).json()["events"]
        ended = [one["created"] for one in events if one["operator"] == "call"]
        starts = [one["created"] for one in turns]
        assert len(turns) == 3
        assert starts[0] < ended[0] < starts[1] < ended[1] < starts[2]
