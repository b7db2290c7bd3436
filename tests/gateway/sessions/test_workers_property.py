"""Any conversation, any noise, any order of workers: the policy and the client see what one process shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers

PROFILES = (
    "noisyagent",
    "chaos/flaky-tools",
    "chaos/confused-users",
    "agentnoisebench/redundancy",
    "robustbench-tc/Typo",
    "robustbench-tc/Dup-Desc",
    "robustbench-tc/MisDesc-Abbr",
    "robustbench-tc/RedunTool",
)


def tool(name: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "The order's id."}},
        "required": ["order_id"],
    }
    function = {"name": name, "description": f"Look up what {name} says.", "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [tool("get_order_status"), tool("get_customer_record")]
WORDS = ("please", "check", "my order W17", "and", "the customer", "on Monday", "again", "total 120.50")


def policy(dialogue: Dialogue) -> Answer:
    """Calls what it is shown, one or two tools at once, and says a word when it has the results."""
    messages, names = dialogue.body["messages"], [one.name for one in dialogue.tools]
    at = len(messages)
    if messages[-1]["role"] == "tool":
        return Answer(f"Done after {at}.")
    chosen = [names[at % len(names)], *([names[-1]] if at % 3 else [])]
    calls = (Call(name, {"order_id": "W17"}, f"call-{at}-{number}") for number, name in enumerate(chosen))
    return Answer(calls=tuple(calls))


@dataclass(frozen=True)
class Step:
    """One user turn: what is said, how the client writes its history, and who serves its requests."""

    text: str
    parts: bool
    """Contents as lists of parts, with a cache marker."""
    spaced: bool
    """JSON written with spaces and another order of keys."""
    back: bool
    """The client first drops its last turn: a branch."""
    stream: bool
    served_by: tuple[int, int, int]


STEPS = st.lists(
    st.builds(
        Step,
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.tuples(*[st.integers(0, 1)] * 3),
    ),
    min_size=2,
    max_size=4,
)


class Client:
    """An agent that leads a conversation by steps over several workers."""

    def __init__(self, peers: list[Running], session: str, profile: str) -> None:
        self._crew = peers
        self._session = session
        self._profile = profile
        self.messages: list[dict[str, Any]] = []
        self.delivered: list[dict[str, Any]] = []

    async def lead(self, steps: list[Step]) -> None:
        starts = [0]
        for step in steps:
            if step.back and len(starts) > 1:
                del self.messages[starts.pop() :]
            starts.append(len(self.messages))
            self.messages.append({"role": "user", "content": step.text})
            for served_by in step.served_by:
                answer = await self._ask(step, served_by)
                if not (calls := answer.get("tool_calls")):
                    break
                for call in calls:
                    content = json.dumps({"order_id": "W17", "status": "shipped", "total": 120.5})
                    self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    async def _ask(self, step: Step, served_by: int) -> dict[str, Any]:
        running = self._crew[served_by % len(self._crew)]
        body = {"model": "tiny", "messages": [self._written(one, step) for one in self.messages]}
        body |= {"tools": TOOLS, "stream": step.stream}
        raw = json.dumps(body, indent=1 if step.spaced else None, sort_keys=step.spaced).encode()
        given = await running.chat(raw, self._session, x_crosswind_profile=self._profile)
        assert given.status_code == 200, given.text
        message = _streamed(given.text) if step.stream else given.json()["choices"][0]["message"]
        self.delivered.append(message)
        self.messages.append(message)
        return message

    def _written(self, message: dict[str, Any], step: Step) -> dict[str, Any]:
        if not step.parts or not isinstance(message.get("content"), str):
            return message
        marked = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
        return {**message, "content": [marked]}


def _streamed(text: str) -> dict[str, Any]:
    """The message that a stream's pieces make."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(
                    piece["index"], {"type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = piece.get("id") or call.get("id")
                for field, part in piece.get("function", {}).items():
                    call["function"][field] += part
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


@dataclass
class World:
    """One process alone and two workers, before the same upstream."""

    loop: asyncio.AbstractEventLoop
    app: ScriptedProvider
    alone: list[Running]
    peers: list[Running]

    async def seen(self, peers: list[Running], session: str, profile: str, steps: list[Step]) -> Any:
        before = len(self.app.requests)
        client = Client(peers, session, profile)
        await client.lead(steps)
        for running in peers:
            await running.flush()
        stored = await peers[0].trajectory(session)
        places = [
            (turn["index"], turn["parent"], turn["branch"], turn["fitness"]) for turn in stored["turns"]
        ]
        return [seen.body for seen in self.app.requests[before:]], client.delivered, places


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    loop = asyncio.new_event_loop()
    one, several = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("several")
    steering: dict[str, Any] = {"steering": True, "steering_cap": {"profiles": PROFILES}}

    async def enter(stack: AsyncExitStack) -> World:
        app = await stack.enter_async_context(upstream(policy))
        alone = await stack.enter_async_context(gateway(one, app, **steering))
        peers = await stack.enter_async_context(workers(several, app, 2, **steering))
        return World(loop, app, [alone], peers)

    stack = AsyncExitStack()
    try:
        yield loop.run_until_complete(enter(stack))
    finally:
        loop.run_until_complete(stack.aclose())
        loop.close()


NUMBERS = count()


@settings(max_examples=30)
@given(st.sampled_from(PROFILES), STEPS)
def test_any_order_of_workers_shows_what_one_process_shows(
    world: World, profile: str, steps: list[Step]
) -> None:
    session = f"session-{next(NUMBERS)}"
    expected = world.loop.run_until_complete(world.seen(world.alone, session, profile, steps))
    shown = world.loop.run_until_complete(world.seen(world.peers, session, profile, steps))
    assert shown == expected
