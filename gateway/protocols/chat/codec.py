"""Chat Completions: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.errors import ServiceError, openai_error
from crosswind.gateway.protocols.capture import BY_ID, capture_edits
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.provider_errors import ChatForms
from crosswind.gateway.protocols.chat.tool_mapping import ChatClosing, is_function
from crosswind.gateway.protocols.codec import Codec, Reader
from crosswind.gateway.protocols.coercion import text_of
from crosswind.gateway.protocols.content_text import content_texts, content_written
from crosswind.gateway.protocols.document import Document, encode
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.message_format import Answered, Read, Text
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.tools import list_of, tool_schema
from crosswind.injectors.conversation import ToolCall, ToolSchema


class ChatMessages:
    """The members of `messages`: a text's place is its content part's index."""

    def read(self, message: Any) -> Read:
        if not isinstance(message, dict):
            return Read()
        texts = tuple(Text(place, text) for place, text in content_texts(message.get("content")))
        match message.get("role"):
            case "user":
                return Read(texts, user=True)
            case "tool":
                return Read((Answered(text_of(message, "tool_call_id"), text_of(message, "name"), texts),))
            case "assistant":
                said = "".join(part.text for part in texts)
                return Read(calls=tuple(_calls(message)), said=said)
            case _:
                return Read()

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return content_written(raw, replacements)


class ChatCodec:
    """`POST /v1/chat/completions`."""

    name = "chat"
    path = "/chat/completions"
    messages = ChatMessages()
    instructions: str | None = None
    tokens = True
    closing = ChatClosing()
    forms = ChatForms()

    @staticmethod
    def tools(declared: Any) -> list[ToolSchema]:
        """`tools` as declared."""
        functions = [tool["function"] for tool in list_of(declared) if is_function(tool)]
        return [tool_schema(function, function.get("parameters")) for function in functions]

    def split(self, body: bytes, reader: Reader | None = None) -> SplitBody | None:
        return SplitBody.of_messages(body, "messages", None if reader is None else reader.histories)

    def read(self, split: SplitBody, reader: Reader, mask: Mask) -> Request:
        count = split.document.value("n")
        return reader.request(
            split,
            mask,
            choices=count if isinstance(count, int) and count > 0 else 1,
            asked=frozenset(_asked(split.document)),
        )

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        asking = {"return_token_ids": b"true", "logprobs": b"true"}
        if top and "logprobs" not in request.asked:
            asking |= {"top_logprobs": encode(top), **BY_ID}
        return capture_edits(request, asking, training=training)

    def answer(self, request: Request, *, captured: bool) -> ChatAnswer:
        return ChatAnswer(choices=request.choices, captured=captured, asked=request.asked)

    def error(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        return b"data: " + self.error(error) + b"\n\n"


def _asked(document: Document) -> list[str]:
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
                    text_of(call, "id"),
                    text_of(function, "name"),
                    arguments if isinstance(arguments, str) else "{}",
                )
            )
    return out


CODEC: Codec = ChatCodec()
