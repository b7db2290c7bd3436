"""A sample: one foreign conversation, with the values that its calls need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from crosswind.gateway.protocols.codec import SessionReader, codecs
from crosswind.gateway.protocols.history import hide_nothing
from crosswind.simulators.bfcl.inside.values import Call, Value
from crosswind.studies.conversations import RecordedConversation


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    corpus: str
    language: str
    recorded: RecordedConversation
    gold: Mapping[int, tuple[Value, ...]]
    """By the index of a user's message: the values of the calls that it leads to."""
    held_out: bool
    """Whether detectors are tested on it; on the others they are trained."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user says, the calls that it leads to, and the values that these need."""

    user: str
    calls: Sequence[Call]
    gold: tuple[Value, ...]


def make_sample(
    name: str,
    corpus: str,
    language: str,
    exchanges: Iterable[Exchange],
    tools: Sequence[Mapping[str, Any]],
    system: str | None = None,
) -> Sample:
    """The conversation as an agent sends it: the gold agent's calls with results, then a plain answer."""
    messages: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    gold: dict[int, tuple[Value, ...]] = {}
    for turn, exchange in enumerate(exchanges):
        gold[len(messages)] = exchange.gold
        messages.append({"role": "user", "content": exchange.user})
        for number, call in enumerate(exchange.calls):
            if call.result is not None:
                messages += _write_call(call, f"call_{turn}_{number}")
        messages.append({"role": "assistant", "content": "Done."})
    body: dict[str, Any] = {"model": "m", "messages": messages}
    if tools:
        body["tools"] = [{"type": "function", "function": tool} for tool in tools]
    codec = codecs()["chat"]
    split = codec.split(json.dumps(body).encode())
    if split is None:
        raise ValueError(f"{corpus}: sample {name!r} can't be read as a request: correct its line")
    request = codec.read(split, SessionReader(codec), hide_nothing)
    recorded = RecordedConversation.of_request(name, codec, request)
    held_out = sha256(name.encode()).digest()[0] % 2 == 0
    return Sample(name, corpus, language, recorded, gold, held_out)


def _write_call(call: Call, call_id: str) -> list[dict[str, Any]]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    tool_call = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [tool_call]},
        {"role": "tool", "tool_call_id": call_id, "content": call.result},
    ]
