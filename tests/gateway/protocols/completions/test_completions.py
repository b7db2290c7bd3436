"""Completions: prompts are a user's texts, answers keep their bytes, tokens are captured as sampled."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.protocols.codec import SessionReader
from crosswind.gateway.protocols.completions.codec import CODEC
from crosswind.gateway.protocols.json_values import decode
from crosswind.testing import Answer, Dialogue, ScriptedProvider
from crosswind.testing.replies import DONE, JSON, SSE, Part, ReceivedRequest, Reply, chunks, plain
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.test_documents import TEXTS, VALUES, raw, same, written
from tests.gateway.proxy.test_byte_exact import HEADERS, seen_alike
from tests.gateway.servers import Running, gateway, upstream

PROMPT = "Please tell me where order W17 is, it was to come on Monday."
OTHER = "And where is order W18, the one with the lamp?"
HEAD = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny"}
PROMPT_IDS = [11, 12, 13]


async def post(running: Running, body: Any, session: str = "s") -> httpx.Response:
    return await running.http.post(f"{running.data}/s/{session}/v1/completions", json=body)


def engine(**changed: Any) -> Reply:
    """An engine that tells its tokens as vLLM does: two a choice, if asked to."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        body = seen.json
        told = body.get("return_token_ids") is True
        scored = body.get("logprobs") is not None
        several = isinstance(body["prompt"], list) and isinstance(body["prompt"][0], str)
        count = (body.get("n") or 1) * (len(body["prompt"]) if several else 1)
        usage = {"prompt_tokens": 3, "completion_tokens": 2 * count, "total_tokens": 3 + 2 * count}
        usage |= changed.get("usage", {})

        def choice(index: int, ids: list[int], text: str, finish: str | None) -> dict[str, Any]:
            prompt_ids = [*PROMPT_IDS, index] if several else PROMPT_IDS
            logprobs = {"tokens": ["x"] * len(ids), "token_logprobs": [-0.5] * len(ids)}
            return {
                "index": index,
                "text": text,
                "logprobs": logprobs if scored else None,
                "finish_reason": finish,
                "prompt_token_ids": prompt_ids if told and not (finish and text == "") else None,
                "token_ids": ids if told else None,
            } | changed.get("choice", {})

        if not body.get("stream"):
            yield 200, [JSON]
            choices = [choice(index, [7, 8], "one two", "stop") for index in range(count)]
            yield json.dumps(HEAD | {"choices": choices, "usage": usage}).encode()
            return
        yield 200, [SSE]
        for finish, text, ids in ((None, "one", [7]), (None, " two", [8]), ("stop", "", [])):
            for index in range(count):
                yield chunk(choice(index, ids, text, finish))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield b"data: " + json.dumps(HEAD | {"choices": [], "usage": usage}).encode() + b"\n\n"
        yield DONE

    return reply


def chunk(*choices: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(HEAD | {"choices": choices}).encode() + b"\n\n"


async def test_prompts_get_a_users_noise_and_nothing_else_changes(tmp_path: Path) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await post(running, {"model": "tiny", "prompt": PROMPT, "suffix": "S"})
        await post(running, {"model": "tiny", "prompt": [PROMPT, OTHER], "max_tokens": 3})
        await post(running, {"model": "tiny", "prompt": [1, 2, 3]})
        await post(running, {"model": "tiny", "prompt": [[1, 2], [3]]})
        await post(running, {"model": "tiny", "prompt": PROMPT, "suffix": "S"})
        one, two, *ids, again = (seen.json for seen in app.requests)
        assert one["prompt"] != PROMPT and one == {"model": "tiny", "prompt": one["prompt"], "suffix": "S"}
        assert two["prompt"][0] == one["prompt"] and two["prompt"][1] != OTHER
        assert [one["prompt"] for one in ids] == [[1, 2, 3], [[1, 2], [3]]]
        assert again == one, "the same prompt is shown with the same noise"


@pytest.mark.parametrize("stream", [False, True])
async def test_tokens_are_captured_and_what_was_not_asked_for_is_taken_out(
    tmp_path: Path, stream: bool
) -> None:
    body = {"model": "tiny", "prompt": PROMPT, "stream": stream}
    async with (
        upstream(engine()) as app,
        gateway(tmp_path, app) as running,
    ):
        session = (await running.api("POST", "/api/sessions", {"group_id": "g"})).json()["id"]
        answer = await post(running, body | {"top_p": 0.9}, session)
        sent = app.requests[0].json
        assert (sent["return_token_ids"], sent["logprobs"]) == (True, 1) and "top_p" not in sent
        for word in (b"token_ids", b"token_logprobs", b"usage" if stream else b"-0.5"):
            assert word not in answer.content
        (turn,) = (await running.trajectory(session))["turns"]
        assert (turn["fitness"], turn["finish_reason"]) == ("fit", "stop")
        assert turn["prompt_ids"] == PROMPT_IDS
        assert turn["completions"][0]["token_ids"] == [7, 8]
        assert turn["completions"][0]["logprobs"] == [-0.5, -0.5]
        assert json.loads(turn["produced"])["choices"][0]["text"] == "one two"


@pytest.mark.parametrize("stream", [False, True])
async def test_what_the_client_asked_for_stays(tmp_path: Path, stream: bool) -> None:
    asked = {"logprobs": 0, "return_token_ids": True, "stream_options": {"include_usage": True}}
    body = {"model": "tiny", "prompt": PROMPT, "stream": stream} | asked
    async with upstream(engine()) as app, gateway(tmp_path, app, capture="on") as running:
        answer = await post(running, body)
        assert app.requests[0].json == body
        direct = await running.http.post(f"{app.url}/v1/completions", json=body)
        assert [decode(line[6:]) for line in lines(answer)] == [decode(line[6:]) for line in lines(direct)]


def lines(answer: httpx.Response) -> list[bytes]:
    if not answer.content.startswith(b"data: "):
        return [b"data: " + answer.content]
    found = [line for line in answer.content.split(b"\n") if line.startswith(b"data: {")]
    assert answer.content.endswith(DONE) and found
    return found


UNFIT: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "several prompts": ({"prompt": ["a", "b"]}, {}, "several_prompts"),
    "echo": ({"echo": True}, {}, "no_token_ids"),
    "no ids": ({}, {"choice": {"token_ids": None}}, "engine_no_tokens"),
    "no prompt ids": ({}, {"choice": {"prompt_token_ids": None}}, "engine_no_tokens"),
    "no logprobs": ({}, {"choice": {"logprobs": None}}, "ids_logprobs_mismatch"),
    "other usage": ({}, {"usage": {"completion_tokens": 9}}, "usage_mismatch"),
    "best_of": ({"best_of": 3}, {"usage": {"completion_tokens": 6}}, "usage_mismatch"),
    "no finish": ({}, {"choice": {"finish_reason": None}}, "finish_not_seen"),
    "aborted": ({}, {"choice": {"finish_reason": "abort"}}, "aborted"),
    "several choices": ({"n": 2}, {}, "fit"),
}


