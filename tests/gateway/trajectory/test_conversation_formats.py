"""`crosswind export --format openai | sharegpt`: conversations of either view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

from crosswind.gateway.trajectory.commands.export import export
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Arm, Reward
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows

SYSTEM = {"role": "system", "content": "Help."}
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order": 17}'}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
EXAMPLE = {"role": "assistant", "content": "I look things up."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": text}


def body(*messages: Mapping[str, Any]) -> View:
    return View.plain(json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode())


def answer(message: Mapping[str, Any]) -> View:
    whole = {"role": "assistant", "refusal": None, "annotations": []} | message
    return View.plain(json.dumps({"choices": [{"index": 0, "message": whole}]}).encode())


@pytest.fixture
def noisy(store: SqliteStore, path: Path) -> Path:
    """Two turns under noise of the user's text and of the tool's result, behind an example of the agent's."""
    clean = [SYSTEM, user("Hi"), EXAMPLE, user("Where is order 17?")]
    shown = [SYSTEM, user("Hi"), EXAMPLE, user("Whre is oder 17?")]
    said = {"role": "assistant", "content": "It is shipped."}
    store.write(
        [
            rows.session("s", arm=Arm.NOISY, plan={"noise_type": "user.typos", "level": 2}, group_id="g"),
            rows.turn("s", 0, received=body(*clean), sent=body(*shown), produced=answer(CALLS)),
            rows.turn(
                "s",
                1,
                parent=0,
                received=body(*clean, CALLS, result("shipped")),
                sent=body(*shown, CALLS, result("timed out")),
                produced=answer(said),
                delivered_view=answer(said | {"content": "It is shipped!"}),
            ),
            Reward("s", 9, 1.0),
        ]
    )
    return path


def run_export(path: Path, *arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(export, [str(path), *arguments])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("view", "asked", "came", "said"),
    [
        ("clean", "Where is order 17?", "shipped", "It is shipped!"),
        ("perturbed", "Whre is oder 17?", "timed out", "It is shipped."),
    ],
)
def test_a_fine_tuning_line_of_one_view(noisy: Path, view: str, asked: str, came: str, said: str) -> None:
    [line] = run_export(noisy, "--format", "openai", "--view", view)
    assert line["tools"] == TOOLS and line.keys() == {"messages", "tools"}
    assert line["messages"] == [
        SYSTEM,
        user("Hi"),
        EXAMPLE | {"weight": 0},
        user(asked),
        CALLS | {"weight": 1},
        result(came),
        {"role": "assistant", "content": said, "weight": 1},
    ]


def test_openai_s_own_types_read_every_message(noisy: Path) -> None:
    [line] = run_export(noisy, "--format", "openai")
    for message in line["messages"]:
        TypeAdapter(ChatCompletionMessageParam).validate_python(message)
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(line["tools"])


def test_sharegpt_takes_turns_in_both_views(noisy: Path) -> None:
    clean, perturbed = run_export(noisy, "--format", "sharegpt", "--view", "both")
    assert [turn["from"] for turn in clean["conversations"]] == [
        *("human", "gpt", "human", "function_call", "observation", "gpt")
    ]
    values = [turn["value"] for turn in perturbed["conversations"]]
    assert values[2:] == [
        "Whre is oder 17?",
        '{"name": "find", "arguments": {"order": 17}}',
        "timed out",
        "It is shipped.",
    ]
    assert clean["system"] == "Help." and json.loads(clean["tools"]) == [TOOLS[0]["function"]]
    assert [clean["view"], perturbed["view"]] == ["clean", "perturbed"]
    told = {name: clean[name] for name in ("session_id", "arm", "noise_type", "level", "reward", "group_id")}
    assert [*told.values()] == ["s", "noisy", "user.typos", 2, 1.0, "g"]


def test_parallel_results_are_one_observation(store: SqliteStore, path: Path) -> None:
    both = CALLS | {"tool_calls": [CALL, CALL | {"id": "c2"}]}
    asked = (user("Hi"), both, result("one"), result("two") | {"tool_call_id": "c2"})
    store.write([rows.session("s"), rows.turn("s", received=body(*asked), produced=answer(EXAMPLE))])
    [line] = run_export(path, "--format", "sharegpt", "--view", "clean")
    assert [turn["from"] for turn in line["conversations"]] == [
        "human",
        "function_call",
        "observation",
        "gpt",
    ]
    assert line["conversations"][2]["value"] == "one\ntwo"
    assert len(json.loads(line["conversations"][1]["value"])) == 2


def test_a_changed_history_is_another_conversation(store: SqliteStore, path: Path) -> None:
    store.write(
        [
            rows.session("s"),
            rows.turn("s", 0, received=body(user("a")), produced=answer(EXAMPLE)),
            rows.turn("s", 1, received=body(user("a"), EXAMPLE, user("b")), produced=answer(EXAMPLE)),
            rows.turn("s", 2, received=body(user("summary"), user("c")), produced=answer(EXAMPLE)),
        ]
    )
    lines = run_export(path, "--format", "openai", "--view", "clean")
    weights = [[message.get("weight") for message in line["messages"]] for line in lines]
    assert weights == [[None, 1, None, 1], [None, None, 1]]


def test_a_failed_attempt_is_not_a_conversation(store: SqliteStore, path: Path) -> None:
    """What noise destroyed was asked again; a last question without an answer is cut off."""
    asked = body(user("a"))
    store.write(
        [
            rows.session("s"),
            rows.turn("s", 0, received=asked),
            rows.turn("s", 0, attempt=1, received=asked, produced=answer(EXAMPLE)),
            rows.turn("s", 1, received=body(user("a"), EXAMPLE, user("b"))),
        ]
    )
    [line] = run_export(path, "--format", "openai")
    assert line["messages"] == [user("a"), EXAMPLE | {"weight": 1}]


def test_what_cannot_be_read_is_counted(store: SqliteStore, path: Path) -> None:
    store.write([rows.session("s"), rows.turn("s", protocol="responses", received=View.plain(b"{}"))])
    done = CliRunner().invoke(export, [str(path), "--format", "openai"])
    assert (
        done.stdout == "" and done.stderr == "left out: 1 sessions without an answer that is stored as chat\n"
    )


def test_openai_refuses_two_views_in_one_file(noisy: Path) -> None:
    done = CliRunner().invoke(export, [str(noisy), "--format", "openai", "--view", "both"])
    assert done.exit_code == 1 and "give --view clean or --view perturbed" in done.stderr
