"""An agent that keeps its own history, and policies by script that meet tools shown otherwise."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI

from crosswind.testing import Answer, Call, Dialogue
from tests.gateway.servers import Running

TOOL = "search_customer_orders"
ABBREVIATED = "schema.misleading_description_abbreviated"
MISMATCH = "schema.type_mismatch"
DUPLICATE = "schema.duplicate_no_description"


def tool(
    name: str = TOOL, description: str = "Search the orders of a customer.", **more: Any
) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "The customer."},
            "limit": {"type": "integer"},
        },
        "required": ["customer"],
    }
    function = {"name": name, "description": description, "parameters": parameters, **more}
    return {"type": "function", "function": function}


def profile(operator: str) -> str:
    rule = f"  - operator: {operator}\n    severity: 1.0\n    when: {{probability: 1.0}}\n"
    return f"name: closed\nversion: 1\nsummary: Tools are shown otherwise.\ncompose: all_of\nrules:\n{rule}"


class Client:
    """An agent on the real SDK that keeps its own history."""

    def __init__(self, running: Running, stream: bool) -> None:
        self.sdk = AsyncOpenAI(base_url=f"{running.data}/s/one/v1", api_key="unused-but-long", max_retries=0)
        self.stream = stream
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "What did ACME order?"}]
        self.usage: Any = None
        self.finish: str | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sdk.close()

    async def turn(self, tools: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """One turn; gives the assistant's message as the client keeps it."""
        asked: Any = {"model": "tiny", "messages": self.messages, "tools": tools, **more}
        message = await self._streamed(asked) if self.stream else await self._plain(asked)
        self.messages.append(message)
        return message

    async def _plain(self, asked: Any) -> dict[str, Any]:
        answer = await self.sdk.chat.completions.create(**asked)
        self.usage, self.finish = answer.usage, answer.choices[0].finish_reason
        return answer.choices[0].message.to_dict(exclude_none=True) | {"role": "assistant"}

    async def _streamed(self, asked: Any) -> dict[str, Any]:
        """The message put together as agents do it: by role, text, and the calls' indices."""
        message: dict[str, Any] = {"content": ""}
        calls: dict[int, dict[str, Any]] = {}
        heads: set[tuple[str, str]] = set()
        async with await self.sdk.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ) as chunks:
            async for chunk in chunks:
                heads.add((chunk.id, chunk.model))
                self.usage = chunk.usage or self.usage
                for choice in chunk.choices:
                    self.finish = choice.finish_reason or self.finish
                    if choice.delta.role is not None:
                        assert "role" not in message, "one role"
                        message["role"] = choice.delta.role
                    message["content"] += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        merge(calls, piece.to_dict(exclude_none=True))
        assert len(heads) == 1, "one answer"
        assert sorted(calls) == list(range(len(calls))), "indices without a gap"
        return message | ({"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {})

    def answer_calls(self) -> None:
        for call in self.messages[-1].get("tool_calls", ()):
            content = json.dumps({"orders": ["W1"], "of": call["function"]["name"]})
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


def merge(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    call = calls.setdefault(
        piece.pop("index"), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    call["id"] = piece.get("id", call["id"])
    for name, value in piece.get("function", {}).items():
        call["function"][name] += value


def shown(body: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in body["tools"]]


def called(message: dict[str, Any]) -> list[str]:
    return [call["function"]["name"] for call in message.get("tool_calls") or ()]


def true_and_phantom(body: dict[str, Any]) -> tuple[str, str]:
    names = shown(body)
    (true,) = [name for name in names if name != TOOL]
    assert TOOL in names, "the full name is the distractor's"
    return true, TOOL


def calling(*which: int, text: str | None = None) -> Any:
    """Calls of the true tool (0) and of the phantom (1)."""

    def step(dialogue: Dialogue) -> Answer:
        names, turn = true_and_phantom(dialogue.body), len(dialogue.body["messages"])
        calls = (Call(names[one], {"customer": "ACME"}, f"c{turn}_{at}") for at, one in enumerate(which))
        return Answer(text, tuple(calls), usage=(10, 4))

    return step
