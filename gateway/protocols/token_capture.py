"""Token capture: ask the engine which tokens it samples, and tell whether they can be trained on.

The trainer computes log-probabilities under the policy's whole distribution. Sampling knobs that make the
engine give others are neutralised for training. What else cuts or bends the distribution is left, and makes
the turn unfit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosswind.gateway.protocols.document import JsonPath, replace_values
from crosswind.gateway.protocols.frame import Frame
from crosswind.gateway.protocols.json_values import as_list, as_mapping, decode_or_none, encode
from crosswind.gateway.protocols.request import Request

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1, None),
    "top_k": (-1, 0, None),
    "min_p": (0, None),
    "frequency_penalty": (0, None),
    "presence_penalty": (0, None),
    "repetition_penalty": (1, None),
    "logit_bias": ({}, None),
    "min_tokens": (0, None),
    "bad_words": ([], None),
}
"""Sampling knobs under which an engine's log-probabilities are not those of the policy's own distribution (it
gives what is left of it, measured on vLLM, or what it was before), with the values that change nothing.
"""
_UNCONSTRAINED: Mapping[str, tuple[Any, ...]] = {
    **NEUTRAL,
    "allowed_token_ids": (None,),
    "thinking_token_budget": (None,),
    "use_beam_search": (False, None),
    "best_of": (1, None),
    "watermarking": (False, None),
    "vllm_xargs": ({}, None),
    "logits_processors": ([], None),
    "structured_outputs": ({}, None),
    "response_format": ({"type": "text"}, None),
    "guided_json": (None,),
    "guided_regex": (None,),
    "guided_choice": (None,),
    "guided_grammar": (None,),
}
"""All members that constrain sampling, with the values that change nothing."""

BY_ID: Mapping[str, bytes] = {"return_tokens_as_token_ids": b"true"}
"""Asks for the likely tokens by their ids (`token_id:17`): their texts are ambiguous. Only where the client
gets none of them.
"""
MOST_DIGITS = 18
"""No token's id has more."""


_SAMPLED = frozenset({"logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs"})
"""Members of answers that spell texts token by token."""
_HOLDERS = frozenset({"choices", "output", "content"})
_DEEPEST = 6


def without_tokens(body: bytes) -> bytes:
    """An answer's body without the tokens that its client had asked for: they spell its texts once more."""
    if b"logprobs" not in body and b"token_ids" not in body:
        return body
    found = dict(_find_tokens(decode_or_none(body), ()))
    return replace_values(body, found) if found else body


def _find_tokens(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, Any]]:
    """Where tokens are, and what to put in their place."""
    for name, member in as_mapping(value).items():
        if name in _SAMPLED and member:
            yield (*path, name), [] if isinstance(member, list) else None
        elif name in _HOLDERS and len(path) < _DEEPEST:
            for at, one in enumerate(as_list(member)):
                yield from _find_tokens(one, (*path, name, at))


def parse_token_id(name: str) -> int | None:
    """The id in a token's name as `BY_ID` asks for it; None if the name is the token's text."""
    number = name.removeprefix("token_id:")
    plain = number is not name and number.isascii() and number.isdecimal()
    return int(number) if plain and len(number) <= MOST_DIGITS else None


def read_requested_fields(frame: Frame, *, logprobs: bool) -> frozenset[str]:
    """The fields of token capture that the client itself asks for. `logprobs`: whether it asks for those."""
    asked = {
        "logprobs": logprobs,
        "token_ids": frame.value("return_token_ids") is True,
        "usage": as_mapping(frame.value("stream_options")).get("include_usage") is True,
    }
    return frozenset(name for name, wanted in asked.items() if wanted)


def capture_edits(
    request: Request, asking: Mapping[str, bytes], *, training: bool
) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
    """The members that capture adds or changes (`asking`, and a stream's usage), and the sampling knobs that
    it neutralises (training only).
    """
    edits: dict[str, bytes | None] = dict(asking)
    frame = request.frame
    if request.stream and "usage" not in request.requested:
        options = as_mapping(frame.value("stream_options"))
        edits["stream_options"] = encode({**options, "include_usage": True})
    if not training:
        return edits, ()
    neutralised = tuple(
        name for name, values in NEUTRAL.items() if name in frame.members and frame.value(name) not in values
    )
    return edits | dict.fromkeys(neutralised), neutralised


def find_constraints(frame: Frame, edits: Mapping[str, bytes | None]) -> Iterator[str]:
    """The members of a body, as sent with these edits, that constrain what is sampled."""

    def value(name: str) -> Any:
        return decode_or_none(edits[name]) if name in edits else frame.value(name)

    names = frame.members.keys() | edits.keys()
    for name in _UNCONSTRAINED.keys() & names:
        if value(name) not in _UNCONSTRAINED[name]:
            yield name
    if "tools" not in names:
        return
    # Engines sample calls by a grammar where they are demanded, limited to one, or held to a schema.
    choice = value("tool_choice")
    if choice not in ("auto", "none", None):
        yield "tool_choice"
    tools = edits["tools"] if "tools" in edits else frame.raw("tools")
    if choice == "none" or not tools:
        return
    if value("parallel_tool_calls") is False:
        yield "parallel_tool_calls"
    # Decode only lists that can have a strict function: they are large.
    if b'"strict"' in tools and any(map(_is_strict, as_list(value("tools")))):
        yield "strict"


def _is_strict(tool: Any) -> bool:
    return as_mapping(as_mapping(tool).get("function")).get("strict") is True
