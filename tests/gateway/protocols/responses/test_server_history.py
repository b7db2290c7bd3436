"""Histories that the upstream holds: what is new gets the noise that it had got in a history resent whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.trajectory.store import StoreError
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import plain
from tests.clients import shop
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.messages.conversation import facts
from tests.gateway.protocols.responses.conversation import body, call, history, post, response, texts
from tests.gateway.protocols.responses.conversation import result as output
from tests.gateway.servers import Running, gateway, upstream

TOOLS: Any = [
    {"type": "function", "name": name, "description": words, "parameters": schema}
    for name, (words, schema) in shop.TOOLS.items()
]
KEY = {"authorization": "Bearer sk-client"}


class Agent:
    """Leads the shop's dialogue. `linked`: it names the response it goes on from, and sends what is new."""

    def __init__(self, session: str | None, *, linked: bool, **more: Any) -> None:
        self.session = session
        self.linked = linked
        self.more = {"tools": TOOLS, "instructions": shop.SYSTEM, **more}
        self.items: list[Any] = []
        self.previous: str | None = None
        self.output: list[Any] = []
        self.asked: list[Any] = []

    async def turn(self, running: Running, *new: Any) -> Any:
        """One turn with these new items, or with the results of the calls at hand."""
        given = [*(new or map(result, self.calls))]
        self.items += given
        request = {"model": "m", "input": given if self.linked else [*self.items], **self.more}
        if self.linked and self.previous and "conversation" not in self.more:
            request["previous_response_id"] = self.previous
        self.asked.append(request)
        answer = await post(running, request, self.session, **KEY)
        assert answer.status_code == 200, answer.text
        response = last_response(answer.text) if self.more.get("stream") else answer.json()
        self.previous, self.output = response["id"], response["output"]
        self.items += self.output
        return response

    @property
    def calls(self) -> list[Any]:
        return [item for item in self.output if item["type"] == "function_call"]

    async def ask(self, running: Running, question: str) -> None:
        await self.turn(running, {"role": "user", "content": question})
        while self.calls:
            await self.turn(running)


def last_response(stream: str) -> Any:
    *_, last = [line for line in stream.splitlines() if line.startswith("data: ")]
    return json.loads(last.removeprefix("data: "))["response"]


def result(call: Any) -> dict[str, Any]:
    output = shop.run_tool(call["name"], json.loads(call["arguments"]))
    return {"type": "function_call_output", "call_id": call["call_id"], "output": output}


@contextlib.asynccontextmanager
async def shop_and_gateway(
    tmp: Path, name: object = "one", **given: Any
) -> AsyncIterator[tuple[ScriptedProvider, Running]]:
    store = f"sqlite:///{tmp}/{name}.db"
    async with ScriptedProvider(shop.policy) as app, gateway(tmp, app.url, store=store, **given) as running:
        yield app, running


def shown(app: ScriptedProvider) -> list[Any]:
    """What the policy was shown in the last turn."""
    return [(type(item).__name__, getattr(item, "text", "")) for item in app.dialogues[-1].items]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_linked_turn_is_shown_what_a_resent_history_is_shown(tmp_path: Path, stream: bool) -> None:
    views, turns, slots = [], [], []
    for linked in (False, True):
        async with shop_and_gateway(tmp_path, linked, noise=PROFILE) as (app, running):
            agent = Agent("s", linked=linked, stream=stream)
            for question in shop.QUESTIONS:
                await agent.ask(running, question)
            assert not app.refusals and not app.complaints
            views.append(shown(app))
            stored = await running.trajectory("s")
            turns.append([(one["index"], one["parent"], one["branch"]) for one in stored["turns"]])
            slots.append([(one["turn_index"], one["slot"], one["after"]) for one in stored["events"]])
            assert [json.loads(one["received"]) for one in stored["turns"]] == agent.asked
            assert [one["sent"].encode() for one in stored["turns"]] == [seen.body for seen in app.requests]
    assert views[0] == views[1]
    assert turns[0] == turns[1] and slots[0] == slots[1]
    assert {turn for turn, _, after in slots[0] if after is not None} > {0, 1}


