"""Chat Completions: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.errors import ServiceError, openai_error
from crosswind.gateway.protocols.capture import BY_ID, capture_edits
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.provider_errors import ChatErrors
from crosswind.gateway.protocols.chat.tool_mapping import ChatToolMapping, is_function
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.content_text import read_content_texts, write_content_texts
from crosswind.gateway.protocols.document import Document, encode
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.message_format import ParsedMessage, TextPart, ToolResultPart
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.tools import as_list, make_tool_schema
from crosswind.injectors.conversation import ToolCall, ToolSchema


class ChatMessages:
    """The members of `messages`: a text's place is its content part's index."""

    def parse(self, message: Any) -> ParsedMessage:
        if not isinstance(message, dict):
            return ParsedMessage()
        texts = tuple(TextPart(place, text) for place, text in read_content_texts(message.get("content")))
        match message.get("role"):
            case "user":
                return ParsedMessage(texts, is_user=True)
            case "tool":
                return ParsedMessage(
                    (ToolResultPart(as_text(message, "tool_call_id"), as_text(message, "name"), texts),)
                )
            case "assistant":
                said = "".join(part.text for part in texts)
                return ParsedMessage(calls=tuple(_calls(message)), own_text=said)
            case _:
                return ParsedMessage()

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return write_content_texts(raw, replacements)


class ChatCodec:
    """`POST /v1/chat/completions`."""

    name = "chat"
    path = "/chat/completions"
    message_format = ChatMessages()
    system_member: str | None = None
    returns_tokens = True
    tool_mapping = ChatToolMapping()
    provider_errors = ChatErrors()

    @staticmethod
    def read_tools(declared: Any) -> list[ToolSchema]:
        """`tools` as declared."""
        functions = [tool["function"] for tool in as_list(declared) if is_function(tool)]
        return [make_tool_schema(function, function.get("parameters")) for function in functions]

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        return SplitBody.of_messages(body, "messages", None if reader is None else reader.histories)

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        count = split.document.value("n")
        return reader.read_request(
            split,
            mask,
            choices=count if isinstance(count, int) and count > 0 else 1,
            asked=frozenset(requested_fields(split.document)),
        )

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        asking = {"return_token_ids": b"true", "logprobs": b"true"}
        if top and "logprobs" not in request.requested:
            asking |= {"top_logprobs": encode(top), **BY_ID}
        return capture_edits(request, asking, training=training)

    def answer_reader(self, request: Request, *, captured: bool) -> ChatAnswer:
        return ChatAnswer(choices=request.choices, captured=captured, asked=request.requested)

    def error_body(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        return b"data: " + self.error_body(error) + b"\n\n"


def requested_fields(document: Document) -> list[str]:
    asked = []
    if document.value("logprobs") is True:
        asked.append("logprobs")
    if document.value("return_token_ids") is True:
        asked.append("token_ids")
    options = document.value("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        asked.append("usage")
    return asked


def _calls(message: dict[str, Any]) -> list[ToolCall]:
    calls = message.get("tool_calls")
    out = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            out.append(
                ToolCall(
                    as_text(call, "id"),
                    as_text(function, "name"),
                    arguments if isinstance(arguments, str) else "{}",
                )
            )
    return out


CODEC: Codec = ChatCodec()
