"""What a provider keeps is shown to the client as it gave and got it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from crosswind.gateway.protocols.hidden_tools import Reinsertion
from crosswind.gateway.protocols.stored_items import hidden_ids
from crosswind.testing import Answer, ScriptedProvider, script
from crosswind.testing.replies import ReceivedRequest, plain
from tests.gateway import dialogue
from tests.gateway.agents import Agent, LinkedAgent, ResponsesAgent, calling
from tests.gateway.closed_world import ABBREVIATED, TOOL
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.messages.conversation import facts
from tests.gateway.protocols.responses.conversation import body as request
from tests.gateway.protocols.responses.conversation import call, history, post, response, user
from tests.gateway.protocols.responses.conversation import result as output
from tests.gateway.servers import Running, answer, computed, gateway, upstream

WAYS = pytest.mark.parametrize("make", [ResponsesAgent, LinkedAgent], ids=["resent", "linked"])
KEY = {"authorization": "Bearer sk-client"}
NOISY = f"{PROFILE}  - {{operator: {ABBREVIATED}, severity: 1.0, when: {{probability: 1.0}}}}\n"
"""Texts, results and tools are touched."""
QUESTION = "What did ACME order on Monday, please, and where is it now?"


def policy() -> Any:
    return script(
        calling(1, text="Let me see."),
        calling(1, 0, text="So then."),
        Answer("Two orders.", reasoning="That's it."),
    )


@WAYS
@pytest.mark.parametrize("restarted", [False, True])
async def test_input_items_are_the_clients_own(tmp_path: Path, make: type[Agent], restarted: bool) -> None:
    async with ScriptedProvider(policy()) as app:
        async with gateway(tmp_path, app.url, noise=NOISY) as running:
            async with make(running) as agent:
                await agent.ask(QUESTION)
                await agent.answer_calls()
            assert not app.refusals
            if not restarted:
                await check_items(agent, running, app)
        if restarted:
            async with gateway(tmp_path, app.url, noise=NOISY) as running:
                await check_items(agent, running, app)


async def check_items(agent: Agent, running: Running, app: ScriptedProvider) -> None:
    async with AsyncOpenAI(base_url=f"{running.data}/v1", api_key="unused-but-long") as sdk:
        items = [one async for one in sdk.responses.input_items.list(agent.last.id, order="asc")]
    assert app.bodies("/v1/responses")[0]["input"][0]["content"] != QUESTION
    said = ("reasoning", "message")
    assert [one.type for one in items] == ["message", *said, *said, "function_call", "function_call_output"]
    mine = {item.get("id"): item for item in agent.history if "id" in item}
    assert items[0].content[0].text == QUESTION
    assert items[5].name == TOOL
    assert items[6].output == next(one["output"] for one in agent.history if "output" in one)
    assert all(one.id in mine for one in items[1:6])


@WAYS
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
async def test_a_response_is_the_one_that_was_delivered(
    tmp_path: Path, make: type[Agent], durability: str
) -> None:
    async with (
        ScriptedProvider(policy()) as app,
        gateway(tmp_path, app.url, durability=durability, noise=NOISY) as running,
        make(running) as agent,
    ):
        first = await agent.ask(QUESTION)
        again = await agent.sdk.responses.retrieve(first.id)
        assert again.to_dict() == first.whole.to_dict()
        last = await agent.answer_calls()
        again = await agent.sdk.responses.retrieve(last.id)
        assert again.to_dict() == last.whole.to_dict()
        assert len(app.stored.responses) == 3
        await agent.sdk.responses.delete(first.id)
        assert len(app.stored.responses) == 1, "with the round that was answered inside"
        told = await running.http.delete(f"{running.data}/v1/responses/{last.id}", headers=KEY)
        assert told.json()["id"] == last.id and not app.stored.responses


async def test_what_is_not_ours_keeps_its_bytes(tmp_path: Path) -> None:
    page = b'{ "object":"list", "data": [ {"type": "message", "content": "x", "n": 1.0} ], "has_more":false }'
    paths = [
        "/responses/resp_1",
        "/responses/resp_1/input_items?limit=3",
        "/responses/resp_9?stream=true",
        "/conversations/conv_1/items",
        "/chat/completions/resp_1/messages",
        "/responses/resp_1/cancel",
    ]
    async with upstream(plain(page)) as app, gateway(tmp_path, app, noise=NOISY) as running:
        app.steps[:] = [plain(response(1)), plain(page, 200, (b"x-a", b"b"))]
        await post(running, request(history(1)), "s")
        for path in paths:
            method = "POST" if path.endswith("cancel") else "GET"
            answer = await running.http.request(method, f"{running.data}/s/s/v1{path}")
            assert (answer.content, answer.headers["x-a"]) == (page, "b")
            assert app.requests[-1].path == f"/v1{path}"


async def test_a_conversations_items_are_the_clients_own(tmp_path: Path) -> None:
    replies = [plain(response(number, call("c", "W17", id=f"fc_{number}"))) for number in (1, 2)]
    async with upstream(*replies) as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await post(running, request(history(1), conversation="conv_1"), "s")
            await post(running, request([output("c", facts("W17"))], conversation="conv_1"), "s")
        kept = [one for seen in app.requests for one in seen.json["input"]]
        clean = [*history(1), output("c", facts("W17"))]
        assert kept[0] != clean[0] and kept[1] != clean[1]
        app.steps[:] = [plain({"object": "list", "data": kept, "has_more": False})]
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            answer = await running.http.get(f"{running.data}/s/s/v1/conversations/conv_1/items")
            assert answer.json()["data"] == clean
            app.steps[:] = [plain(kept[0])]
            answer = await running.http.get(f"{running.data}/s/s/v1/conversations/conv_1/items/msg_1")
            assert answer.json() == clean[0]


async def test_the_messages_of_a_stored_completion_are_the_clients_own(tmp_path: Path) -> None:
    sent = dialogue.body(*dialogue.history(2), store=True)
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(sent, "s")
        app.steps[:] = [plain({"object": "list", "data": app.requests[0].json["messages"]})]
        answer = await running.http.get(f"{running.data}/s/s/v1/chat/completions/chatcmpl-1/messages")
        assert app.requests[0].json["messages"] != sent["messages"]
        assert answer.json()["data"] == sent["messages"]


async def test_a_stored_completion_tells_the_clients_own_tools_back(tmp_path: Path) -> None:
    choice = {"type": "function", "function": {"name": "get_order"}}
    sent = dialogue.body(*dialogue.history(1), store=True, tool_choice=choice)
    async with upstream() as app, gateway(tmp_path, app, noise=NOISY) as running:
        await running.chat(sent, "s")
        shown = {name: app.requests[0].json[name] for name in ("tools", "tool_choice")}
        app.steps[:] = [plain(answer() | shown | {"metadata": {"a": "b"}})]
        told = await running.http.get(f"{running.data}/s/s/v1/chat/completions/chatcmpl-1")
        assert app.requests[0].json["tools"] != sent["tools"]
        assert app.requests[0].json["tool_choice"] != choice
        own = {"tools": sent["tools"], "tool_choice": choice, "metadata": {"a": "b"}}
        assert told.json() == answer() | own


async def test_noise_off_asks_nothing_of_the_store(tmp_path: Path) -> None:
    async with upstream(plain(response(1))) as app, gateway(tmp_path, app) as running:
        await post(running, request([user("hi")]), "s")
        answer = await running.http.get(f"{running.data}/s/s/v1/responses/resp_1")
        assert answer.json() == response(1) and app.requests[1].path == "/v1/responses/resp_1"


@pytest.mark.parametrize("durability", ["strict", "relaxed"])
@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_of_what_the_client_never_saw_are_gone_past(
    tmp_path: Path, limit: int, durability: str
) -> None:
    policy = script(*(calling(1) for _ in range(3)), calling(0), Answer("Two orders."))
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, durability=durability, noise=NOISY) as running,
    ):
        async with LinkedAgent(running) as agent:
            await agent.ask(QUESTION)
            await agent.answer_calls()
        async with AsyncOpenAI(base_url=f"{running.data}/v1", api_key="unused-but-long") as sdk:
            listed = sdk.responses.input_items.list(agent.last.id, order="asc", limit=limit)
            items = [one async for one in listed]
    assert [one.type for one in items] == ["message", "reasoning", "function_call", "function_call_output"]


async def test_listed_completions_are_those_that_were_delivered(tmp_path: Path) -> None:
    kept: list[dict[str, Any]] = []

    def calling_one(number: int) -> Any:
        def make(seen: ReceivedRequest) -> Any:
            names = [one["function"]["name"] for one in seen.json["tools"]]
            [true] = {*names} - {"get_order"}
            name = "get_order" if number == 1 else true
            function = {"name": name, "arguments": "{}"}
            calls = [{"id": f"k{number}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            made = answer(id=f"chatcmpl-{number}", choices=[choice], tools=seen.json["tools"])
            kept.append(made | {"metadata": {"n": str(number)}})
            return made

        return computed(make)

    sent = dialogue.body(*dialogue.history(1), store=True)
    async with (
        upstream(calling_one(1), calling_one(2)) as app,
        gateway(tmp_path, app, noise=NOISY) as running,
    ):
        delivered = (await running.chat(sent, "s")).json()
        other = answer(id="chatcmpl-9")
        app.steps[:] = [plain({"object": "list", "data": [*kept, other], "has_more": False})]
        page = await running.http.get(f"{running.data}/s/s/v1/chat/completions?limit=5")
        first, *others = page.json()["data"]
        assert others == [other]
        assert first["choices"] == delivered["choices"] and first["id"] == delivered["id"]
        assert first["tools"] == sent["tools"] and first["metadata"] == {"n": "1"}


def test_what_is_kept_back_may_be_anything() -> None:
    before = ('{"call_id": "c1", "tool_calls": "completed"}', "[1]", '"text"')
    put = Reinsertion(before=before, calls=((0, '{"id": "c2", "tool_calls": [{"id": "c3"}, 1]}'),))
    assert hidden_ids([put]) == {"c1", "c2", "c3"}