async def test_after_a_restart_the_history_is_read_back(tmp_path: Path) -> None:
    views = []
    for linked in (False, True):
        folder = tmp_path / str(linked)
        folder.mkdir()
        async with ScriptedProvider(shop.policy) as app:
            agent = Agent("s", linked=linked)
            async with gateway(folder, app.url, noise=PROFILE) as running:
                await agent.ask(running, shop.QUESTIONS[0])
                await agent.turn(running, {"role": "user", "content": shop.QUESTIONS[1]})
            while agent.calls:
                async with gateway(folder, app.url, noise=PROFILE) as running:
                    await agent.turn(running)
            views.append(shown(app))
            async with gateway(folder, app.url, noise=PROFILE) as running:
                stored = await running.trajectory("s")
            assert [one["parent"] for one in stored["turns"]] == [None, *range(len(stored["turns"]) - 1)]
    assert views[0] == views[1]


SPOILT = """\
name: spoilt
version: 1
bounds: {faults_per_call: 2, faults_per_session: 99}
compose: all_of
rules:
  - {operator: model.malformed_arguments, severity: 1.0, when: {probability: 1.0}}
  - {operator: tool.timeout, severity: 1.0, when: {probability: 1.0}}
"""


@pytest.mark.parametrize("stream", [False, True])
async def test_what_noise_made_of_an_answer_is_what_is_gone_on_from(tmp_path: Path, stream: bool) -> None:
    """Faults are counted by the call that the client got, in the process that spoilt it as in any other."""
    counted = []
    for restarted in (False, True):
        folder = tmp_path / str(restarted)
        folder.mkdir()
        async with ScriptedProvider(shop.policy) as app, contextlib.AsyncExitStack() as stack:
            running = await stack.enter_async_context(gateway(folder, app.url, noise=SPOILT))
            request = {"model": "m", "tools": TOOLS, "stream": stream}
            first = await post(running, request | {"input": shop.QUESTIONS[0]}, "s", **KEY)
            made = last_response(first.text) if stream else first.json()
            (called,) = [item for item in made["output"] if item["type"] == "function_call"]
            with pytest.raises(json.JSONDecodeError):
                json.loads(called["arguments"])
            if restarted:
                await stack.aclose()
                running = await stack.enter_async_context(gateway(folder, app.url, noise=SPOILT))
            linked = {"previous_response_id": made["id"], "input": [output(called["call_id"], facts("W17"))]}
            await post(running, request | linked, "s", **KEY)
            events = (await running.trajectory("s"))["events"]
            counted.append([event["logical_call"] for event in events if event["site"] == "tool_result"])
    assert counted[0] == counted[1] and all(counted[0])


async def test_a_response_may_be_gone_on_from_twice(tmp_path: Path) -> None:
    async with shop_and_gateway(tmp_path, noise=PROFILE) as (app, running):
        agent = Agent("s", linked=True)
        first = await agent.turn(running, {"role": "user", "content": shop.QUESTIONS[0]})
        calls = agent.calls
        for _ in range(2):
            agent.previous = first["id"]
            await agent.turn(running, *map(result, calls))
        assert app.dialogues[-1].items == app.dialogues[-2].items
        await agent.turn(running)
        turns = (await running.trajectory("s"))["turns"]
        assert [one["parent"] for one in turns] == [None, 0, 0, 2]
        assert turns[1]["branch"] == "" != turns[2]["branch"] == turns[3]["branch"]


