"""On Messages too the client meets its own tools only. The provider refuses whatever Anthropic's would: two
tools of one name, calls without results, results that don't come first, signatures that aren't its own.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anthropic
import pytest

from crosswind.testing import Answer, Call, Dialogue, ProviderError, ScriptedProvider, Step, script
from tests.gateway.noise.test_tool_view import ABBREVIATED, DUPLICATE, MISMATCH, STREAMED, TOOL, profile
from tests.gateway.servers import Running, gateway

TOOLS: Any = [
    {
        "name": TOOL,
        "description": "Search the orders of a customer.",
        "input_schema": {
            "type": "object",
            "properties": {
                "customer": {"type": "string", "description": "The customer."},
                "limit": {"type": "integer"},
            },
            "required": ["customer"],
        },
        "cache_control": {"type": "ephemeral"},
    }
]


class Client:
    """An agent on the real SDK that keeps its own history, thinking included."""

    def __init__(self, running: Running, stream: bool) -> None:
        self.sdk = anthropic.AsyncAnthropic(
            base_url=f"{running.data}/s/one", api_key="unused-but-long", max_retries=0
        )
        self.stream = stream
        self.messages: list[Any] = [{"role": "user", "content": "What did ACME order?"}]
        self.last: Any = None

    async def turn(self, **more: Any) -> list[dict[str, Any]]:
        """One turn; gives the content of the assistant's message, as the client keeps it."""
        asked: Any = {"model": "claude", "max_tokens": 4096, "messages": self.messages, "tools": TOOLS}
        asked |= {"thinking": {"type": "enabled", "budget_tokens": 1024}} | more
        if self.stream:
            async with self.sdk.messages.stream(**asked) as stream:
                kinds = [event.type async for event in stream]
                self.last = await stream.get_final_message()
            assert kinds.count("message_start") == kinds.count("message_delta") == 1
            assert kinds[-1] == "message_stop"
        else:
            self.last = await self.sdk.messages.create(**asked)
        content = [block.to_dict() for block in self.last.content]
        self.messages.append({"role": "assistant", "content": content})
        return content

    def answer_calls(self) -> None:
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": json.dumps({"orders": ["W1"]})}
            for block in self.messages[-1]["content"]
            if block["type"] == "tool_use"
        ]
        self.messages.append({"role": "user", "content": results})


def calling(*which: int, text: str | None = None) -> Step:
    """Calls of the true tool (0) and of the phantom (1)."""

    def step(dialogue: Dialogue) -> Answer:
        names = true_and_phantom([tool.name for tool in dialogue.tools])
        calls = tuple(Call(names[one], {"customer": f"ACME {at}"}) for at, one in enumerate(which))
        return Answer(text, calls, reasoning=f"Thought {len(dialogue.items)}.")

    return step


def true_and_phantom(names: list[str]) -> tuple[str, str]:
    (true,) = [name for name in names if name != TOOL]
    assert TOOL in names, "the full name is the distractor's"
    return true, TOOL


def shown(body: Any) -> list[str]:
    return [tool["name"] for tool in body["tools"]]


def called(content: Any) -> list[str]:
    return [block["name"] for block in content if block["type"] == "tool_use"]


@contextlib.asynccontextmanager
async def closed(
    tmp_path: Path, operator: str, policy: Callable[[Dialogue], Answer], stream: bool
) -> AsyncIterator[tuple[ScriptedProvider, Running, Client]]:
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, noise=profile(operator)) as running,
        Client(running, stream).sdk as sdk,
    ):
        client = Client(running, stream)
        client.sdk = sdk
        yield app, running, client
        assert not app.refusals and not app.complaints


def bodies(app: ScriptedProvider) -> list[Any]:
    return app.bodies("/v1/messages")


