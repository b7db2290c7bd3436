"""The scripted provider refuses what the real ones refuse, in their words."""

from __future__ import annotations

from typing import Any

import anthropic.types as messages
import pytest

from tests.clients import shop
from tests.clients.drivers.anthropic_messages import TOOLS as MESSAGES_TOOLS
from tests.testing.calling import (
    THINKING,
    Caller,
    chat_body,
    exact,
    messages_body,
    responses_body,
)


def called(name: str, call_id: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (chat_body(called("get_order", "c1")), "did not have response messages: c1"),
        (chat_body(result("c1")), "must be a response to a preceeding message"),
        (chat_body(called("get_order", "c1"), result("c2")), "must be a response to a preceeding message"),
        (chat_body(surprise=1), "Unrecognized request argument supplied: surprise"),
        (chat_body(stream_options={}), "only allowed when 'stream' is enabled"),
        (
            chat_body(tool_choice={"type": "function", "function": {"name": "gone"}}),
            "is not one of the tools",
        ),
    ],
)
async def test_what_chat_refuses(caller: Caller, body: dict[str, Any], said: str) -> None:
    answer = await caller.call("/v1/chat/completions", body)
    assert answer.status_code == 400 and said in answer.json()["error"]["message"]


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": one, "name": "get_order", "input": {}} for one in ids]
    return {"role": "assistant", "content": blocks}


def uses(*ids: str, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "x", **more} for one in ids]
    return {"role": "user", "content": blocks}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (messages_body(use("t1")), "`tool_use` ids were found without `tool_result` blocks"),
        (
            messages_body(use("t1", "t2"), uses("t1")),
            "`tool_use` ids were found without `tool_result` blocks",
        ),
        (messages_body(use("t1"), uses("t2")), "unexpected `tool_use_id` found in `tool_result` blocks: t2"),
        (messages_body(uses("t1")), "unexpected `tool_use_id` found"),
        (messages_body(use("t1"), uses("t1"), thinking=THINKING), "Expected `thinking`"),
        (messages_body(tools=[MESSAGES_TOOLS[0]] * 2), "tools: Tool names must be unique."),
        (messages_body(surprise=1), "surprise: Extra inputs are not permitted"),
        (messages_body(messages=[{"role": "assistant", "content": "a"}]), 'must use the "user" role'),
        (
            messages_body(
                *(one for n in range(5) for one in (use(f"t{n}"), uses(f"t{n}", cache_control={"a": 1})))
            ),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
)
async def test_what_messages_refuses(caller: Caller, body: dict[str, Any], said: str) -> None:
    answer = await caller.call("/v1/messages", body)
    assert answer.status_code == 400 and said in answer.json()["error"]["message"]
    exact(messages.ErrorResponse, answer.json())


async def test_a_changed_thinking_block_is_refused(caller: Caller) -> None:
    said = await caller.json("/v1/messages", messages_body(thinking=THINKING))
    answered = uses(said["content"][2]["id"])
    turn = {"role": "assistant", "content": said["content"]}
    await caller.json("/v1/messages", messages_body(turn, answered, thinking=THINKING))
    said["content"][0]["thinking"] += "!"
    answer = await caller.call("/v1/messages", messages_body(turn, answered, thinking=THINKING))
    assert "Invalid `signature` in `thinking` block" in answer.text


async def test_what_responses_refuses(caller: Caller) -> None:
    reasoning = {"reasoning": {"effort": "low"}}
    said = await caller.json("/v1/responses", responses_body(shop.QUESTIONS[0], **reasoning))
    call = said["output"][2]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}

    async def refused(body: dict[str, Any]) -> str:
        answer = await caller.call("/v1/responses", body)
        assert answer.status_code in (400, 404), answer.text
        return str(answer.json()["error"]["message"])

    after = {"previous_response_id": said["id"]}
    assert "No tool output found for function call" in await refused(responses_body("and?", **after))
    assert "No tool call found" in await refused(responses_body([result]))
    assert "not found" in await refused(responses_body([result], previous_response_id="resp_gone"))
    assert "without its required 'reasoning' item" in await refused(responses_body([call, result]))
    assert "without its required following item" in await refused(responses_body([said["output"][0]]))
    await caller.json("/v1/responses", responses_body([result], **after))
    reference = {"type": "item_reference"}
    items = [{**reference, "id": item["id"]} for item in said["output"]]
    await caller.json("/v1/responses", responses_body([*items, result]))
