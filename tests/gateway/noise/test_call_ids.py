"""Calls that noise gave one id: the client answers them by it, and providers meet the ids that they gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crosswind.gateway.protocols.call_ids import MISSING_RESULT
from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider
from crosswind.testing.dialogue import ResultItem
from tests.gateway.proxy.faulty import (
    CHAT,
    EACH,
    KEPT,
    MESSAGES,
    RESPONSES,
    STREAMED,
    TEXT,
    Protocol,
    call_responses,
    profile,
    serving,
    turns,
)
from tests.gateway.servers import Running, gateway

OPERATOR = "model.duplicated_call_id"


def policy(dialogue: Dialogue) -> Answer:
    """Two calls, and a text once they are answered."""
    if any(isinstance(item, ResultItem) for item in dialogue.items):
        return Answer(TEXT)
    return Answer(None, (Call("get_order", {"id": "W1"}), Call("get_order", {"id": "W2"})))


def go_on(protocol: Protocol, calls: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """The answer with these calls, and their results, as messages of a history."""
    if protocol is CHAT:
        made = [
            {"id": one, "type": "function", "function": {"name": name, "arguments": text}}
            for one, name, text in calls
        ]
        results = [
            {"role": "tool", "tool_call_id": one, "content": f"number {at}"}
            for at, (one, _, _) in enumerate(calls)
        ]
        return [{"role": "assistant", "content": None, "tool_calls": made}, *results]
    if protocol is MESSAGES:
        uses = [
            {"type": "tool_use", "id": one, "name": name, "input": json.loads(text)}
            for one, name, text in calls
        ]
        blocks = [
            {"type": "tool_result", "tool_use_id": one, "content": f"number {at}"}
            for at, (one, _, _) in enumerate(calls)
        ]
        return [{"role": "assistant", "content": uses}, {"role": "user", "content": blocks}]
    items = [
        {"type": "function_call", "call_id": one, "name": name, "arguments": text}
        for one, name, text in calls
    ]
    return [*items, *results_of(calls)]


def results_of(calls: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    return [
        {"type": "function_call_output", "call_id": one, "output": f"number {at}"}
        for at, (one, _, _) in enumerate(calls)
    ]


def keep_by_id(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history of a client that keeps results in a mapping by the calls' ids: the last one stays."""
    kept: dict[str, dict[str, Any]] = {}
    for at, message in enumerate(history):
        if message.get("role") == "user" and isinstance(message["content"], list):
            kept[str(at)] = message | {"content": message["content"][-1:]}
        elif message.get("role") == "tool" or message.get("type") == "function_call_output":
            kept[message.get("tool_call_id") or message["call_id"]] = message
        else:
            kept[str(at)] = message
    return list(kept.values())


