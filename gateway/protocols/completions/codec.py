"""Completions: prompts, which are texts of a user's; prompts of token ids are left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.errors import ServiceError, openai_error
from crosswind.gateway.protocols.capture import BY_ID, capture_edits
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.completions.answer import CompletionsAnswer
from crosswind.gateway.protocols.document import Document, encode
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.message_format import UNPARSED, ParsedMessage, TextPart
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.injectors.conversation import Conversation, ToolSchema


class Prompts:
    """The members of `prompt`: one that is a string is a user's message of one text."""

    def parse(self, message: Any) -> ParsedMessage:
        return (
            ParsedMessage((TextPart(None, message),), is_user=True) if isinstance(message, str) else UNPARSED
        )

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return encode(replacements[-1][1])


class CompletionsCodec:
    """`POST /v1/completions`."""

    name = "completions"
    path = "/completions"
    message_format = Prompts()
    system_member: str | None = None
    returns_tokens = True
    tool_mapping = None
    provider_errors = None

    @staticmethod
    def read_tools(declared: Any) -> list[ToolSchema]:
        """There are none."""
        return []

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        document = Document.parse(body)
        return None if document is None else SplitBody(document, "prompt", _prompts(document))

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        document = split.document
        length, history = len(split.spans), reader.histories.empty()
        if length:
            history = reader.histories.read(document.body, split.first, split.spans, mask)
        model, count = document.value("model"), document.value("n")
        each = count if isinstance(count, int) and count > 0 else 1
        return Request(
            split=split,
            message_format=self.message_format,
            steps=tuple(history.steps[:length]),
            conversation=Conversation(history.items(length)),
            model=model if isinstance(model, str) else None,
            stream=document.value("stream") is True,
            choices=each * _count(document.value("prompt")),
            requested=frozenset(requested_fields(document)),
        )

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        if _echoes(request):
            return {}, ()
        asking = {"return_token_ids": b"true"}
        if "logprobs" not in request.requested:
            asking |= {"logprobs": encode(max(top, 1)), **(BY_ID if top else {})}
        return capture_edits(request, asking, training=training)

    def answer_reader(self, request: Request, *, captured: bool) -> CompletionsAnswer:
        captured = captured and not _echoes(request)
        return CompletionsAnswer(choices=request.choices, captured=captured, asked=request.requested)

    def error_body(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        return b"data: " + self.error_body(error) + b"\n\n"


def _prompts(document: Document) -> list[tuple[int, int]]:
    """The spans of the prompts that are texts."""
    span = document.members.get("prompt")
    if span is None:
        return []
    if document.body[span.start : span.start + 1] == b'"':
        return [(span.start, span.end)]
    spans = document.element_spans("prompt") or []
    return spans if all(document.body[start] == ord('"') for start, _ in spans) else []


def _count(prompt: Any) -> int:
    """How many prompts: an array of numbers is one, of token ids."""
    several = isinstance(prompt, list) and any(isinstance(one, str | list) for one in prompt)
    return len(prompt) if several else 1


def _echoes(request: Request) -> bool:
    """Engines that are asked for token ids leave the prompt out of an echo: these aren't captured."""
    return request.document.value("echo") is True


def requested_fields(document: Document) -> list[str]:
    asked = []
    if isinstance(document.value("logprobs"), int):
        asked.append("logprobs")
    if document.value("return_token_ids") is True:
        asked.append("token_ids")
    options = document.value("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        asked.append("usage")
    return asked


CODEC: Codec = CompletionsCodec()
