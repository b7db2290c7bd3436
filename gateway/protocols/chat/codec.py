"""Chat Completions: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.provider_errors import ChatErrors
from crosswind.gateway.protocols.chat.tool_mapping import ChatToolMapping
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.content_text import write_content_texts
from crosswind.gateway.protocols.frame import Frame, RequestOptions
from crosswind.gateway.protocols.json_values import (
    UNREADABLE,
    as_list,
    as_mapping,
    as_mappings,
    as_text,
    encode,
    text_or_none,
)
from crosswind.gateway.protocols.message_format import (
    UNPARSED,
    MessageFormat,
    ParsedMessage,
    TextPart,
    ToolResultPart,
)
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.token_capture import BY_ID, capture_edits, read_requested_fields
from crosswind.injectors.conversation import ToolCall


class _Function(msgspec.Struct, gc=False):
    name: str = ""
    arguments: str = "{}"


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    function: _Function | None = None


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    """The members of a message that are read."""

    role: str = ""
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    name: str = ""


_decode = msgspec.json.Decoder(_Message).decode
_decode_all = msgspec.json.Decoder(list[_Message]).decode


class ChatMessages(MessageFormat):
    """The members of `messages`. A text's place is the index of its content part."""

    def read(self, raw: bytes) -> ParsedMessage:
        try:
            if not raw.isascii():
                raw.decode()  # what is skipped isn't checked
            return _parse(_decode(raw))
        except UNREADABLE:
            return super().read(raw)

    def read_all(self, body: bytes, spans: Sequence[tuple[int, int]]) -> list[ParsedMessage]:
        if len(spans) > 1:
            raw = body[spans[0][0] : spans[-1][1]]
            try:
                if not raw.isascii():
                    raw.decode()
                return [*map(_parse, _decode_all(b"[%b]" % raw))]
            except UNREADABLE:
                pass  # one by one: the others can be read
        return super().read_all(body, spans)

    def parse(self, message: Any) -> ParsedMessage:
        if not isinstance(message, dict):
            return UNPARSED
        content = message.get("content")
        parts = [
            _Part(as_text(part, "type"), text_or_none(part.get("text")))
            for part in map(as_mapping, as_list(content))
        ]
        calls = [
            _Call(as_text(call, "id"), _Function(as_text(made, "name"), as_text(made, "arguments", "{}")))
            for call in as_mappings(message.get("tool_calls"))
            if isinstance(made := call.get("function"), dict)
        ]
        texts = content if isinstance(content, str) else parts
        named = as_text(message, "tool_call_id"), as_text(message, "name")
        return _parse(_Message(as_text(message, "role"), texts, calls, *named))

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return write_content_texts(raw, replacements)


def _parse(message: _Message) -> ParsedMessage:
    content, role = message.content, message.role
    texts: tuple[TextPart, ...] = ()
    if isinstance(content, str):
        texts = (TextPart(None, content),)
    elif content:
        places = enumerate(content)
        found = [TextPart(at, one.text) for at, one in places if one.type == "text" and one.text is not None]
        texts = tuple(found)
    if role == "tool":
        return ParsedMessage((ToolResultPart(message.tool_call_id, message.name, texts),))
    if role == "user":
        return ParsedMessage(texts, is_user=True)
    if role != "assistant":
        return UNPARSED
    calls = [
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.function is not None
    ]
    own_text = "".join([part.text for part in texts]) if texts else ""
    return ParsedMessage(calls=tuple(calls), own_text=own_text)


class ChatCodec(Codec):
    """`POST /v1/chat/completions`."""

    name = "chat"
    path = "/chat/completions"
    resources = ("chat",)
    message_format = ChatMessages()
    returns_tokens = True
    tool_mapping = ChatToolMapping()
    provider_errors = ChatErrors()

    def read_options(self, frame: Frame) -> RequestOptions:
        count = frame.value("n")
        return RequestOptions(
            frame.value("stream") is True,
            self.declared_tools(frame),
            count if isinstance(count, int) and count > 0 else 1,
            read_requested_fields(frame, logprobs=frame.value("logprobs") is True),
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
