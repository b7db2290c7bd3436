"""Completions, Embeddings, Models, and stored responses."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterator
from re import Match
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crosswind.testing.checks import COMPLETIONS, EMBEDDINGS, read_body
from crosswind.testing.dialogue import Dialogue, MessageItem, words
from crosswind.testing.errors import ProviderError, refuse
from crosswind.testing.replies import CREATED, DONE, ReceivedRequest, RouteResponse, data_event
from crosswind.testing.state import ProviderState

DIMENSIONS = 8
MODELS = ("small", "large")


async def create_completion(
    provider: ProviderState, request: ReceivedRequest, _: Match[str]
) -> RouteResponse:
    body = read_body(request)
    provider.check_members(body, COMPLETIONS, "Unrecognized request argument supplied: {}")
    refuse(not isinstance(body.get("model"), str), "you must provide a model parameter")
    prompt = body.get("prompt", "<|endoftext|>")
    prompts = [prompt] if isinstance(prompt, str) else prompt
    refuse(not isinstance(prompts, list) or not prompts, "Invalid type for 'prompt'.", "prompt")
    refuse(
        not all(isinstance(one, str) for one in prompts), "'prompt' is to be a string or strings.", "prompt"
    )
    dialogues = [Dialogue((MessageItem("user", one),), body=body) for one in prompts]
    texts = [(await provider.answer(one)).content or "" for one in dialogues]
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
        return RouteResponse(events=_stream_events(body, head, repeated, usage))
    choices = [_choice(index, text, "stop") for index, text in enumerate(repeated)]
    return RouteResponse({**head, "choices": choices, "usage": usage})


def _choice(index: int, text: str, finish: str | None) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": finish}


def _stream_events(
    body: Any, head: dict[str, Any], texts: list[str], usage: dict[str, Any]
) -> Iterator[bytes]:
    counted = {"usage": None} if (body.get("stream_options") or {}).get("include_usage") else {}
    for index, text in enumerate(texts):
        for word in words(text):
            yield data_event({**head, "choices": [_choice(index, word, None)], **counted})
        yield data_event({**head, "choices": [_choice(index, "", "stop")], **counted})
    if counted:
        yield data_event({**head, "choices": [], "usage": usage})
    yield DONE


async def create_embeddings(
    provider: ProviderState, request: ReceivedRequest, _: Match[str]
) -> RouteResponse:
    body = read_body(request)
    provider.check_members(body, EMBEDDINGS, "Unrecognized request argument supplied: {}")
    refuse(not isinstance(body.get("model"), str), "you must provide a model parameter")
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    refuse(not isinstance(texts, list) or not texts or "" in texts, "'$.input' is invalid.")
    in_base64 = body.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        vector = make_embedding(
            text if isinstance(text, str) else repr(text), body.get("dimensions") or DIMENSIONS
        )
        shown: Any = vector
        if in_base64:
            shown = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": shown})
    count = sum(len(words(text)) if isinstance(text, str) else len(text) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    return RouteResponse({"object": "list", "data": data, "model": body["model"], "usage": usage})


def make_embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A text's vector: other texts have others. Each number is exact in 32 bits."""
    digest = hashlib.shake_128(text.encode()).digest(dimensions)
    return [(byte - 128) / 128 for byte in digest]


async def list_models(_: ProviderState, request: ReceivedRequest, __: Match[str]) -> RouteResponse:
    data = [_model(request, name) for name in MODELS]
    if "anthropic-version" in request.headers:
        page = {"has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
        return RouteResponse({"data": data, **page})
    return RouteResponse({"object": "list", "data": data})


async def show_model(_: ProviderState, request: ReceivedRequest, path: Match[str]) -> RouteResponse:
    if path[1] not in MODELS:
        raise ProviderError(404, f"The model '{path[1]}' does not exist", "model", "model_not_found")
    return RouteResponse(_model(request, path[1]))


def _model(request: ReceivedRequest, name: str) -> dict[str, Any]:
    if "anthropic-version" in request.headers:
        return {
            "type": "model",
            "id": name,
            "display_name": name.title(),
            "created_at": "2025-10-09T08:53:20Z",
            "lifecycle": "active",
        }
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "crosswind"}


async def retrieve_response(provider: ProviderState, _: Any, path: Match[str]) -> RouteResponse:
    return RouteResponse(provider.stored.response(path[1]).response)


async def delete_response(provider: ProviderState, _: Any, path: Match[str]) -> RouteResponse:
    provider.stored.response(path[1])
    del provider.stored.responses[path[1]]
    return RouteResponse({"id": path[1], "object": "response", "deleted": True})


async def list_input_items(
    provider: ProviderState, request: ReceivedRequest, path: Match[str]
) -> RouteResponse:
    """The items that a response was an answer to: the newest first unless asked otherwise."""
    query = parse_qs(urlsplit(request.path).query)
    items = list(provider.stored.response(path[1]).context)
    if query.get("order", ["desc"])[0] == "desc":
        items.reverse()
    after = query.get("after", [None])[0]
    if after is not None:
        items = items[1 + [item["id"] for item in items].index(after) :]
    limit = int(query.get("limit", ["20"])[0])
    page = items[:limit]
    ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
    return RouteResponse({"object": "list", "data": page, **ends, "has_more": len(items) > limit})
