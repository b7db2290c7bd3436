"""Find the protocols on which an operator acts: send a conversation through a gateway on each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import httpx

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import INSTRUCTIONS, READINGS, REVIEWS, TOOL, TOOL_RESULT, USER_TEXT
from crosswind.testing import Answer, Call, Dialogue
from tests.gateway.servers import Running, gateway, upstream

GLIMPSE = "(6, 2) is a wall. You see a cabinet. The door (1, 4) is open.\n..#W..\n.WW#.K\n"
RESULTS = (TOOL_RESULT, TOOL_RESULT.replace("delivered", "shipped"), GLIMPSE, REVIEWS, READINGS)
TEXTS = (USER_TEXT, "On Monday, I mean: look order #W77 up, the red one, and tell me its exact price.")
SLOW = frozenset(
    ("transport.latency", "transport.bandwidth", "transport.sse_stall", "transport.first_token_delay")
)
"""Operators whose severity is a time."""
TEXT, CALLS = "text", "calls"
"""The models: one answers with a text, the other with calls of tools."""
PROTOCOLS = ("chat", "responses", "messages", "completions", "embeddings")


def _conversation(protocol: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request that holds a whole conversation, as far as the protocol can."""
    names = (TOOL.name, "list_orders", "search_products")
    calls = [(f"call_{at}", json.dumps({"order_id": f"#W{at}"}), text) for at, text in enumerate(RESULTS)]
    tool: dict[str, Any] = {"description": TOOL.description}
    turns: list[dict[str, Any]] = [{"role": "user", "content": TEXTS[0]}]
    last = {"role": "user", "content": TEXTS[1]}
    match protocol:
        case "chat":
            for call_id, arguments, result in calls:
                function = {"name": TOOL.name, "arguments": arguments}
                call = {"id": call_id, "type": "function", "function": function}
                turns.append({"role": "assistant", "content": None, "tool_calls": [call]})
                turns.append({"role": "tool", "tool_call_id": call_id, "content": result})
            tool |= {"parameters": TOOL.parameters}
            tools = [{"type": "function", "function": {"name": name, **tool}} for name in names]
            instructions = {"role": "system", "content": INSTRUCTIONS}
            return "chat/completions", {"messages": [instructions, *turns, last], "tools": tools}
        case "responses":
            for call_id, arguments, result in calls:
                call = {
                    "type": "function_call",
                    "call_id": call_id,
                    "name": TOOL.name,
                    "arguments": arguments,
                }
                turns += [call, {"type": "function_call_output", "call_id": call_id, "output": result}]
            # Where the provider holds calls to the schema, a wrong type can't be put right.
            tool |= {"type": "function", "parameters": TOOL.parameters, "strict": False}
            tools = [{"name": name, **tool} for name in names]
            return "responses", {"instructions": INSTRUCTIONS, "input": [*turns, last], "tools": tools}
        case "messages":
            for call_id, arguments, result in calls:
                use = {"type": "tool_use", "id": call_id, "name": TOOL.name, "input": json.loads(arguments)}
                answer = {"type": "tool_result", "tool_use_id": call_id, "content": result}
                turns += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
            turns[-1]["content"].append({"type": "text", "text": TEXTS[1]})
            tools = [{"name": name, "input_schema": TOOL.parameters, **tool} for name in names]
            return "messages", {"max_tokens": 99, "system": INSTRUCTIONS, "messages": turns, "tools": tools}
        case _:
            return protocol, {"prompt" if protocol == "completions" else "input": USER_TEXT}


def _answer(dialogue: Dialogue) -> Answer:
    """A text, or two calls: something of everything that noise on answers acts on."""
    if dialogue.tools and dialogue.body["model"] == CALLS:
        return Answer(calls=tuple(Call(dialogue.tools[0].name, {"order_id": one}) for one in ("#W8", "#W9")))
    return Answer("Your order is on its way, and it will come on Monday.")


async def find_protocols(folder: Path) -> dict[str, list[str]]:
    """The protocols on which each operator acts."""
    profiles = {name: folder / f"{name}.yaml" for name in sorted(registry.operators())}
    for name, file in profiles.items():
        severity = 0.02 if name in SLOW else 1.0
        file.write_text(f"name: probe\nrules: [{{operator: {name}, severity: {severity}}}]\n")
    given: dict[str, Any] = {"steering": True, "steering_cap": {"profiles": [*map(str, profiles.values())]}}
    async with upstream(_answer) as app, gateway(folder, app, body_secrets="keep", **given) as running:
        busy = asyncio.Semaphore(16)

        async def probe(session: str) -> None:
            name, protocol, number = session.split("|")
            async with busy:
                await _probe(running, str(profiles[name]), session, protocol, number)

        sessions = [
            f"{name}|{protocol}|{at}" for name in profiles for protocol in PROTOCOLS for at in range(4)
        ]
        await asyncio.gather(*map(probe, sessions))
        store = running.gateway.store
        async with asyncio.timeout(60):
            while not all(map(store.turns, sessions)):  # Some links break before the turn is recorded.
                await running.flush()
        acted = {
            session.rpartition("|")[0]
            for session in sessions
            for event in store.events(session)
            if event.after is not None and event.operator == session.partition("|")[0]
        }
    return {name: [one for one in PROTOCOLS if f"{name}|{one}" in acted] for name in profiles}


async def _probe(running: Running, profile: str, session: str, protocol: str, number: str) -> None:
    """One request with a whole conversation: plain or streamed, to either model, each with another seed."""
    path, body = _conversation(protocol)
    headers = {"session": session, "profile": profile, "seed": number}
    with contextlib.suppress(httpx.HTTPError):  # Whatever happened to the exchange is on record.
        await running.http.post(
            f"{running.data}/v1/{path}",
            json={"model": TEXT if number in "01" else CALLS, "stream": number in "13", **body},
            headers={f"x-crosswind-{name}": value for name, value in headers.items()},
        )