@STREAMED
async def test_a_renamed_tool_has_its_own_name_for_each_side(tmp_path: Path, stream: bool) -> None:
    async with closed(tmp_path, ABBREVIATED, script(calling(0)), stream) as (app, _, client):
        assert called(await client.turn()) == [TOOL]
        client.answer_calls()
        await client.turn(tool_choice={"type": "tool", "name": TOOL}, thinking={"type": "disabled"})
        first, second = bodies(app)
        true, _ = true_and_phantom(shown(first))
        assert called(second["messages"][1]["content"]) == [true], "the history names what the policy called"
        assert second["tool_choice"] == {"type": "tool", "name": true}
        assert [tool.get("cache_control") for tool in first["tools"]].count(None) == 1
        assert called(client.messages[-1]["content"]) == [TOOL]


@STREAMED
async def test_a_phantom_alone_is_answered_inside(tmp_path: Path, stream: bool) -> None:
    policy = script(calling(1, text="Let me see."), calling(0, text="So then."), Answer("Two orders."))
    async with closed(tmp_path, ABBREVIATED, policy, stream) as (app, running, client):
        content = await client.turn()
        assert [block["type"] for block in content] == ["thinking", "text", "thinking", "text", "tool_use"]
        assert called(content) == [TOOL] and client.last.stop_reason == "tool_use"
        client.answer_calls()
        await client.turn()
        _, inner, later = (body["messages"] for body in bodies(app))
        true, phantom = true_and_phantom(shown(bodies(app)[0]))
        assert called(inner[1]["content"]) == [phantom]
        assert inner[2]["content"][0]["tool_use_id"] == inner[1]["content"][-1]["id"]
        assert later[: len(inner)] == inner, "the next turn goes on from what the policy met"
        assert [block["type"] for block in later[3]["content"]] == ["thinking", "text", "tool_use"]
        assert called(later[3]["content"]) == [true] and len(later) == 5
        stored = (await running.trajectory("one"))["turns"]
        assert stored[0]["usage_injected"]["calls"] == 1
        assert stored[0]["inner"][0]["calls"][0]["name"] == phantom
        produced = json.loads(stored[0]["produced"])
        spent = stored[0]["inner"][0]["usage"]["output_tokens"] + produced["usage"]["output_tokens"]
        assert stored[0]["usage"]["output_tokens"] == spent
        delivered = json.loads(stored[0]["delivered_view"])
        assert [block["type"] for block in delivered["content"]] == [block["type"] for block in content]


@STREAMED
async def test_usage_is_summed_over_the_rounds(tmp_path: Path, stream: bool) -> None:
    policy = script(calling(1, text="Let me see."), Answer("Two orders."))
    async with closed(tmp_path, ABBREVIATED, policy, stream) as (_, running, client):
        await client.turn()
        (turn,) = (await running.trajectory("one"))["turns"]
        told = {name: turn["usage"][name] for name in ("input_tokens", "output_tokens")}
        assert told == {
            "input_tokens": client.last.usage.input_tokens,
            "output_tokens": client.last.usage.output_tokens,
        }
        assert told["input_tokens"] > turn["inner"][0]["usage"]["input_tokens"]


@STREAMED
async def test_real_and_phantom_calls_in_one_answer(tmp_path: Path, stream: bool) -> None:
    policy = script(calling(1, 0, 1, 0, text="All."), Answer("Two orders."))
    async with closed(tmp_path, ABBREVIATED, policy, stream) as (app, _, client):
        assert called(await client.turn()) == [TOOL, TOOL]
        client.answer_calls()
        client.messages[-1]["content"].append({"type": "text", "text": "And be quick."})
        await client.turn()
        assert len(bodies(app)) == 2, "no inner round"
        history = bodies(app)[1]["messages"]
        true, phantom = true_and_phantom(shown(bodies(app)[0]))
        assert called(history[1]["content"]) == [phantom, true, phantom, true]
        client.messages.append({"role": "user", "content": "And now?"})
        await client.turn()
        assert bodies(app)[2]["messages"][: len(history)] == history, "it stays put"


