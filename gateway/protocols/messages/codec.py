"""Anthropic Messages: a request's body as a conversation, and replacements written back into it.

The system prompt is left alone, and so is everything that isn't a text: images, documents, thinking with its
signatures, the provider's own tools, and cache markers. Anchors are by text and call id, so that markers may
move and strings become blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.sse import write_event
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.document import replace_values
from crosswind.gateway.protocols.json_values import as_mappings, as_text, decode, encode, encode_text
from crosswind.gateway.protocols.message_format import UNPARSED, MessageFormat, ParsedMessage
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.gateway.protocols.messages.mapped_stream import is_call
from crosswind.gateway.protocols.messages.provider_errors import MessagesErrors
from crosswind.gateway.protocols.messages.tool_mapping import MessagesToolMapping
from crosswind.gateway.protocols.messages.tool_references import find_references
from crosswind.gateway.protocols.messages.user_content import UserContent
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.conversation import ToolCall

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


class MessagesFormat(MessageFormat):
    """The members of `messages`."""

    def parse(self, message: Any) -> ParsedMessage:
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            return UNPARSED
        content = message.get("content")
        named = frozenset(find_references(content).values())
        if message["role"] == "user":
            user = UserContent(content)
            return ParsedMessage(tuple(user.parts), is_user=user.is_turn, tool_names=named)
        calls = tuple(
            ToolCall(as_text(block, "id"), as_text(block, "name"), encode_text(block.get("input", {})))
            for block in as_mappings(content)
            if is_call(block)
        )
        text = "".join(text for _, text in read_content_texts(content))
        return ParsedMessage(calls=calls, own_text=text, tool_names=named)

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return replace_values(raw, UserContent(decode(raw).get("content")).replace(replacements))


class MessagesCodec(Codec):
    """`POST /v1/messages`. Engines give no token ids on this route."""

    name = "messages"
    path = "/messages"
    resources = ("messages",)
    client_header = b"anthropic-version"
    request_id_header = b"request-id"
    message_format = MessagesFormat()
    system_member = "system"
    tool_mapping = MessagesToolMapping()
    provider_errors = MessagesErrors()

    def answer_reader(self, request: Request, *, captured: bool) -> MessagesAnswer:
        return MessagesAnswer()

    def error_body(self, error: ServiceError) -> bytes:
        kind = _KINDS.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
        return encode({"type": "error", "error": {"type": kind, "message": error.message}})

    def error_event(self, error: ServiceError) -> bytes:
        return write_event("error", self.error_body(error))


CODEC = MessagesCodec()
