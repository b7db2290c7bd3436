"""Chat Completions: the answer, plain and as a stream."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.clients.upstream import chat_input
from tests.clients.upstream.dialogue import Answer, Asked, Dialogue, Given, Said, fragments, words
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import Refused
from tests.clients.upstream.wire import DONE, Reply, plain, stream, unnamed

CREATED = 1_760_000_000
_HEAD = {"created": CREATED, "service_tier": "default", "system_fingerprint": "fp_scripted"}


def create(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    body = read_body(seen.body)
    dialogue = chat_input.read(body)
    answer = provider.answer(dialogue)
    calls = made_calls(provider, answer, "call_")
    head = {"id": provider.new_id("chatcmpl-"), "model": body["model"], **_HEAD, **answer.more}
    count = body.get("n") or 1
    usage = _usage(dialogue, answer, count)
    if body.get("stream"):
        return stream(_streamed(provider, body, head, answer, calls, usage))
    choices = [
        {
            "index": index,
            "message": _message(answer, calls),
            "logprobs": _logprobs(body, words(answer.text or "")),
            "finish_reason": _finish(calls),
        }
        for index in range(count)
    ]
    return plain({"object": "chat.completion", **head, "choices": choices, "usage": usage})


def read_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise Refused(400, "We could not parse the JSON body of your request.") from None


def made_calls(provider: Provider, answer: Answer, prefix: str) -> list[dict[str, Any]]:
    """The answer's calls in the shape of Chat Completions; the provider will know them again."""
    made = []
    for number, call in enumerate(answer.calls):
        call_id = provider.new_id(prefix, number)
        provider.produced.call(call_id, call.name, call.arguments)
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        made.append({"id": call_id, "type": "function", "function": function})
    return made


def tokens_in(dialogue: Dialogue) -> int:
    """The tokens of a prompt: its words."""
    texts = (
        item.arguments if isinstance(item, Asked) else item.text
        for item in dialogue.items
        if isinstance(item, Asked | Said | Given)
    )
    tools = sum(len(words(tool.description)) + 8 for tool in dialogue.tools)
    return sum(len(words(text)) + 3 for text in texts) + tools


def tokens_out(answer: Answer) -> int:
    """The tokens of an answer: its words, and the fragments of its calls."""
    calls = sum(len(fragments(json.dumps(call.arguments))) + 3 for call in answer.calls)
    return len(words(answer.text or "")) + len(words(answer.refusal or "")) + calls + 1


def _usage(dialogue: Dialogue, answer: Answer, count: int) -> dict[str, Any]:
    prompt, completion = tokens_in(dialogue), tokens_out(answer) * count
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _message(answer: Answer, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal, "annotations": []}
    return message | ({"tool_calls": calls} if calls else {})


def _finish(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


def _logprobs(body: Any, tokens: list[str]) -> dict[str, Any] | None:
    if not body.get("logprobs"):
        return None
    top = body.get("top_logprobs") or 0
    content = []
    for token in tokens:
        one = {"token": token, "logprob": -0.25, "bytes": list(token.encode())}
        content.append({**one, "top_logprobs": [one] * top})
    return {"content": content, "refusal": None}


def _streamed(
    provider: Provider,
    body: Any,
    head: dict[str, Any],
    answer: Answer,
    calls: list[dict[str, Any]],
    usage: dict[str, Any],
) -> Iterator[bytes]:
    options = body.get("stream_options") or {}
    counted = {"usage": None} if options.get("include_usage") else {}

    def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
        return unnamed({"object": "chat.completion.chunk", **head, "choices": choices, **counted, **more})

    choices = range(body.get("n") or 1)
    deltas = [_deltas(body, answer, calls, provider.interleaved) for _ in choices]
    for number, step in enumerate(zip(*deltas, strict=True)):
        if answer.error is not None and number == answer.pieces:
            yield unnamed(answer.error.openai())
            return
        for index, choice in zip(choices, step, strict=True):
            yield event([{"index": index, **choice}])
    if counted:
        yield event([], usage=usage)
    yield DONE


def _deltas(
    body: Any, answer: Answer, calls: list[dict[str, Any]], interleaved: bool
) -> Iterator[dict[str, Any]]:
    """What a stream says of one choice, piece by piece."""

    def piece(
        delta: dict[str, Any], finish: str | None = None, tokens: list[str] | None = None
    ) -> dict[str, Any]:
        logprobs = _logprobs(body, tokens) if tokens else None
        return {"delta": delta, "logprobs": logprobs, "finish_reason": finish}

    opening = {"role": "assistant", "content": "" if answer.text or not calls else None, "refusal": None}
    yield piece(opening)
    for word in words(answer.text or ""):
        yield piece({"content": word}, tokens=[word])
    for word in words(answer.refusal or ""):
        yield piece({"refusal": word})
    pieces = [list(_call_deltas(index, call)) for index, call in enumerate(calls)]
    ordered = (
        (one for step in itertools.zip_longest(*pieces) for one in step if one is not None)
        if interleaved
        else itertools.chain(*pieces)
    )
    for one in ordered:
        yield piece({"tool_calls": [one]})
    yield piece({}, _finish(calls))


def _call_deltas(index: int, call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    function = call["function"]
    yield {"index": index, **call, "function": {"name": function["name"], "arguments": ""}}
    for fragment in fragments(function["arguments"]):
        yield {"index": index, "function": {"arguments": fragment}}
