"""An agent on OpenAI's Responses, and policies by script that meet tools shown otherwise."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI

from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider, Step
from tests.gateway.noise.test_tool_view import TOOL, tool
from tests.gateway.servers import Running

REASONING: Any = {"effort": "low", "summary": "auto"}


def function(**more: Any) -> dict[str, Any]:
    return {"type": "function", **tool(**more)["function"], "strict": False}


class Client:
    """An agent on the real SDK: it keeps its own history; `linked`, it names the response it goes on from."""

    def __init__(self, running: Running, *, stream: bool, linked: bool = False, **more: Any) -> None:
        self.sdk = AsyncOpenAI(base_url=f"{running.data}/s/one/v1", api_key="unused-but-long", max_retries=0)
        self.stream = stream
        self.linked = linked
        self.more = more
        self.items: list[Any] = []
        self.response: Any = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sdk.close()

    async def turn(self, *new: Any, **more: Any) -> Any:
        """One turn with new items; gives the response."""
        self.items += new
        asked: Any = {"model": "m", "tools": [function()], "input": self.items, **self.more, **more}
        if self.linked:
            asked["input"] = list(new)
            asked["previous_response_id"] = self.response.id if self.response else None
        self.response = await (self._streamed(asked) if self.stream else self.sdk.responses.create(**asked))
        self.items += [item.to_dict(exclude_unset=True) for item in self.response.output]
        assert [one.name for one in self.response.tools] == [TOOL]
        return self.response

    async def _streamed(self, asked: Any) -> Any:
        """The response, which is what the events say."""
        created: Any = None
        items: dict[int, Any] = {}
        async with await self.sdk.responses.create(**asked, stream=True) as events:
            number = 0
            async for event in events:
                assert event.sequence_number == number
                number += 1
                if event.type == "response.created":
                    assert created is None
                    created = event.response
                elif event.type == "response.output_item.added":
                    assert event.output_index == len(items)
                    items[event.output_index] = event.item
                elif event.type == "response.output_item.done":
                    assert items[event.output_index].id == event.item.id
                    items[event.output_index] = event.item
                elif event.type == "response.completed":
                    assert event.response.id == created.id
                    assert [one.to_dict() for one in event.response.output] == [
                        one.to_dict() for _, one in sorted(items.items())
                    ]
                    return event.response
        raise AssertionError("the stream did not complete")

    async def answer_calls(self, **more: Any) -> Any:
        calls = [item for item in self.response.output if item.type == "function_call"]
        return await self.turn(*(output(call.call_id) for call in calls), **more)


def output(call_id: str) -> dict[str, Any]:
    content = json.dumps({"orders": ["W1"], "of": call_id})
    return {"type": "function_call_output", "call_id": call_id, "output": content}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(response: Any) -> list[str]:
    return [item.name for item in response.output if item.type == "function_call"]


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


def names(dialogue: Dialogue) -> tuple[str, str]:
    """The true tool's shown name and the phantom's, which has the full name."""
    (true,) = [one.name for one in dialogue.tools if one.name != TOOL]
    assert TOOL in [one.name for one in dialogue.tools]
    return true, TOOL


def calling(*which: int, text: str | None = None, reasoning: str | None = None) -> Step:
    """Calls of the true tool (0) and of the phantom (1)."""

    def step(dialogue: Dialogue) -> Answer:
        shown = names(dialogue)
        return Answer(text, tuple(Call(shown[one], {"customer": "ACME"}) for one in which), reasoning)

    return step


def fine(app: ScriptedProvider) -> None:
    """The provider had nothing to refuse, and met again what it had produced."""
    assert not app.refusals and not app.complaints
    for before, after in zip(app.dialogues, app.dialogues[1:], strict=False):
        assert after.items[: len(before.items)] == before.items
