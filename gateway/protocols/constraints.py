"""What in a request keeps its tokens from being drawn from the policy's own distribution.

An engine that is told to cut or bend the distribution, or to follow a grammar, gives log-probabilities of
what is left of it. The trainer computes those of the whole, so that their ratio says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosswind.gateway.protocols.capture import NEUTRAL
from crosswind.gateway.protocols.document import Document, decode

_FREE: Mapping[str, tuple[Any, ...]] = {
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
"""Members with the values under which they change nothing."""

_TOOLS = "tools"
_UNFORCED = ("auto", "none", None)
_ONE_CALL = "parallel_tool_calls"


def find_constraints(document: Document, edits: Mapping[str, bytes | None]) -> Iterator[str]:
    """The members of a body, as it is sent with these edits, that constrain what is sampled."""
    names = document.members.keys() | edits.keys()
    for name in _FREE.keys() & names:
        if _value(document, edits, name) not in _FREE[name]:
            yield name
    if _TOOLS in names:
        yield from _of_tools(document, edits)


def _of_tools(document: Document, edits: Mapping[str, bytes | None]) -> Iterator[str]:
    """Calls that are demanded, limited to one, or held to a schema: an engine samples them by a grammar."""
    choice = _value(document, edits, "tool_choice")
    if choice not in _UNFORCED:
        yield "tool_choice"
    if choice == "none" or not _raw(document, edits, _TOOLS):
        return
    if _value(document, edits, _ONE_CALL) is False:
        yield _ONE_CALL
    if b'"strict"' in (_raw(document, edits, _TOOLS) or b"") and any(
        map(_strict, _listed(_value(document, edits, _TOOLS)))
    ):
        yield "strict"


def _strict(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and function.get("strict") is True


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _raw(document: Document, edits: Mapping[str, bytes | None], name: str) -> bytes | None:
    return edits[name] if name in edits else document.raw(name)


def _value(document: Document, edits: Mapping[str, bytes | None], name: str) -> Any:
    raw = _raw(document, edits, name)
    try:
        return None if raw is None else decode(raw)
    except ValueError:
        return None
