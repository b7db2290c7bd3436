"""Chat Completions: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.provider_errors import ChatErrors
from crosswind.gateway.protocols.chat.tool_mapping import ChatToolMapping
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.content_text import read_content_texts, write_content_texts
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.json_values import as_mappings, as_text, encode
from crosswind.gateway.protocols.message_format import UNPARSED, ParsedMessage, TextPart, ToolResultPart
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.token_capture import BY_ID, capture_edits, read_requested_fields
from crosswind.injectors.conversation import ToolCall


class ChatMessages:
    """The members of `messages`. A text's place is the index of its content part."""

    def parse(self, message: Any) -> ParsedMessage:
        if not isinstance(message, dict):
            return UNPARSED
        texts = tuple([TextPart(*found) for found in read_content_texts(message.get("content"))])
        match message.get("role"):
            case "user":
                return ParsedMessage(texts, is_user=True)
            case "tool":
                result = ToolResultPart(as_text(message, "tool_call_id"), as_text(message, "name"), texts)
                return ParsedMessage((result,))
            case "assistant":
                calls = [
                    ToolCall(
                        as_text(call, "id"), as_text(function, "name"), as_text(function, "arguments", "{}")
                    )
                    for call in as_mappings(message.get("tool_calls"))
                    if isinstance(function := call.get("function"), dict)
                ]
                return ParsedMessage(calls=tuple(calls), own_text="".join([part.text for part in texts]))
            case _:
                return UNPARSED

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return write_content_texts(raw, replacements)


class ChatCodec(Codec):
    """`POST /v1/chat/completions`."""

    name = "chat"
    path = "/chat/completions"
    resources = ("chat",)
    message_format = ChatMessages()
    returns_tokens = True
    tool_mapping = ChatToolMapping()
    provider_errors = ChatErrors()

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        frame = split.frame
        count = frame.value("n")
        return reader.read_request(
            split,
            mask,
            choices=count if isinstance(count, int) and count > 0 else 1,
            requested=read_requested_fields(frame, logprobs=frame.value("logprobs") is True),
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


CODEC = ChatCodec()
