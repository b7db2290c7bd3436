"""Scripted agents' conversations: the requests that an agent would send, turn by turn, to the benchmark's
upstream, whose answers are known beforehand. Every text comes from a seeded generator.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.gateway.texts import (
    LOOK_UPS,
    declare_tool,
    draw_city,
    draw_item,
    write_instructions,
    write_request,
)

TEXT_EVERY = 5
"""Of the upstream's answers every fifth is a text, the others call a tool."""
CALLS_EACH = 2
"""The turns after which the upstream calls the next one of its tools."""
STREAMED_WORDS = range(2, 63)
"""The words of a streamed answer, by number."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a conversation is made of. Sizes are in characters."""

    system: int
    tools: int
    """How many tools are declared, of about 350 characters each."""
    result: int
    user: int
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as bytes: the request of turn k is `text[:ends[k]] + tail`."""

    name: str
    text: bytes
    ends: tuple[int, ...]
    tail: bytes


def converse(name: str, shape: Shape, turns: int) -> Conversation:
    """The conversation of that name, of so many turns (requests). The same name gives the same bytes."""
    rng = random.Random(name)
    text = bytearray(b'{"model":"bench","user":' + _json(name) + b',"messages":[')
    text += _json({"role": "system", "content": write_instructions(rng, shape.system)})
    text += b"," + _json({"role": "user", "content": write_request(rng, shape.user)})
    ends = [len(text)]
    for turn in range(turns - 1):
        for message in _exchange(rng, name, shape, turn):
            text += b"," + _json(message)
        ends.append(len(text))
    tools = ",".join(json.dumps(declare_tool(number), separators=(",", ":")) for number in range(shape.tools))
    streaming = b',"stream":true,"stream_options":{"include_usage":true}' if shape.streamed else b""
    tail = b'],"temperature":0.7' + streaming + b',"tools":[' + tools.encode() + b"]}"
    return Conversation(name, bytes(text), tuple(ends), tail)


def _exchange(rng: random.Random, name: str, shape: Shape, turn: int) -> Iterator[dict[str, object]]:
    """What the upstream answered to turn `turn`, and what the agent sends next."""
    if shape.streamed:
        text = "".join(f" word{number:02d}" for number in STREAMED_WORDS)
        yield {"role": "assistant", "content": text}
        yield {"role": "user", "content": write_request(rng, shape.user)}
    elif turn % TEXT_EVERY == TEXT_EVERY - 1:
        done = f"Step {turn} is done: the order is as you asked."
        yield {"role": "assistant", "content": f"{done} Is there anything else that I can do for you today?"}
        yield {"role": "user", "content": write_request(rng, shape.user)}
    else:
        function = {
            "name": LOOK_UPS[turn // CALLS_EACH % len(LOOK_UPS)],
            "arguments": json.dumps({"order_id": f"W{turn:06d}"}, separators=(",", ":")),
        }
        call = {"id": f"call_{name}_{turn}", "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": call["id"], "content": _result(rng, turn, shape.result)}


def _result(rng: random.Random, turn: int, size: int) -> str:
    """A tool's result: an order with as many items as fill the size."""
    items: list[dict[str, object]] = []
    order = {
        "order_id": f"W{turn:06d}",
        "status": rng.choice(["pending", "shipped", "delivered"]),
        "total": round(rng.uniform(5, 500), 2),
        "city": draw_city(rng),
        "items": items,
    }
    text = json.dumps(order)
    while len(text) < size:
        item = {
            "sku": f"{rng.randint(10**7, 10**8)}",
            "name": draw_item(rng),
            "quantity": 1,
        }
        items.append(item)
        text = json.dumps(order)
    return text


def _json(value: object) -> bytes:
    """JSON as the openai SDK sends it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
