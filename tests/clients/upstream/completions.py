"""Completions: a prompt's continuation, plain and as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.clients.upstream import members
from tests.clients.upstream.chat import CREATED, read_body
from tests.clients.upstream.dialogue import Dialogue, Said, words
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import known_members, refuse
from tests.clients.upstream.wire import DONE, Reply, plain, stream, unnamed


def create(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    body = read_body(seen.body)
    known_members(body, members.COMPLETIONS, "Unrecognized request argument supplied: {}")
    refuse(not isinstance(body.get("model"), str), "you must provide a model parameter")
    prompt = body.get("prompt", "<|endoftext|>")
    prompts = [prompt] if isinstance(prompt, str) else prompt
    refuse(not isinstance(prompts, list) or not prompts, "Invalid type for 'prompt'.", "prompt")
    refuse(
        not all(isinstance(one, str) for one in prompts), "'prompt' is to be a string or strings.", "prompt"
    )
    texts = [provider.answer(Dialogue((Said("user", one),))).text or "" for one in prompts]
    repeated = [text for text in texts for _ in range(body.get("n") or 1)]
    head = {
        "id": provider.new_id("cmpl-"),
        "object": "text_completion",
        "created": CREATED,
        "model": body["model"],
        "system_fingerprint": "fp_scripted",
    }
    counts = sum(len(words(one)) for one in prompts), sum(len(words(one)) for one in repeated)
    usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}
    if body.get("stream"):
        return stream(_streamed(body, head, repeated, usage))
    choices = [_choice(index, text, "stop") for index, text in enumerate(repeated)]
    return plain({**head, "choices": choices, "usage": usage})


def _choice(index: int, text: str, finish: str | None) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": finish}


def _streamed(body: Any, head: dict[str, Any], texts: list[str], usage: dict[str, Any]) -> Iterator[bytes]:
    counted = {"usage": None} if (body.get("stream_options") or {}).get("include_usage") else {}
    for index, text in enumerate(texts):
        for word in words(text):
            yield unnamed({**head, "choices": [_choice(index, word, None)], **counted})
        yield unnamed({**head, "choices": [_choice(index, "", "stop")], **counted})
    if counted:
        yield unnamed({**head, "choices": [], "usage": usage})
    yield DONE
