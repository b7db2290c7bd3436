"""A conversation in a file is read as a gateway reads the body that it was, in each protocol's shape: the
noise that a preview shows is the noise that a session met.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import asdict

from crosswind.gateway.cli import root
from crosswind.gateway.protocols.codec import Codec, SessionReader, codec_named
from crosswind.gateway.trajectory.store import open_store
from crosswind.injectors.cli.documents import conversation, find_instructions, read_document
from crosswind.injectors.conversation import ToolResult
from crosswind.testing.replies import plain
from tests.gateway import dialogue
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.protocols.test_documents import same
from tests.gateway.servers import Running, answer, gateway, upstream

WORDS = st.sampled_from(["Where is W17?", " Ja, bitte. ", "", '{"status": "shipped"}', "你好,谢谢!"])
REMINDED = WORDS | st.builds("{}\n<system-reminder>be kind</system-reminder>\n{}".format, WORDS, WORDS)
CALL_IDS = st.sampled_from(["a", "b", ""])
SAID = st.tuples(st.just("said"), WORDS)
CALLED = st.tuples(st.just("called"), CALL_IDS, st.integers(0, 2))
ANSWERED = st.tuples(st.just("answered"), CALL_IDS, st.lists(WORDS, max_size=2) | WORDS)
TOLD = st.tuples(st.just("told"), st.lists(REMINDED, max_size=2) | REMINDED)


def of_chat(acts: list[Any]) -> dict[str, Any]:
    out: list[Any] = []
    for kind, *rest in acts:
        if kind == "told":
            out.append({"role": "user", "content": _texts(rest[0], "text")})
        elif kind == "said":
            out.append({"role": "assistant", "content": rest[0]})
        elif kind == "called":
            function = {"name": "get_order", "arguments": json.dumps({"n": rest[1]})}
            out.append({"role": "assistant", "tool_calls": [{"id": rest[0], "function": function}]})
        else:
            out.append({"role": "tool", "tool_call_id": rest[0], "content": _texts(rest[1], "text")})
    return {"messages": [{"role": "system", "content": "be kind"}, *out]}


def of_messages(acts: list[Any]) -> dict[str, Any]:
    """Results of tools are blocks of one user's message with what the user says next."""
    out: list[Any] = []
    for kind, *rest in acts:
        if kind == "said":
            out.append({"role": "assistant", "content": [{"type": "text", "text": rest[0]}]})
        elif kind == "called":
            call = {"type": "tool_use", "id": rest[0], "name": "get_order", "input": {"n": rest[1]}}
            out.append({"role": "assistant", "content": [call]})
        elif kind == "told":
            texts = _texts(rest[0], "text")
            before = out[-1]["content"] if out and out[-1]["role"] == "user" else ""
            results = bool(before) and all(isinstance(one, dict) and "tool_use_id" in one for one in before)
            if results and isinstance(texts, list):
                out[-1]["content"] += texts
            else:
                out.append({"role": "user", "content": texts})
        else:
            block = {"type": "tool_result", "tool_use_id": rest[0], "content": _texts(rest[1], "text")}
            if rest[0] == "b":
                block["is_error"] = True
            out.append({"role": "user", "content": [block]})
    return {"system": [{"type": "text", "text": "be kind"}], "messages": out}


def of_responses(acts: list[Any]) -> dict[str, Any]:
    out: list[Any] = []
    for kind, *rest in acts:
        if kind == "told":
            out.append({"role": "user", "content": _texts(rest[0], "input_text")})
        elif kind == "said":
            content = [{"type": "output_text", "text": rest[0]}]
            out += [
                {"type": "reasoning", "id": "r"},
                {"type": "message", "role": "assistant", "content": content},
            ]
        elif kind == "called":
            arguments = json.dumps({"n": rest[1]})
            out.append(
                {"type": "function_call", "call_id": rest[0], "name": "get_order", "arguments": arguments}
            )
        else:
            output = _texts(rest[1], "input_text")
            out.append({"type": "function_call_output", "call_id": rest[0], "output": output})
    return {"instructions": "be kind", "input": out}


def _texts(said: str | list[str], kind: str) -> Any:
    return said if isinstance(said, str) else [{"type": kind, "text": one} for one in said]


SHAPES: dict[str, Callable[[list[Any]], dict[str, Any]]] = {
    "chat": of_chat,
    "messages": of_messages,
    "responses": of_responses,
}


def _view(items: Any) -> list[dict[str, Any]]:
    """Items without where they stand."""
    return [
        {"text": one.text, "anchor": one.anchor, "ordinal": one.ordinal}
        | ({"call": one.call, "logical": one.logical_call} if isinstance(one, ToolResult) else {})
        for one in items
    ]