@pytest.mark.parametrize("durability", ["strict", "relaxed"])
async def test_who_goes_on_from_a_response_is_of_its_session(tmp_path: Path, durability: str) -> None:
    async with ScriptedProvider(shop.policy) as app:
        async with gateway(tmp_path, app.url, durability=durability, noise=PROFILE) as running:
            agent = Agent("s", linked=True)
            await agent.turn(running, {"role": "user", "content": shop.QUESTIONS[0]})
            agent.session = None
            await agent.turn(running)
            assert len((await running.trajectory("s"))["turns"]) == 2
        async with gateway(tmp_path, app.url, noise=PROFILE) as running:
            await agent.turn(running)
            assert len((await running.trajectory("s"))["turns"]) == 3
            assert len((await running.api("GET", "/api/sessions")).json()["sessions"]) == 1


async def test_an_unknown_response_is_the_upstreams_to_judge(tmp_path: Path) -> None:
    async with shop_and_gateway(tmp_path, noise=PROFILE) as (app, running):
        request = {"model": "m", "input": shop.QUESTIONS[0], "previous_response_id": "resp_unheard"}
        answer = await post(running, request, "s", **KEY)
        assert answer.json()["error"]["code"] == "previous_response_not_found"
        assert app.requests[0].json["input"] != shop.QUESTIONS[0]


async def test_references_say_what_was_called(tmp_path: Path) -> None:
    """A call that is only referred to is still the one that the result answers."""
    events = []
    for refers in (False, True):
        async with shop_and_gateway(tmp_path, refers, noise=PROFILE) as (_, running):
            agent = Agent("s", linked=False)
            await agent.turn(running, {"role": "user", "content": shop.QUESTIONS[0]})
            if refers:
                agent.items = [
                    item if "id" not in item else {"type": "item_reference", "id": item["id"]}
                    for item in agent.items
                ]
            await agent.turn(running)
            events.append(
                [
                    (one["tool"], one["slot"], one["logical_call"], one["after"])
                    for one in (await running.trajectory("s"))["events"]
                ]
            )
    assert events[0] == events[1]
    assert events[1][-1][0] == "get_order"


async def test_what_cannot_be_read_back_means_no_new_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedProvider(shop.policy) as app:
        agent = Agent("s", linked=True)
        async with gateway(tmp_path, app.url, noise=PROFILE) as running:
            await agent.turn(running, {"role": "user", "content": shop.QUESTIONS[0]})
        async with gateway(tmp_path, app.url, noise=PROFILE) as running:

            def broken(*_: Any) -> Any:
                raise StoreError("the disk is lost")

            monkeypatch.setattr(running.gateway.store, "turns_of_responses", broken)
            results = [result(call) for call in agent.calls]
            await agent.turn(running)
            assert app.bodies("/v1/responses")[-1]["input"] == results
            turns = (await running.trajectory("s"))["turns"]
            assert turns[-1]["fitness"] == "ledger_unavailable"


async def test_a_conversation_goes_on_from_its_last_response(tmp_path: Path) -> None:
    sent = []
    for member in ("conversation", "previous_response_id"):
        folder = tmp_path / member
        folder.mkdir()
        replies = [plain(response(number, call("c", "W17"))) for number in range(4)]
        async with upstream(*replies) as app:
            for turns in (range(2), range(2, 4)):
                async with gateway(folder, app, noise=PROFILE) as running:
                    for turn in turns:
                        named: dict[str, Any] = {"conversation": {"id": "conv_1"} if turn % 2 else "conv_1"}
                        if member != "conversation":
                            named = {member: f"resp_{turn - 1}"} if turn else {}
                        new = [output("c", facts("W17"))] if turn else history(1)
                        await post(running, body(new, **named), "s")
            sent.append([texts(seen.json) for seen in app.requests])
            async with gateway(folder, app, noise=PROFILE) as running:
                stored = await running.trajectory("s")
        assert [one["parent"] for one in stored["turns"]] == [None, 0, 1, 2]
    assert sent[0] == sent[1]
    assert [one == [facts("W17")] for one in sent[0]] == [False, False, True, True]
