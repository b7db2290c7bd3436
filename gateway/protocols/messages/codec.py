"""Anthropic Messages: a request's body as a conversation, and replacements written back into it.

The system prompt is left alone, and so is whatever isn't a text: images, documents, thinking with its
signatures, what the provider's own tools do, and cache markers. Anchors are by text and call id, so that
markers may move and strings become blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.message_format import UNPARSED, ParsedMessage
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.gateway.protocols.messages.provider_errors import MessagesErrors
from crosswind.gateway.protocols.messages.tool_mapping import MessagesToolMapping, is_own
from crosswind.gateway.protocols.messages.tool_references import find_references
from crosswind.gateway.protocols.messages.user_content import UserContent
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.splicing import replace_values
from crosswind.gateway.protocols.tools import as_list, make_tool_schema
from crosswind.injectors.conversation import ToolCall, ToolSchema

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Error types by status: https://docs.claude.com/en/api/errors."""


class MessagesFormat:
    """The members of `messages`."""

    def parse(self, message: Any) -> ParsedMessage:
        if not isinstance(message, dict):
            return UNPARSED
        match message.get("role"):
            case "user":
                told = UserContent(message.get("content"))
                return ParsedMessage(tuple(told.parts), is_user=told.user, tool_names=_named(message))
            case "assistant":
                content = message.get("content")
                return ParsedMessage(
                    calls=tuple(_calls(content)), own_text=_said(content), tool_names=_named(message)
                )
            case _:
                return UNPARSED

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return replace_values(raw, UserContent(decode(raw).get("content")).replace(replacements))


class MessagesCodec:
    """`POST /v1/messages`. Engines give no token ids on this route."""

    name = "messages"
    path = "/messages"
    message_format = MessagesFormat()
    system_member = "system"
    returns_tokens = False
    tool_mapping = MessagesToolMapping()
    provider_errors = MessagesErrors()

    @staticmethod
    def read_tools(declared: Any) -> list[ToolSchema]:
        """The client's own tools. The provider's, which have another type, are left alone."""
        return [
            make_tool_schema(tool, tool.get("input_schema")) for tool in as_list(declared) if is_own(tool)
        ]

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        return SplitBody.of_messages(body, "messages", None if reader is None else reader.histories)

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        return reader.read_request(split, mask)

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        return {}, ()

    def answer_reader(self, request: Request, *, captured: bool) -> MessagesAnswer:
        return MessagesAnswer()

    def error_body(self, error: ServiceError) -> bytes:
        kind = _KINDS.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
        return encode({"type": "error", "error": {"type": kind, "message": error.message}})

    def error_event(self, error: ServiceError) -> bytes:
        return b"event: error\ndata: " + self.error_body(error) + b"\n\n"


def _said(content: Any) -> str:
    """The policy's own text."""
    return "".join(text for _, text in read_content_texts(content))


def _named(message: Any) -> frozenset[str]:
    """The tools that its references name."""
    return frozenset(find_references(message.get("content")).values())


def _calls(content: Any) -> list[ToolCall]:
    out = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            call_id, name = block.get("id"), block.get("name")
            out.append(
                ToolCall(
                    call_id if isinstance(call_id, str) else "",
                    name if isinstance(name, str) else "",
                    encode(block.get("input", {})).decode("utf-8", "surrogatepass"),
                )
            )
    return out


CODEC: Codec = MessagesCodec()
