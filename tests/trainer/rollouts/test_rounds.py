"""Rounds that were answered inside the gateway train with their turn, as the steps before its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import (
    Completion,
    InnerRound,
    Reward,
    SessionClosed,
    Turn,
    VersionSpan,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.testing.replies import JSON, Part, ReceivedRequest, plain
from crosswind.trainer.rollouts.groups import Admission, read_group
from crosswind.trainer.rollouts.sequences import build_sequences
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile, tool
from tests.gateway.servers import answer, gateway, upstream
from tests.trainer.practice import CLOCK, FIRST, session, turn

ADMISSION = Admission({FIRST: 0, "second": 1}, staleness=0, temperature=1.0)
ATTEMPT = UpstreamAttempt("http://a/v1", "status_503", 9)
TOKENS = st.lists(st.integers(0, 99), min_size=1, max_size=5)


def sampled(*token_ids: int, version: str | None = None) -> Completion:
    spans = () if version is None else (VersionSpan(version, 0, len(token_ids)),)
    return Completion(0, token_ids, tuple(-0.1 * token for token in token_ids), "stop", spans)


def inner(prompt: list[int], done: Completion, **more: Any) -> InnerRound:
    """A round as the gateway records it."""
    made = [list(done.token_ids)], [list(done.logprobs)], [list(done.versions)]
    return replace(InnerRound("{}", (), Fitness.FIT, {}, prompt, *made), **more)


@given(TOKENS, st.lists(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=3), min_size=1, max_size=3))
def test_rounds_and_turns_become_one_sequence_in_which_all_that_was_sampled_trains(
    question: list[int], conversation: list[list[tuple[list[int], list[int]]]]
) -> None:
    prompt, turns, places = question, [], []
    for index, rounds in enumerate(conversation):
        entries: list[InnerRound | UpstreamAttempt] = [ATTEMPT]
        for made, result in rounds:
            at, done = prompt, sampled(*made)
            entries.append(inner(at, done))
            places += range(len(prompt), len(prompt) + len(made))
            prompt = [*prompt, *made, *result]
        # The last round is the turn's own.
        entries.pop()
        turns.append(replace(turn("s", index, at, done), inner=tuple(entries)))
    built = build_sequences(turns, FIRST)
    (one,) = built.sequences
    assert built.splits == 0
    assert one.token_ids == prompt[: len(prompt) - len(conversation[-1][-1][1])]
    assert one.sampled == places
    assert one.logprobs == [-0.1 * one.token_ids[place] for place in places]


def test_a_round_that_the_next_prompt_does_not_extend_is_a_sequence_of_its_own_and_counted() -> None:
    made = replace(turn("s", 0, [1, 9], sampled(4)), inner=(inner([1, 2], sampled(3)),))
    built = build_sequences([made], FIRST)
    assert [one.token_ids for one in built.sequences] == [[1, 2, 3], [1, 9, 4]]
    assert built.splits == 1


def test_each_round_is_as_current_as_the_version_that_sampled_it() -> None:
    before, own = sampled(3, version="first"), sampled(5, 6, version="second")
    made = replace(turn("s", 0, [1, 2, 3, 4], own), inner=(inner([1, 2], before),))
    assert build_sequences([made], "second").sequences[0].current == [False, True, True]


@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ([ATTEMPT], None),
        ([ATTEMPT, inner([1], sampled(2))], None),
        ([inner([1], sampled(2), fitness=Fitness.USAGE_MISMATCH)], "usage_mismatch"),
        ([inner([1], sampled(2), token_ids=[[2], [3]])], "not_one_completion"),
        ([inner([1], sampled(2, version="unknown"))], "unknown_version"),
        ([inner([1], sampled(2, version=FIRST))], "stale"),
    ],
)
def test_a_rollout_trains_only_where_its_rounds_can(
    store: SqliteStore, entries: list[InnerRound | UpstreamAttempt], refused: str | None
) -> None:
    opened = session("g", 0, 1)
    own = turn(opened.id, 0, [1, 2, 3], sampled(4), policy_first="second", policy_last="second")
    store.write([opened, replace(own, inner=tuple(entries))])
    store.write([Reward(opened.id, next(CLOCK), 1.0), SessionClosed(opened.id, next(CLOCK))])
    (rollout,) = read_group("g", store.group("g"), ADMISSION).rollouts
    assert rollout.refused == refused


def reply(prompt: list[int], tokens: list[int], version: str, *, phantom: bool) -> Any:
    """A policy's answer with its tokens: a call of the phantom tool, or a text."""

    async def said(seen: ReceivedRequest) -> AsyncIterator[Part]:
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(tokens), "total_tokens": 0}
        body = answer("Two orders.", usage=usage, prompt_token_ids=prompt)
        (choice,) = body["choices"]
        if phantom:
            assert TOOL in [one["function"]["name"] for one in seen.json["tools"]]
            function = {"name": TOOL, "arguments": json.dumps({"customer": "ACME"})}
            choice["message"]["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
            choice["finish_reason"] = "tool_calls"
        choice["token_ids"] = tokens
        choice["logprobs"] = {"content": [{"token": "t", "logprob": -0.5, "bytes": None} for _ in tokens]}
        choice["weight_versions"] = [{"version": version, "start": 0, "end": len(tokens)}]
        yield 200, [JSON]
        yield json.dumps(body).encode()

    return said


async def test_what_the_gateway_records_of_a_round_trains(tmp_path: Path) -> None:
    file = tmp_path / "closed.yaml"
    file.write_text(profile(ABBREVIATED))
    busy = plain({"error": {"message": "busy"}}, 503, (b"retry-after", b"0"))
    replies = reply([1, 2], [3], "first", phantom=True), reply([1, 2, 3, 4], [5], "second", phantom=False)
    async with (
        upstream(busy, *replies) as app,
        gateway(tmp_path, app, profile=str(file), retries={"on_status": [503]}) as running,
    ):
        asked = {"group_id": "g", "group_size": 1, "rollout_index": 0}
        name = (await running.api("POST", "/api/sessions", asked)).json()["id"]
        messages = [{"role": "user", "content": "What did ACME order?"}]
        given = await running.chat({"model": "tiny", "messages": messages, "tools": [tool()]}, name)
        assert given.json()["choices"][0]["message"]["content"].endswith("Two orders.")
        await running.flush()
        (made,) = running.gateway.store.turns(name)
    assert isinstance(made, Turn) and made.fitness == "fit"
    assert [type(entry) for entry in made.inner] == [UpstreamAttempt, InnerRound]
    (one,) = build_sequences([made], "second").sequences
    assert (one.token_ids, one.sampled) == ([1, 2, 3, 4, 5], [2, 4])
    assert (one.logprobs, one.current) == ([-0.5, -0.5], [False, True])
