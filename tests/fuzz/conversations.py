"""Conversations as the routes have them, in order, before anything happens to them."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway import dialogue
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import answer, delta, event

_FUNCTION = {"name": "get_order", "arguments": '{"order_id":"W17"}'}
_CALL = {"id": "c9", "type": "function", "function": _FUNCTION}
_TOOL_CHOICE = {"type": "function", "function": {"name": "get_order"}}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "object"}}}

REQUESTS: dict[str, dict[str, Any]] = {
    "/chat/completions": dialogue.body(
        {"role": "system", "content": "Be brief."},
        *dialogue.history(5),
        {"role": "user", "content": [{"type": "text", "text": "And W19, please?"}, {"type": "image_url"}]},
        tool_choice=_TOOL_CHOICE,
        response_format=_FORMAT,
        n=1,
        stream_options={"include_usage": True},
        logprobs=False,
    ),
    "/responses": responses.body(
        [*responses.history(5), {"type": "item_reference", "id": "fc_1"}],
        tool_choice={"type": "function", "name": "get_order"},
        previous_response_id="resp_0",
        conversation=None,
        background=False,
    ),
    "/messages": messages.body(
        *messages.history(5),
        system=[{"type": "text", "text": "Be brief."}],
        tool_choice={"type": "tool", "name": "get_order"},
        thinking={"type": "enabled", "budget_tokens": 1024},
    ),
    "/completions": {
        "model": "m",
        "prompt": ["Where is order W17?", "And W18?"],
        "n": 1,
        "echo": False,
        "logprobs": 1,
    },
    "/embeddings": {"model": "m", "input": ["Where is order W17?", "And W18?"], "encoding_format": "float"},
}
"""A request by its route."""

FIRST: dict[str, dict[str, Any]] = {
    "/chat/completions": dialogue.body(*dialogue.history(2)),
    "/responses": responses.body(responses.history(2)),
    "/messages": messages.body(*messages.history(2)),
    "/completions": {"model": "m", "prompt": "Where is order W17?"},
    "/embeddings": {"model": "m", "input": "Where is order W17?"},
}
"""How a conversation begins."""

_TEXT = {
    "id": "cmpl-1",
    "object": "text_completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "text": "It is shipped.",
            "finish_reason": "stop",
            "logprobs": {"token_logprobs": [-0.5]},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
_CAPTURED = {"token_ids": [1, 2], "weight_versions": [{"version": "1", "start": 0, "end": 2}]}
ANSWERS: dict[str, dict[str, Any]] = {
    "/chat/completions": answer(
        choices=[
            {
                "index": 0,
                "message": {"role": "assistant", "content": "I look it up.", "tool_calls": [_CALL]},
                "finish_reason": "tool_calls",
                "logprobs": {"content": [{"token": "I", "logprob": -0.5}, {"token": "x", "logprob": -1}]},
                **_CAPTURED,
            }
        ],
        prompt_token_ids=[5, 6],
    ),
    "/responses": responses.RESPONSE,
    "/messages": messages.MESSAGE,
    "/completions": _TEXT | {"choices": [_TEXT["choices"][0] | _CAPTURED]},
    "/embeddings": {
        "object": "list",
        "data": [{"index": 0, "embedding": [0.5, 1]}],
        "usage": {"prompt_tokens": 3},
    },
}
"""A plain answer by its route."""


def _data(raw: bytes) -> dict[str, Any]:
    return dict(json.loads(raw.removeprefix(b"data: ")))


EVENTS: dict[str, list[dict[str, Any]]] = {
    "/chat/completions": [
        _data(event([delta("", role="assistant")])),
        _data(event([delta("I look")], prompt_token_ids=[5, 6])),
        _data(event([delta(" it up.", token_ids=[1], logprobs={"content": [{"logprob": -0.5}]})])),
        _data(event([{"index": 0, "delta": {"tool_calls": [{"index": 0, **_CALL}]}, "finish_reason": None}])),
        _data(
            event(
                [
                    {
                        "index": 0,
                        "delta": {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]},
                        "finish_reason": None,
                    }
                ]
            )
        ),
        _data(event([delta(finish="tool_calls", token_ids=[2])])),
        _data(event([], usage={"prompt_tokens": 3, "completion_tokens": 2})),
    ],
    "/responses": responses.EVENTS,
    "/messages": messages.EVENTS,
    "/completions": [
        _TEXT | {"choices": [{"index": 0, "text": "It is", "finish_reason": None}]},
        _TEXT,
    ],
}
"""A streamed answer's events by its route, where answers are streamed."""
