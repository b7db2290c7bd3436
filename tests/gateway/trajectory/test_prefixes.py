"""The prefix property as the record tells it: where a prompt doesn't extend what came before, and why."""

from __future__ import annotations

import json
from array import array
from typing import Any

import pytest
from msgspec.structs import replace

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.prefixes import CAUSES, check_by_model, check_turns
from crosswind.gateway.trajectory.record import Completion, InnerRound, Turn
from tests.gateway.trajectory import rows

USER = {"role": "user", "content": "Where is #W1?"}
CALL = {"id": "c", "type": "function", "function": {"name": "get", "arguments": '{"a": 1, "b": 2}'}}
SAID: dict[str, Any] = {"role": "assistant", "content": "Sent."}
CALLED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
THOUGHT = SAID | {"reasoning_content": "hm"}
MORE = {"role": "user", "content": "Thanks."}


def turn(index: int, messages: list[Any], said: Any, ids: list[int], sampled: list[int], **more: Any) -> Turn:
    sent = View.plain(json.dumps({"messages": messages, **more.pop("body", {})}).encode())
    produced = View.plain(json.dumps({"choices": [{"message": said}]}).encode())
    fields: dict[str, Any] = {
        "fitness": Fitness.FIT,
        "model": "tiny",
        "branch": "",
        "parent": index - 1 if index else None,
        "sent": sent,
        "produced": produced,
        "prompt_ids": Chain(None, array("i", ids).tobytes()),
        "completions": (Completion(0, tuple(sampled), tuple([-1.0] * len(sampled)), "stop"),),
        "inner": (),
    }
    return rows.turn("s", index, **(fields | more))


def second(said: Any, sent: Any, ids: list[int], **more: Any) -> list[Turn]:
    """Two turns: on prompt 1 2 3, 4 5 were sampled as `said`; then `sent` comes back in prompt `ids`."""
    return [
        turn(0, [USER], said, [1, 2, 3], [4, 5]),
        turn(1, [USER, sent, MORE], SAID, ids, [9], **more),
    ]


EXTENDS = [1, 2, 3, 4, 5, 6, 7]
IN_COMPLETION = [1, 2, 3, 4, 8, 6, 7]
IN_PROMPT = [1, 8, 3, 4, 5, 6, 7]


def test_a_prompt_that_extends_is_no_break() -> None:
    ((_, broken),) = check_turns(second(SAID, SAID, EXTENDS))
    assert broken is None
    found = check_by_model([second(SAID, SAID, EXTENDS), second(SAID, SAID, IN_COMPLETION)])["tiny"]
    assert (found.pairs, found.held) == (2, 1)


SPELT = CALLED | {"tool_calls": [CALL | {"function": {"name": "get", "arguments": '{"a":1,"b":2}'}}]}
OTHER = CALLED | {"tool_calls": [CALL | {"function": {"name": "put", "arguments": '{"a":1,"b":2}'}}]}


@pytest.mark.parametrize(
    ("said", "sent", "ids", "inside", "cause"),
    [
        (SAID, SAID, IN_COMPLETION, "completion", "retokenised"),
        (CALLED, CALLED, IN_COMPLETION, "completion", "parser_normalised"),
        (CALLED, SPELT, IN_COMPLETION, "completion", "calls_rewritten"),
        (CALLED, OTHER, IN_COMPLETION, "completion", "answer_changed"),
        (SAID, SAID | {"content": "sent."}, IN_COMPLETION, "completion", "answer_changed"),
        (THOUGHT, SAID, IN_COMPLETION, "completion", "thinking_dropped"),
        (THOUGHT, THOUGHT, IN_COMPLETION, "completion", "template_strips_thinking"),
        (SAID, SAID, IN_PROMPT, "prompt", "template_rewrites_history"),
        (SAID, SAID, [1, 2, 3, 4], "completion", "retokenised"),
        (SAID, MORE, IN_COMPLETION, "completion", "history_changed"),
    ],
)
def test_who_broke_it(said: Any, sent: Any, ids: list[int], inside: str, cause: str) -> None:
    ((_, broken),) = check_turns(second(said, sent, ids))
    assert broken is not None
    assert (broken.turn, broken.parent, broken.inside, broken.cause) == (1, 0, inside, cause)
    assert broken.at == (1 if inside == "prompt" else 4) and cause in CAUSES


def test_other_tools_another_history_and_no_bodies_are_told_apart() -> None:
    ((_, tools),) = check_turns(second(SAID, SAID, IN_PROMPT, body={"tools": [{"type": "function"}]}))
    edited = [turn(0, [USER], SAID, [1, 2, 3], [4, 5]), turn(1, [MORE, SAID, MORE], SAID, IN_PROMPT, [9])]
    ((_, history),) = check_turns(edited)
    ((_, unknown),) = check_turns([replace(one, sent=None) for one in second(SAID, SAID, IN_PROMPT)])
    causes = [broken.cause for broken in (tools, history, unknown) if broken]
    assert causes == ["tools_changed", "history_changed", "unknown"]


def test_a_branch_is_held_against_the_turn_that_it_left_and_unfit_turns_against_nothing() -> None:
    first = turn(0, [USER], SAID, [1, 2, 3], [4, 5])
    branch = turn(1, [USER, SAID, MORE], SAID, EXTENDS, [9], branch="b", parent=0)
    unfit = turn(2, [USER, SAID, MORE], SAID, IN_PROMPT, [9], fitness=Fitness.ABORTED, parent=0)
    after = turn(3, [USER], SAID, IN_PROMPT, [9], parent=2)
    assert [(found.index, broken) for found, broken in check_turns([first, branch, unfit, after])] == [
        (1, None)
    ]


def test_the_first_prompt_of_a_turn_is_that_of_its_first_round_inside() -> None:
    inner = InnerRound("", (), Fitness.FIT, {}, EXTENDS, [[8]], [[-1.0]])
    whole = second(SAID, SAID, [*EXTENDS, 8, 1], inner=(inner,))
    assert [broken for _, broken in check_turns(whole)] == [None]
    wrong = second(SAID, SAID, [*EXTENDS, 8, 1], inner=(replace(inner, prompt_ids=IN_PROMPT),))
    assert [broken is None for _, broken in check_turns(wrong)] == [False]