@STREAMED
async def test_a_phantom_that_is_called_again_and_again_leaves(tmp_path: Path, stream: bool) -> None:
    policy = script(
        *[calling(1, text=f"Try {number}.") for number in range(4)],
        Answer("Five.", (Call(TOOL, {"customer": "ACME"}),), reasoning="Once more."),
        Answer("Done."),
    )
    async with closed(tmp_path, ABBREVIATED, policy, stream) as (app, _, client):
        content = await client.turn()
        seen = bodies(app)
        assert len(seen) == 5 and TOOL in shown(seen[3]) and TOOL not in shown(seen[4])
        assert "unknown_tool" in seen[4]["messages"][-1]["content"][0]["content"]
        assert called(content) == [] and client.last.stop_reason == "end_turn"
        said = [block["text"] for block in content if block["type"] == "text"]
        assert said == ["Try 0.", "Try 1.", "Try 2.", "Try 3.", "Five."]
        client.messages.append({"role": "user", "content": "And now?"})
        await client.turn()
        assert TOOL not in shown(bodies(app)[5]), "it does not come back"


@STREAMED
async def test_a_wrong_type_is_refused_inside_once(tmp_path: Path, stream: bool) -> None:
    def wrong(dialogue: Dialogue) -> Answer:
        properties = dialogue.tools[0].parameters["properties"]
        given: dict[str, Any] = {"limit": 3, "customer": "ACME"}
        for name, declared in (("customer", "string"), ("limit", "integer")):
            if properties[name].get("type") != declared:
                given[name] = 7 if name == "customer" else "3"
        return Answer(None, (Call(TOOL, given),))

    right = Answer(None, (Call(TOOL, {"customer": "ACME", "limit": 3}),))
    policy = script(wrong, right, Answer("Done."))
    async with closed(tmp_path, MISMATCH, policy, stream) as (app, _, client):
        content = await client.turn(thinking={"type": "disabled"})
        assert [block["input"] for block in content] == [{"customer": "ACME", "limit": 3}]
        assert "must be of type" in bodies(app)[1]["messages"][-1]["content"][0]["content"]


@STREAMED
async def test_duplicates_have_names_of_their_own(tmp_path: Path, stream: bool) -> None:
    def second(dialogue: Dialogue) -> Answer:
        names = [tool.name for tool in dialogue.tools]
        assert len(set(names)) == len(names) == 2
        (other,) = [name for name in names if name != TOOL]
        return Answer(None, (Call(other, {"customer": "ACME"}),))

    async with closed(tmp_path, DUPLICATE, script(second, Answer("Done.")), stream) as (app, _, client):
        assert called(await client.turn(thinking={"type": "disabled"})) == [TOOL]
        client.answer_calls()
        await client.turn(thinking={"type": "disabled"})
        assert shown(bodies(app)[1]) == shown(bodies(app)[0])
        assert called(bodies(app)[1]["messages"][1]["content"]) != [TOOL], "it meets the call that it made"


@STREAMED
async def test_texts_that_the_client_joined_are_parted_again(tmp_path: Path, stream: bool) -> None:
    """As clients do that keep an answer's text alone."""
    policy = script(calling(1, text="Let me see."), Answer("Two orders."), Answer("Fine."))
    async with closed(tmp_path, ABBREVIATED, policy, stream) as (app, _, client):
        content = await client.turn()
        joined = "".join(block["text"] for block in content if block["type"] == "text")
        client.messages[-1]["content"] = joined
        client.messages.append({"role": "user", "content": "Thanks."})
        await client.turn(thinking={"type": "disabled"})
        _, inner, later = (body["messages"] for body in bodies(app))
        assert later[: len(inner)] == inner
        assert later[3]["content"] == [{"type": "text", "text": "Two orders."}]


async def test_an_error_in_an_inner_round_is_told(tmp_path: Path) -> None:
    policy = script(calling(1, text="Let me see."), Answer(error=ProviderError(529, "Overloaded")))
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, noise=profile(ABBREVIATED)) as running,
    ):
        for stream in (False, True):
            client = Client(running, stream)
            async with client.sdk:
                with pytest.raises(anthropic.APIStatusError):
                    await client.turn()
