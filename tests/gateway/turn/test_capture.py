"""Token capture: what training needs is asked for, recorded and taken out again, and doubt makes a turn
unfit.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer, Dialogue, ProviderError
from crosswind.testing.replies import DONE, Part, ReceivedRequest, chunks, plain
from tests.gateway.engine import LOGPROBS, PROMPT, TOKENS, engine
from tests.gateway.servers import Running, answer, delta, event, gateway, upstream

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
CAPTURE_FIELDS = ("token_ids", "weight_versions", "logprob", "usage")


async def rollout(running: Running, **more: Any) -> str:
    """A session of a group, which is what training reads."""
    opened = await running.api(
        "POST", "/api/sessions", {"group_id": "g", "group_size": 2, "rollout_index": 0, **more}
    )
    assert opened.status_code == 201
    return str(opened.json()["id"])


@pytest.mark.parametrize("stream", [False, True])
async def test_a_rollouts_tokens_are_recorded_and_taken_out_of_its_answers(
    tmp_path: Path, stream: bool
) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        given = await running.chat(BODY | {"stream": stream}, session)
        asked = app.requests[0].json
        assert (asked["return_token_ids"], asked["logprobs"]) == (True, True)
        if stream:
            assert asked["stream_options"] == {"include_usage": True}
            assert not [
                name
                for name in CAPTURE_FIELDS
                if name.encode() in given.content.replace(b'"logprobs":null', b"")
            ]
            assert given.content.count(b'"content":"x"') == 3 and given.content.endswith(b"data: [DONE]\n\n")
        else:
            choice = given.json()["choices"][0]
            assert (
                set(choice) == {"index", "message", "finish_reason", "logprobs"}
                and choice["logprobs"] is None
            )
            assert "prompt_token_ids" not in given.json() and given.json()["usage"]["completion_tokens"] == 3
        (turn,) = (await running.trajectory(session))["turns"]
        assert turn["fitness"] == "fit"
        assert turn["prompt_ids"] == PROMPT
        (completion,) = turn["completions"]
        assert (completion["token_ids"], completion["logprobs"]) == (TOKENS, LOGPROBS)
        assert [(span["version"], span["start"], span["end"]) for span in completion["versions"]] == [
            ("v1", 0, 2),
            ("v2", 2, 3),
        ]
        assert (turn["policy_first"], turn["policy_last"]) == ("v1", "v2")
        assert json.loads(turn["received"]) == BODY | {"stream": stream}


@pytest.mark.parametrize("stream", [False, True])
async def test_what_the_client_asked_for_itself_stays_in_the_answer(tmp_path: Path, stream: bool) -> None:
    own: dict[str, Any] = {"logprobs": True, "return_token_ids": True}
    if stream:
        own["stream_options"] = {"include_usage": True}
    async with upstream(engine()) as app, gateway(tmp_path, app) as running:
        given = await running.chat(BODY | {"stream": stream} | own, await rollout(running))
        for name in (b"prompt_token_ids", b'"token_ids"', b'"logprob"', b'"completion_tokens"'):
            assert name in given.content


@pytest.mark.parametrize("stream", [False, True])
async def test_the_likeliest_tokens_are_recorded_where_asked_for(tmp_path: Path, stream: bool) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, capture_top=2) as running:
        session = await rollout(running)
        given = await running.chat(BODY | {"stream": stream}, session)
        assert b"token_id" not in given.content.replace(b'"logprobs":null', b"")
        (turn,) = (await running.trajectory(session))["turns"]
        (completion,) = turn["completions"]
        assert completion["top_logprobs"] == [[[0, -1.0], [1, -2.0]]] * 3
        assert (turn["entropy"]["estimate"], turn["entropy"]["tokens"]) == ("top_k", 3)
        own = await rollout(running)
        given = await running.chat(BODY | {"stream": stream, "logprobs": True, "top_logprobs": 1}, own)
        assert given.content.count(b"text 0") == 3 and b"token_id" not in given.content
        (turn,) = (await running.trajectory(own))["turns"]
        assert turn["fitness"] == "fit" and turn["completions"][0]["top_logprobs"] == []
        assert turn["entropy"]["estimate"] == "sampled"


async def test_chunks_that_came_for_their_tokens_alone_are_not_passed_on(tmp_path: Path) -> None:
    """As an engine sends them while a parser holds back text."""
    silent = event([{"index": 0, "delta": {}, "finish_reason": None, "token_ids": [10]}])
    last = event([delta("x", finish="stop", token_ids=[11])])
    async with upstream(chunks(silent, last, DONE)) as app, gateway(tmp_path, app) as running:
        given = await running.chat(BODY | {"stream": True}, await rollout(running))
        assert given.content.count(b"data: ") == 2
        session = await rollout(running)
        given = await running.chat(BODY | {"stream": True, "return_token_ids": True}, session)
        assert given.content.count(b"data: ") == 3 and b"[10]" in given.content
        assert (await running.trajectory(session))["turns"][0]["completions"][0]["token_ids"] == [10, 11]


async def test_prompts_that_extend_each_other_are_stored_once(tmp_path: Path) -> None:
    second = [*PROMPT, *TOKENS, 20, 21]
    async with upstream(engine(), engine(prompt=second)) as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        await running.chat(BODY, session)
        await running.chat(
            BODY | {"messages": [*BODY["messages"], {"role": "user", "content": "more"}]}, session
        )
        await running.trajectory(session)
        turns = running.gateway.store.turns(session)
        assert [turn.prompt_ids.depth for turn in turns if turn.prompt_ids] == [1, 2]
        assert turns[1].prompt_ids is not None and turns[0].prompt_ids is not None
        assert turns[1].prompt_ids.parent is turns[0].prompt_ids


UNFIT = {
    "ids_logprobs_mismatch": {"choice": {"token_ids": [10, 11]}},
    "usage_mismatch": {"usage": {"completion_tokens": 4}},
    "engine_no_tokens": {"prompt_token_ids": None},
    "versions_mismatch": {"choice": {"weight_versions": [{"version": "v1", "start": 0, "end": 2}]}},
    "aborted": {"choice": {"finish_reason": "abort"}},
    "finish_not_seen": {"choice": {"finish_reason": None}},
    "token_ids_malformed": {"choice": {"token_ids": [10, 11, 2**40]}},
    "prompt_ids_malformed": {"prompt_token_ids": [1, 2**40]},
}


@pytest.mark.parametrize("reason", UNFIT)
async def test_an_answer_that_contradicts_itself_is_unfit_with_the_reason(
    tmp_path: Path, reason: str
) -> None:
    async with upstream(engine(**UNFIT[reason])) as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        assert (await running.chat(BODY, session)).status_code == 200
        (turn,) = (await running.trajectory(session))["turns"]
        assert turn["fitness"] == reason


async def test_knobs_that_falsify_log_probabilities_are_neutralised_for_rollouts_only(tmp_path: Path) -> None:
    knobs = {"top_p": 0.5, "top_k": 5, "presence_penalty": 0.5, "temperature": 0.7, "frequency_penalty": 0}
    async with upstream(engine()) as app, gateway(tmp_path, app, token_ids=True) as running:
        session = await rollout(running)
        await running.chat(BODY | knobs, session)
        await running.chat(BODY | knobs, "no-rollout")
        trained, other = app.requests[0].json, app.requests[1].json
        assert (trained["temperature"], trained["frequency_penalty"]) == (0.7, 0)
        assert not {"top_p", "top_k", "presence_penalty"} & set(trained)
        assert knobs.items() <= other.items() and other["return_token_ids"] is True
        (turn,) = (await running.trajectory(session))["turns"]
        assert json.loads(turn["received"])["top_p"] == 0.5 and "top_p" not in json.loads(turn["sent"])


CLOSED = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "f", "parameters": CLOSED}}
STRICT = {"type": "function", "function": {**TOOL["function"], "strict": True}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
CONSTRAINED: list[dict[str, Any]] = [
    {"response_format": SCHEMA},
    {"response_format": {"type": "json_object"}},
    {"structured_outputs": {"choice": ["yes", "no"]}},
    {"guided_choice": ["yes", "no"]},
    {"allowed_token_ids": [1, 2]},
    {"thinking_token_budget": 3},
    {"use_beam_search": True, "n": 1},
    {"tools": [TOOL], "tool_choice": "required"},
    {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    {"tools": [TOOL, STRICT]},
    {"tools": [TOOL], "parallel_tool_calls": False},
]
FREE: list[dict[str, Any]] = [
    {"response_format": {"type": "text"}},
    {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": True},
    {"tools": [STRICT], "tool_choice": "none", "parallel_tool_calls": False},
    {"parallel_tool_calls": False},
    {"tools": None, "structured_outputs": None, "ignore_eos": True, "stop": ["x"], "seed": 3},
    {"top_p": 0.5, "min_tokens": 5, "bad_words": ["x"]},  # neutralised
]


@pytest.mark.parametrize("more", [*CONSTRAINED, *FREE], ids=lambda more: json.dumps(more)[:60])
async def test_tokens_that_a_grammar_or_a_mask_forced_are_unfit(tmp_path: Path, more: dict[str, Any]) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        assert (await running.chat(BODY | more, session)).status_code == 200
        (turn,) = (await running.trajectory(session))["turns"]
        assert turn["fitness"] == ("constrained_sampling" if more in CONSTRAINED else "fit")


async def test_knobs_that_are_left_where_nothing_is_trained_make_a_turn_unfit(tmp_path: Path) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, capture="on") as running:
        for number, knob in enumerate(({"top_p": 0.5}, {"min_tokens": 5}, {"top_p": 1, "min_p": 0})):
            await running.chat(BODY | knob, f"plain-{number}")
            (turn,) = (await running.trajectory(f"plain-{number}"))["turns"]
            assert turn["fitness"] == ("fit" if "min_p" in knob else "constrained_sampling")


@pytest.mark.parametrize(
    ("given", "grouped", "captured"),
    [
        ({"capture": "off"}, True, False),
        ({"capture": "auto"}, False, False),
        ({"capture": "auto", "token_ids": True}, False, True),
        ({"capture": "on"}, False, True),
    ],
)
async def test_when_tokens_are_captured(
    tmp_path: Path, given: dict[str, Any], grouped: bool, captured: bool
) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, **given) as running:
        session = await rollout(running) if grouped else "plain"
        await running.chat(BODY, session)
        assert ("return_token_ids" in app.requests[0].json) is captured
        (turn,) = (await running.trajectory(session))["turns"]
        assert turn["fitness"] == ("fit" if captured else "no_token_ids")


async def test_an_engine_without_token_ids_says_so(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        await running.chat(BODY, session)
        assert (await running.trajectory(session))["turns"][0]["fitness"] == "engine_no_tokens"


UNKNOWN = {"error": {"message": "Unknown parameter: 'return_token_ids'.", "type": "invalid_request_error"}}


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_provider_that_refuses_to_be_asked_for_token_ids_is_asked_without(
    tmp_path: Path, streamed: bool
) -> None:
    """As hosted ones do: rollouts work with them, and nothing trains. It is asked once, not in each turn."""
    stream = chunks(event([delta("hel")]), event([delta("lo", finish="stop")]), DONE)

    async def hosted(seen: ReceivedRequest) -> AsyncIterator[Part]:
        wrong = "return_token_ids" in seen.json
        reply = plain(UNKNOWN, 400) if wrong else stream if streamed else plain(answer())
        async for part in reply(seen):
            yield part

    own = BODY | {"stream": streamed, "top_p": 0.5}
    async with upstream(hosted) as app, gateway(tmp_path, app) as running:
        session = await rollout(running)
        for _ in range(2):
            given = await running.chat(own, session)
            assert given.status_code == 200 and b"hel" in given.content
        assert ["return_token_ids" in seen.json for seen in app.requests] == [True, False, False]
        # As the client sent it, with the knobs that training would have taken out.
        assert all(seen.json == own for seen in app.requests[1:])
        turns = (await running.trajectory(session))["turns"]
        assert [turn["fitness"] for turn in turns] == ["engine_no_tokens"] * 2
        assert "return_token_ids" not in turns[0]["sent"] and turns[0]["upstream_status"] == 200


async def test_what_an_engine_refuses_for_the_clients_sake_is_told_as_it_tells_it(tmp_path: Path) -> None:
    """And what comes next is captured as ever. An engine that is said to give token ids isn't asked twice."""
    wrong = ProviderError(400, "max_tokens must be at least 1", kind="BadRequestError")

    def picky(dialogue: Dialogue) -> Answer:
        return Answer(error=wrong) if dialogue.body.get("max_tokens") == 0 else engine()

    async with upstream(picky) as app:
        async with gateway(tmp_path, app) as running:
            session = await rollout(running)
            refused = await running.chat(BODY | {"max_tokens": 0}, session)
            assert (refused.status_code, refused.json()) == (400, wrong.openai_body())
            await running.chat(BODY, session)
            turns = (await running.trajectory(session))["turns"]
            assert turns[-1]["fitness"] == "fit" and len(app.requests) == 3
        async with gateway(tmp_path, app, token_ids=True) as running:
            assert (await running.chat(BODY | {"max_tokens": 0}, "s")).status_code == 400
            assert len(app.requests) == 4
