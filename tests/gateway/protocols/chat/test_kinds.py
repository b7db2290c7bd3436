"""Chat Completions: calls that are no function's, what comes in pieces, and further rounds that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import DONE, chunks, plain
from tests.gateway.closed_world import ABBREVIATED, DUPLICATE, MISMATCH, TOOL, profile, tool
from tests.gateway.servers import answer, delta, event, gateway, upstream

CUSTOM = {"type": "custom", "custom": {"name": "run_code", "format": {"type": "text"}}}
QUESTION = {"role": "user", "content": "What did ACME order?"}
ASKED = {"model": "tiny", "messages": [QUESTION], "tools": [tool()]}


def custom(given: str) -> dict[str, Any]:
    return {"id": "c0", "type": "custom", "custom": {"name": "run_code", "input": given}}


def inner(call_id: str = "p1") -> dict[str, Any]:
    """A call of the distractor, which has the full name."""
    return {"id": call_id, "type": "function", "function": {"name": TOOL, "arguments": "{}"}}


def said(**more: Any) -> bytes:
    return event([{"index": 0, "delta": more, "finish_reason": None}])


def called(*calls: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return answer(choices=[{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}])


def noise(tmp: Path, operator: str = ABBREVIATED) -> dict[str, Any]:
    path = tmp / "closed.yaml"
    path.write_text(profile(operator))
    return {"profile": str(path)}


@pytest.mark.parametrize("operator", [ABBREVIATED, DUPLICATE, MISMATCH])
async def test_a_custom_tools_call_goes_to_the_client_as_it_came(tmp_path: Path, operator: str) -> None:
    asked = {**ASKED, "tools": [CUSTOM, tool()]}
    first = {**custom(""), "index": 0}
    events = [
        said(role="assistant", content=None, tool_calls=[first]),
        said(tool_calls=[{"index": 0, "custom": {"input": "print"}}]),
        said(tool_calls=[{"index": 0, "custom": {"input": "(1)"}}]),
        event([delta(finish="tool_calls")]),
        DONE,
    ]
    whole = called(custom("print(1)"))
    async with (
        upstream(plain(whole), chunks(*events)) as app,
        gateway(tmp_path, app, **noise(tmp_path, operator)) as running,
    ):
        assert (await running.chat(asked, "one")).json() == whole
        streamed = await running.chat({**asked, "stream": True}, "two")
        assert streamed.content == b"".join(events)
        (turn,) = (await running.trajectory("two"))["turns"]
        assert json.loads(turn["produced"])["choices"] == [{
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": [custom("print(1)")]},
            "finish_reason": "tool_calls",
        }]  # fmt: skip


async def test_a_custom_tools_call_beside_a_withheld_one_keeps_its_input(tmp_path: Path) -> None:
    events = [
        said(role="assistant", content=None, tool_calls=[{**inner(), "index": 0}]),
        said(tool_calls=[{**custom("pr"), "index": 1}]),
        said(tool_calls=[{"index": 1, "custom": {"input": "int(1)"}}]),
        event([delta(finish="tool_calls")]),
        DONE,
    ]
    asked = {**ASKED, "tools": [CUSTOM, tool()]}
    whole = called(inner(), custom("print(1)"))
    async with (
        upstream(plain(whole), chunks(*events)) as app,
        gateway(tmp_path, app, **noise(tmp_path)) as running,
    ):
        told = (await running.chat(asked, "one")).json()["choices"][0]["message"]["tool_calls"]
        assert told == [custom("print(1)")]
        streamed = await running.chat({**asked, "stream": True}, "two")
        given = ""
        for line in streamed.text.splitlines():
            if line.startswith("data: {"):
                (choice,) = json.loads(line.removeprefix("data: "))["choices"]
                for call in choice["delta"].get("tool_calls", ()):
                    assert call["index"] == 0 and "function" not in call
                    given += call["custom"]["input"]
        assert given == "print(1)"


@pytest.mark.parametrize("operator", ["model.malformed_arguments", "model.unknown_tool"])
async def test_faults_of_functions_calls_leave_a_custom_tools_alone(tmp_path: Path, operator: str) -> None:
    whole = called(custom("print(1)"))
    first = {**custom("print(1)"), "index": 0}
    events = [said(role="assistant", tool_calls=[first]), event([delta(finish="tool_calls")]), DONE]
    asked = {**ASKED, "tools": [CUSTOM, tool()]}
    async with (
        upstream(plain(whole), chunks(*events)) as app,
        gateway(tmp_path, app, **noise(tmp_path, operator)) as running,
    ):
        assert (await running.chat(asked, "one")).json() == whole
        assert (await running.chat({**asked, "stream": True}, "two")).content == b"".join(events)


async def test_what_a_plain_call_says_of_its_place_stays(tmp_path: Path) -> None:
    whole = called({**inner(), "index": 0}, {**custom("x"), "index": 1})
    async with upstream(plain(whole)) as app, gateway(tmp_path, app, **noise(tmp_path)) as running:
        told = (await running.chat(ASKED, "one")).json()["choices"][0]["message"]["tool_calls"]
        assert told == [{**custom("x"), "index": 0}]


async def test_the_record_has_what_came_in_pieces(tmp_path: Path) -> None:
    events = [
        said(role="assistant", content=None, function_call={"name": "f", "arguments": ""}),
        said(function_call={"arguments": '{"a"'}),
        said(function_call={"arguments": ":1}"}),
        said(audio={"id": "audio_1", "transcript": "He"}),
        said(audio={"id": "audio_1", "transcript": "llo", "data": "AA"}),
        said(audio={"data": "BB", "expires_at": 5}),
        said(refusal="No"),
        said(refusal=" way"),
        said(annotations=[{"type": "url_citation"}]),
        said(annotations=[{"type": "file_citation"}]),
        event([delta(finish="function_call")]),
        DONE,
    ]
    async with upstream(chunks(*events)) as app, gateway(tmp_path, app) as running:
        told = await running.chat({**ASKED, "stream": True}, "one")
        assert told.content == b"".join(events)
        (turn,) = (await running.trajectory("one"))["turns"]
    assert json.loads(turn["produced"])["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": '{"a":1}'},
        "audio": {"id": "audio_1", "transcript": "Hello", "data": "AABB", "expires_at": 5},
        "refusal": "No way",
        "annotations": [{"type": "url_citation"}, {"type": "file_citation"}],
    }


ROUND = [
    said(role="assistant", content="Let me see. "),
    said(tool_calls=[{**inner(), "index": 0}]),
    event([delta(finish="tool_calls")]),
    DONE,
]
ERROR = {"error": {"message": "The server had an error.", "type": "server_error", "code": None}}


async def test_an_error_within_a_further_rounds_stream_reaches_the_client(tmp_path: Path) -> None:
    failing = b"data: " + json.dumps(ERROR).encode() + b"\n\n"
    filtered = event([], prompt_filter_results=[{"prompt_index": 0}])
    later = chunks(filtered, said(role="assistant", content="It"), failing)
    async with (
        upstream(chunks(*ROUND), later) as app,
        gateway(tmp_path, app, **noise(tmp_path)) as running,
    ):
        told = await running.chat({**ASKED, "stream": True}, "one")
        assert len(app.requests) == 2 and told.content.endswith(failing)
        assert b"prompt_filter_results" in told.content, "what is unknown is relayed"
        (turn,) = (await running.trajectory("one"))["turns"]
        assert turn["fitness"] == "upstream_error"


async def test_a_further_round_that_is_refused_tells_nothing_of_noise(tmp_path: Path) -> None:
    refused = plain(ERROR, 500)
    async with (
        upstream(plain(called(inner())), refused) as app,
        gateway(tmp_path, app, **noise(tmp_path)) as running,
    ):
        told = await running.chat(ASKED, "one")
        assert (told.status_code, told.json()) == (500, ERROR)
        app.steps[:] = [chunks(*ROUND), refused]
        last = await _until_cut(f"{running.data}/s/two/v1/chat/completions", {**ASKED, "stream": True})
        error = json.loads(last.removeprefix(b"data: "))["error"]
        assert error["message"] == "the upstream answered with status 500"


async def _until_cut(url: str, body: Any) -> bytes:
    """The last event of a stream that is cut."""
    came = b""
    async with httpx.AsyncClient(trust_env=False) as client, client.stream("POST", url, json=body) as told:
        with pytest.raises(httpx.RemoteProtocolError):
            async for chunk in told.aiter_raw():
                came += chunk
    return came.strip().split(b"\n\n")[-1]
