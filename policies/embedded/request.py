"""A chat completion request, read and checked. Unknown fields are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_LIKELY = 20
"""The most of the likeliest tokens that a request may ask for, as elsewhere."""


class RequestError(Exception):
    """The request can't be served as it is. Becomes an OpenAI error object."""

    def __init__(
        self, message: str, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.param = param
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The fields of a request's body that the engine uses."""

    messages: list[Mapping[str, Any]]
    tools: list[Mapping[str, Any]]
    model: str
    temperature: float
    seed: int | None
    max_tokens: int | None
    stop: tuple[str, ...]
    n: int
    stream: bool
    include_usage: bool
    logprobs: bool
    top_logprobs: int
    """How many of the likeliest tokens to tell at each place."""
    token_names: bool
    """Whether log-probabilities name tokens by their ids, instead of their texts."""
    token_ids: bool
    calls: bool
    """Whether tool calls are looked for in what is sampled."""


def read_request(body: Any) -> ChatRequest:
    """Check a decoded body. Raises RequestError naming the field, its value and what it may be."""
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    choice = body.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise RequestError(f"tool_choice is {choice!r}: this engine knows 'auto' and 'none'", "tool_choice")
    top = int(_number(body, "top_logprobs", int, low=0, high=MOST_LIKELY, default=0))
    if top and not body.get("logprobs"):
        raise RequestError(f"top_logprobs is {top}: it needs logprobs to be true", "top_logprobs")
    limit = _number(body, "max_completion_tokens", int, low=1) or _number(body, "max_tokens", int, low=1)
    return ChatRequest(
        messages=_messages(body.get("messages")),
        tools=_tools(body.get("tools")) if choice != "none" else [],
        model=str(body.get("model") or "policy"),
        temperature=float(_number(body, "temperature", float, low=0.0, high=100.0, default=1.0)),
        seed=_number(body, "seed", int),
        max_tokens=limit,
        stop=_stop(body.get("stop")),
        n=int(_number(body, "n", int, low=1, high=128, default=1)),
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        logprobs=bool(body.get("logprobs")),
        top_logprobs=top,
        token_names=bool(body.get("return_tokens_as_token_ids")),
        token_ids=bool(body.get("return_token_ids")),
        calls=choice != "none",
    )


def _number(
    body: Mapping[str, Any],
    name: str,
    kind: type,
    *,
    low: float | None = None,
    high: float | None = None,
    default: Any = None,
) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else int):
        raise RequestError(f"{name} is {value!r}: it must be a number", name)
    if (low is not None and value < low) or (high is not None and value > high):
        raise RequestError(
            f"{name} is {value}: it must be between {low} and {high or 'the context length'}", name
        )
    return value


def _messages(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value:
        raise RequestError("messages must be a list of at least one message", "messages")
    for index, message in enumerate(value):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError(f"messages[{index}] must be an object with a 'role'", f"messages[{index}]")
    return value


def _tools(value: Any) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RequestError("tools must be a list", "tools")
    for index, tool in enumerate(value):
        if not isinstance(tool, dict) or not isinstance((tool.get("function") or {}).get("name"), str):
            raise RequestError(f"tools[{index}] must be a function with a name", f"tools[{index}]")
    return value


def _stop(value: Any) -> tuple[str, ...]:
    stops = (value,) if isinstance(value, str) else tuple(value or ())
    if not all(isinstance(stop, str) and stop for stop in stops):
        raise RequestError("stop must be a string or a list of strings that aren't empty", "stop")
    return stops
