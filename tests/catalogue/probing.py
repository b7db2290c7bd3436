"""On which protocols an operator acts: found out by leading a conversation through a gateway on each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import INSTRUCTIONS, TOOL, TOOL_RESULT, USER_TEXT
from crosswind.testing.replies import DONE, JSON, SSE, Part, ReceivedRequest
from tests.gateway.servers import Running, answer, gateway, upstream

GLIMPSE = "(6, 2) is a wall. You see a cabinet. The door (1, 4) is open.\n..#W..\n.WW#.K\n"
RESULTS = (TOOL_RESULT, TOOL_RESULT.replace("delivered", "shipped"), GLIMPSE)
TEXTS = (USER_TEXT, "On Monday, I mean: look order #W77 up, the red one, and tell me its exact price.")
SLOW = frozenset(
    ("transport.latency", "transport.bandwidth", "transport.sse_stall", "transport.first_token_delay")
)
"""Operators whose severity is a time."""
PARAMETERS = dict(TOOL.parameters)
OTHER = "search_products"


def _calls(number: int) -> tuple[str, str, str, str]:
    return f"call_{number}", TOOL.name, json.dumps({"order_id": f"#W{number}"}), RESULTS[number]


def chat() -> tuple[str, dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": TEXTS[0]},
    ]
    for number in range(len(RESULTS)):
        call_id, name, arguments, result = _calls(number)
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": result})
    messages.append({"role": "user", "content": TEXTS[1]})
    function = {"name": TOOL.name, "description": TOOL.description, "parameters": PARAMETERS}
    tools = [{"type": "function", "function": one} for one in (function, {**function, "name": OTHER})]
    return "chat/completions", {"messages": messages, "tools": tools}


def responses() -> tuple[str, dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": TEXTS[0]}]
    for number in range(len(RESULTS)):
        call_id, name, arguments, result = _calls(number)
        items.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": call_id, "output": result})
    items.append({"role": "user", "content": TEXTS[1]})
    tool = {"type": "function", "name": TOOL.name, "description": TOOL.description, "parameters": PARAMETERS}
    tool["strict"] = False  # Where the provider holds calls to the schema, a wrong type can't be mended.
    return "responses", {
        "instructions": INSTRUCTIONS,
        "input": items,
        "tools": [tool, {**tool, "name": OTHER}],
    }


def messages() -> tuple[str, dict[str, Any]]:
    turns: list[dict[str, Any]] = [{"role": "user", "content": TEXTS[0]}]
    for number in range(len(RESULTS)):
        call_id, name, arguments, result = _calls(number)
        used = {"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)}
        told = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        turns += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [told]}]
    turns[-1]["content"].append({"type": "text", "text": TEXTS[1]})
    tool = {"name": TOOL.name, "description": TOOL.description, "input_schema": PARAMETERS}
    asked = {"max_tokens": 99, "system": INSTRUCTIONS, "messages": turns}
    return "messages", {**asked, "tools": [tool, {**tool, "name": OTHER}]}


def completions() -> tuple[str, dict[str, Any]]:
    return "completions", {"prompt": USER_TEXT}


def embeddings() -> tuple[str, dict[str, Any]]:
    return "embeddings", {"input": USER_TEXT}


PROTOCOLS = {one.__name__: one for one in (chat, responses, messages, completions, embeddings)}


async def _upstream(request: ReceivedRequest) -> AsyncIterator[Part]:
    """Some answer: what befalls it is decided before."""
    streamed = request.json.get("stream")
    yield 200, [SSE if streamed else JSON]
    yield DONE if streamed else json.dumps(answer()).encode()


def _profiles(folder: Path) -> dict[str, str]:
    """A profile's file for each operator: it acts wherever it can."""
    found = {}
    for name in sorted(registry.operators()):
        severity = 0.02 if name in SLOW else 1.0
        file = folder / f"{name}.yaml"
        file.write_text(f"name: probe\nrules: [{{operator: {name}, severity: {severity}}}]\n")
        found[name] = str(file)
    return found


async def acting(folder: Path) -> dict[str, list[str]]:
    """The protocols on which each operator acts."""
    profiles = _profiles(folder)
    given: dict[str, Any] = {"steering": True, "steering_cap": {"profiles": list(profiles.values())}}
    async with upstream(_upstream) as app, gateway(folder, app, body_secrets="keep", **given) as running:
        busy = asyncio.Semaphore(16)

        async def probe(name: str, protocol: str, number: int) -> None:
            async with busy:
                await _probe(running, profiles[name], _session(name, protocol, number), protocol, number)

        names = [(name, protocol) for name in profiles for protocol in PROTOCOLS]
        await asyncio.gather(*(probe(*one, number) for one in names for number in range(2)))
        store = running.gateway.store
        sessions = {_session(*one, number) for one in names for number in range(2)}
        while sessions:  # Some links break before the turn is recorded.
            await running.flush()
            sessions = {session for session in sessions if not store.turns(session)}
        acted = {
            session: {event.operator for event in store.events(session) if event.after is not None}
            for session in [one.id for one in store.sessions(limit=10_000)]
        }
    return {
        name: [
            protocol
            for protocol in PROTOCOLS
            if any(name in acted[_session(name, protocol, number)] for number in range(2))
        ]
        for name in profiles
    }


def _session(name: str, protocol: str, number: int) -> str:
    return f"{name}|{protocol}|{number}"


async def _probe(running: Running, profile: str, session: str, protocol: str, number: int) -> None:
    """One request with a whole conversation: plain with one seed, streamed with another."""
    path, body = PROTOCOLS[protocol]()
    url = f"{running.data}/v1/{path}"
    headers = {
        "x-crosswind-session": session,
        "x-crosswind-profile": profile,
        "x-crosswind-seed": f"{number}",
    }
    with contextlib.suppress(httpx.HTTPError):  # What befell the exchange is on record all the same.
        asked = {"model": "m", "stream": number == 1, **body}
        await running.http.post(url, json=asked, headers=headers)