@pytest.mark.parametrize("name", SHAPES)
@given(acts=st.lists(TOLD | SAID | CALLED | ANSWERED, max_size=7))
@example(
    acts=[("called", "a", 1), ("answered", "a", ["x", "y"]), ("answered", "a", "z"), ("told", ["hi", "hi"])]
)
def test_a_file_is_read_as_a_body_is(name: str, acts: list[Any]) -> None:
    document = SHAPES[name](acts)
    codec = codec_named(name)
    assert codec is not None
    split = codec.split(json.dumps(document).encode())
    assert split is not None
    told, tools = read_document(document)
    assert find_instructions(told) is not None
    assert _view(conversation(told, tools).items) == _view(_read(codec, split).items)


def _read(codec: Codec, split: Any) -> Any:
    return codec.read(split, SessionReader(codec), same).conversation


@pytest.mark.parametrize("module,name", [(messages, "messages"), (responses, "responses")])
def test_declared_tools_are_read_as_a_body_s_are(module: Any, name: str) -> None:
    document = module.body(*module.history(2)) if name == "messages" else module.body(module.history(2))
    codec = codec_named(name)
    assert codec is not None
    split = codec.split(json.dumps(document).encode())
    told, tools = read_document(document)
    assert conversation(told, tools).tools == _read(codec, split).tools
    assert [tool.name for tool in conversation(told, tools).tools] == ["get_order"]


PROFILE = "name: many\nbounds: {faults_per_call: 2, faults_per_session: 100}\nrules:\n" + "".join(
    f"  - {{operator: {name}, severity: {severity}}}\n"
    for name, severity in {
        "user.typos": 0.6,
        "user.redundant": 0.9,
        "user.inconsistent": 0.5,
        "schema.paraphrase_tool": 0.9,
        "schema.reorder": 0.5,
        "schema.redundant_tool": 0.5,
        "tool.timeout": 0.3,
        "tool.misleading": 0.9,
        "state.irrelevant": 0.2,
        "model.overloaded": 0.5,
        "model.length_cut": 0.4,
        "transport.latency": 0.005,
        "transport.status": 0.3,
    }.items()
)
TEXT = {"type": "text", "text": "All is well, it is on its way to you."}
MESSAGE = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [TEXT]},
    **{"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}},
}


async def _chat(running: Running, turn: int, **headers: str) -> Any:
    return await running.chat(dialogue.body(*dialogue.history(turn)), "preview", **headers)


async def _messages(running: Running, turn: int, **headers: str) -> Any:
    return await messages.post(running, messages.body(*messages.history(turn)), "preview", **headers)


async def _responses(running: Running, turn: int, **headers: str) -> Any:
    body = responses.body(responses.history(turn), store=False)
    return await responses.post(running, body, "preview", **headers)


@pytest.mark.parametrize(
    "post,reply,last",
    [
        (_chat, answer("All is well."), lambda: dialogue.body(*dialogue.history(5), {"role": "assistant"})),
        (_messages, MESSAGE, lambda: messages.body(*messages.history(5), messages.policy())),
        (
            _responses,
            responses.response(1, responses.said("All is well, it is on its way to you.")),
            lambda: responses.body([*responses.history(5), responses.said("All is well.")]),
        ),
    ],
    ids=["chat", "messages", "responses"],
)
async def test_a_preview_shows_what_a_session_meets_in_each_protocol(
    tmp_path: Path, post: Callable[..., Awaitable[Any]], reply: Any, last: Callable[[], Any]
) -> None:
    profile, talk = tmp_path / "many.yaml", tmp_path / "talk.json"
    profile.write_text(PROFILE)
    async with upstream(plain(reply)) as app, gateway(tmp_path, app, profile=str(profile), seed=5) as running:
        for turn in range(1, 6):
            for attempt in range(9):
                given_back = await post(running, turn, **{"x-stainless-retry-count": str(attempt)})
                if given_back.status_code == 200:
                    break
            assert given_back.status_code == 200
        await running.flush()
    with closing(open_store(f"sqlite:///{tmp_path}/store.db", create=False)) as store:
        events = [asdict(event) for event in store.events("preview")]
    talk.write_text(json.dumps(last()))
    command = ["noise", "preview", "--json", "--profile", str(profile), "--seed", "5", str(talk)]
    shown = CliRunner().invoke(root, command)
    assert shown.exit_code == 0, shown.output
    previewed = {one["decision"]["slot"]: one for one in map(json.loads, shown.stdout.splitlines())}
    recorded = {one["slot"]: one for one in events if one["attempt"] == 0}
    sites = {one["site"] for one in recorded.values() if one["after"] is not None}
    assert sites == {"user_text", "tool_schema", "tool_result", "transport", "model_response"}
    assert set(previewed) == set(recorded)
    for slot, one in previewed.items():
        event, decision = recorded[slot], one["decision"]
        for told in ("operator", "anchor", "logical_call", "severity", "draw", "recovery"):
            assert decision[told] == event[told], (slot, told)
        after = event["after"]
        if decision["site"] in ("transport", "model_response") and after is not None:
            after = json.dumps(json.loads(after))
        assert one["after"] == after, slot
