"""The protocol-neutral view of a conversation. Codecs make it; operators see nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Site(StrEnum):
    """Where in the traffic an operator acts."""

    INSTRUCTIONS = "instructions"
    """A system prompt: that of a model that plays the user."""
    USER_TEXT = "user_text"
    TOOL_SCHEMA = "tool_schema"
    TOOL_RESULT = "tool_result"
    TRANSPORT = "transport"
    MODEL_RESPONSE = "model_response"


@dataclass(frozen=True, slots=True)
class Ref:
    """Where a text stands in the raw document: the message's index and the content part's (None: a plain
    string)."""

    message: int
    part: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the policy made earlier in this conversation. `arguments` is the JSON text as it stands."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool that the client declared. `parameters` is a JSON schema, as it stands."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UserText:
    """One text part of a user message. `ordinal` counts user messages along the branch, from 0."""

    ref: Ref
    text: str
    anchor: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class InstructionText:
    """A text of a request's system prompt. `ordinal` counts them, from 0."""

    ref: Ref
    text: str
    anchor: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One text part of a tool's result, with the call that it answers. `ordinal` counts results, from 0."""

    ref: Ref
    text: str
    anchor: str
    ordinal: int
    call: ToolCall
    logical_call: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What operators may see of a request: its perturbable items in order, and the declared tools."""

    items: tuple[UserText | ToolResult, ...]
    tools: tuple[ToolSchema, ...] = ()
    held: int = 0
    """The messages before this one are not part of the request: their items count, and can't be changed."""
    taken: frozenset[str] = frozenset()
    """The names of declared tools of other kinds, where a whole conversation is foretold: noise gives none of
    them."""