@pytest.mark.parametrize("case", UNFIT)
async def test_fitness(tmp_path: Path, case: str) -> None:
    asked, changed, fitness = UNFIT[case]
    async with upstream(engine(**changed)) as app, gateway(tmp_path, app, capture="on") as running:
        body = {"model": "tiny", "prompt": PROMPT, **asked}
        assert (await post(running, body)).status_code == 200
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["fitness"] == fitness
        if case == "echo":
            assert app.requests[0].json == body, "token ids would cost the client its echo"


FIRST, LAST = (
    {"index": 0, "text": "a", "logprobs": None, "finish_reason": None},
    {"index": 0, "text": "", "logprobs": None, "finish_reason": "stop"},
)
ANSWERS = {
    "plain": plain(HEAD | {"choices": [LAST]}),
    "error": plain({"error": {"message": "no", "type": "x", "code": None, "param": None}}, 429),
    "stream": chunks(chunk(FIRST), chunk(LAST), DONE),
    "crlf": chunks(*(part.replace(b"\n", b"\r\n") for part in (chunk(FIRST), chunk(LAST), DONE))),
    "no done": chunks(b": hi\n\n", chunk(FIRST), chunk(LAST)),
}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_every_byte_is_kept(tmp_path: Path, kind: str) -> None:
    async with upstream(ANSWERS[kind]) as app, gateway(tmp_path, app) as running:
        for request in (
            b'{ "prompt" : ["a",  "b\\u00e9"], "x":[1.0]}',
            b'{"prompt":"a","prompt":"b"}',
            b"[]",
        ):
            got = [
                await running.http.post(f"{url}/v1/completions", content=request, headers=HEADERS)
                for url in (app.url, running.data)
            ]
            assert got[0].content == got[1].content and got[0].headers == got[1].headers
            seen_alike(app)


PROMPTS = st.one_of(TEXTS, st.lists(TEXTS, max_size=4), st.lists(st.integers(), max_size=3), VALUES)


@given(st.data(), PROMPTS)
def test_prompts_are_read_and_written_back(data: Any, prompt: Any) -> None:
    body = raw(data.draw(written({"model": "m", "prompt": prompt})))
    split = CODEC.split(body)
    assert split is not None
    request = CODEC.read(split, SessionReader(CODEC), same)
    items = request.conversation.items
    texts = [prompt] if isinstance(prompt, str) else prompt if isinstance(prompt, list) else []
    if all(isinstance(one, str) for one in texts):
        assert [item.text for item in items] == texts
    else:
        assert not items
    assert request.write({}, {}, same)[0] == body == request.stored_view(same).bytes()
    shown = {item.ref: f"{number}!" for number, item in enumerate(items)}
    changed = decode(request.write(shown, {}, same)[0])
    expected: Any = list(shown.values()) if isinstance(prompt, list) and items else prompt
    assert changed == {"model": "m", "prompt": "0!" if isinstance(prompt, str) else expected}


async def test_the_real_sdk(tmp_path: Path) -> None:
    def policy(dialogue: Dialogue) -> Answer:
        return Answer("shipped on Monday")

    async with ScriptedProvider(policy) as app, gateway(tmp_path, app.url, upstream_key="sk-up") as running:
        session = (await running.api("POST", "/api/sessions", {})).json()
        async with openai.AsyncOpenAI(base_url=session["base_url"], api_key=session["api_key"]) as client:
            given = await client.completions.create(model="tiny", prompt=[PROMPT, "b"], n=2)
            assert [choice.text for choice in given.choices] == ["shipped on Monday"] * 4
            stream = await client.completions.create(model="tiny", prompt=PROMPT, stream=True)
            assert "".join([part.choices[0].text async for part in stream]) == "shipped on Monday"
        protocols = [turn["protocol"] for turn in (await running.trajectory(session["id"]))["turns"]]
        assert protocols == ["completions", "completions"] and not app.refusals