def results_in(protocol: Protocol, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The results in a body that the provider got."""
    messages: list[dict[str, Any]] = body["input" if protocol is RESPONSES else "messages"]
    if protocol is not MESSAGES:
        kinds = ("tool", "function_call_output")
        return [one for one in messages if one.get("role", one.get("type")) in kinds]
    return [
        block
        for one in messages
        for block in one["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]


def ids_in(protocol: Protocol, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results in a body that the provider got."""
    if protocol is CHAT:
        calls = [one["id"] for message in body["messages"] for one in message.get("tool_calls", ())]
        return calls, [one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"]
    if protocol is MESSAGES:
        blocks = [one for message in body["messages"] if message["content"] for one in message["content"]]
        found = [one for one in blocks if isinstance(one, dict)]
        calls = [one["id"] for one in found if one["type"] == "tool_use"]
        return calls, [one["tool_use_id"] for one in found if one["type"] == "tool_result"]
    items = body["input"]
    calls = [one["call_id"] for one in items if one.get("type") == "function_call"]
    return calls, [one["call_id"] for one in items if one.get("type") == "function_call_output"]


async def made_by_policy(protocol: Protocol, running: Running) -> list[str]:
    return [one for one, _, _ in protocol.read_raw((await turns(running))[0]["produced"]).calls]


@EACH
@STREAMED
async def test_providers_meet_the_ids_that_they_gave(
    tmp_path: Path, protocol: Protocol, stream: bool
) -> None:
    """At the next turn, at later ones, and after a restart, byte for byte."""
    member = "input" if "input" in protocol.body else "messages"
    name = profile(OPERATOR, tmp_path)
    async with ScriptedProvider(policy) as app:
        async with gateway(tmp_path, app.url, profile=name) as running:
            first = await protocol.ask(running, stream=stream, tools=True)
            ids = [one for one, _, _ in first.calls]
            assert len(ids) == 2 and len(set(ids)) == 1
            history = [*protocol.body[member], *go_on(protocol, first.calls)]
            asked = await protocol.ask(running, stream=stream, tools=True, **{member: history})
            assert asked.text == TEXT
            true = await made_by_policy(protocol, running)
        async with gateway(tmp_path, app.url, profile=name) as running:
            said = [{"role": "assistant", "content": TEXT}, {"role": "user", "content": "Thanks. And now?"}]
            again = await protocol.ask(running, stream=stream, tools=True, **{member: [*history, *said]})
            assert again.text == TEXT
        assert not app.refusals
        _, second, third = (request.body for request in app.requests)
        assert len(set(true)) == 2
        for body in (second, third):
            assert ids_in(protocol, json.loads(body)) == (true, true)
        results = third[third.index(b"number 0") : third.index(b"number 1")]
        assert results in second, "the same bytes as before"


@EACH
@STREAMED
async def test_a_client_that_keeps_results_by_id_answers_every_call(
    tmp_path: Path, protocol: Protocol, stream: bool
) -> None:
    """It has one result for the two calls of one id: that of the last one. Providers want two."""
    member = "input" if "input" in protocol.body else "messages"
    async with ScriptedProvider(policy) as app:
        async with gateway(tmp_path, app.url, profile=profile(OPERATOR, tmp_path)) as running:
            first = await protocol.ask(running, stream=stream, tools=True)
            history = [*protocol.body[member], *keep_by_id(go_on(protocol, first.calls))]
            for said in (
                [],
                [{"role": "assistant", "content": TEXT}, {"role": "user", "content": "Thanks."}],
            ):
                history += said
                asked = await protocol.ask(running, stream=stream, tools=True, **{member: history})
                assert asked.text == TEXT
            true = await made_by_policy(protocol, running)
        assert not app.refusals
    for request in app.requests[1:]:
        calls, results = ids_in(protocol, json.loads(request.body))
        assert calls == true and sorted(results) == sorted(true)
        assert (MISSING_RESULT.encode() in request.body) and b"number 0" not in request.body
        own = next(one for one in results_in(protocol, json.loads(request.body)) if "number 1" in str(one))
        assert true[1] in own.values(), "the result is the last call's"


async def test_a_client_that_goes_on_by_id_and_keeps_results_by_it_answers_every_call(tmp_path: Path) -> None:
    async with ScriptedProvider(policy) as app:
        async with gateway(tmp_path, app.url, profile=profile(OPERATOR, tmp_path)) as running:
            body = {"model": "m", "input": KEPT, "tools": RESPONSES.tools}
            made = await call_responses(running, body)
            results = keep_by_id(results_of(RESPONSES.read(made).calls))
            after = await call_responses(
                running, body | {"input": results, "previous_response_id": made["id"]}
            )
            assert RESPONSES.read(after).text == TEXT
            true = await made_by_policy(RESPONSES, running)
        assert not app.refusals
        assert sorted(ids_in(RESPONSES, json.loads(app.requests[-1].body))[1]) == sorted(true)


async def test_a_client_that_goes_on_by_id_answers_the_true_calls(tmp_path: Path) -> None:
    """It resent its history, and names the response only then."""
    async with ScriptedProvider(policy) as app:
        async with gateway(tmp_path, app.url, profile=profile(OPERATOR, tmp_path)) as running:
            body = {"model": "m", "input": KEPT, "tools": RESPONSES.tools}
            made = await call_responses(running, body)
            calls = RESPONSES.read(made).calls
            assert len({one for one, _, _ in calls}) == 1
            linked = {"input": results_of(calls), "previous_response_id": made["id"]}
            after = await call_responses(running, body | linked)
            assert RESPONSES.read(after).text == TEXT
            true = await made_by_policy(RESPONSES, running)
        assert not app.refusals
        assert ids_in(RESPONSES, json.loads(app.requests[-1].body)) == ([], true)


async def test_ids_that_noise_did_not_change_stay(tmp_path: Path) -> None:
    """A retry got the answer as it was: the same first id, and nothing to restore."""
    async with ScriptedProvider(policy, strict=True) as app:
        async with gateway(tmp_path, app.url, profile=profile(OPERATOR, tmp_path)) as running:
            damaged = await CHAT.ask(running, tools=True)
            whole = [(damaged.calls[0][0], *damaged.calls[0][1:]), ("call_own", *damaged.calls[1][1:])]
            history = [*CHAT.body["messages"], *go_on(CHAT, whole)]
            await CHAT.ask(running, tools=True, messages=history)
        ids = [one for one, _, _ in whole]
        assert ids_in(CHAT, json.loads(app.requests[-1].body)) == (ids, ids)


@EACH
@STREAMED
async def test_calls_that_change_something_keep_their_ids(
    tmp_path: Path, protocol: Protocol, stream: bool
) -> None:
    """A client that keeps results by id would lose the only sign that such a call was made."""
    made = [("cancel_order", "W1"), ("get_order", "W1"), ("cancel_order", "W2"), ("get_order", "W2")]
    calls = tuple(Call(name, {"id": order}) for name, order in made)
    async with serving(tmp_path, OPERATOR, lambda _: Answer(None, calls)) as (_, running):
        given = (await protocol.ask(running, stream=stream, tools=True)).calls
        true = await made_by_policy(protocol, running)
    assert [one for one, _, _ in given] == [true[0], true[1], true[2], true[1]]


async def test_an_answer_of_calls_that_change_something_is_left_alone(tmp_path: Path) -> None:
    calls = (Call("cancel_order", {"id": "W1"}), Call("get_order", {"id": "W1"}))
    async with serving(tmp_path, OPERATOR, lambda _: Answer(None, calls)) as (_, running):
        given = (await CHAT.ask(running, tools=True)).calls
        assert [one for one, _, _ in given] == await made_by_policy(CHAT, running)
        [event] = (await running.trajectory("one"))["events"]
    assert event["after"] is None and event["note"].startswith("Withheld: ")
