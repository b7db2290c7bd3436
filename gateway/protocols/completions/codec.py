"""Completions: string prompts are a user's messages; prompts of token ids are left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.completions.answer import CompletionsAnswer
from crosswind.gateway.protocols.document import Document
from crosswind.gateway.protocols.frame import RequestOptions
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.message_format import UNPARSED, MessageFormat, ParsedMessage, TextPart
from crosswind.gateway.protocols.request import NO_PARAMETERS, Request, SplitBody
from crosswind.gateway.protocols.token_capture import BY_ID, capture_edits, read_requested_fields


class Prompts(MessageFormat):
    """The members of `prompt`: a string is a user's message of one text."""

    def parse(self, message: Any) -> ParsedMessage:
        return (
            ParsedMessage((TextPart(None, message),), is_user=True) if isinstance(message, str) else UNPARSED
        )

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return encode(replacements[-1][1])


class CompletionsCodec(Codec):
    """`POST /v1/completions`."""

    name = "completions"
    path = "/completions"
    resources = ("completions",)
    operation = "text_completion"
    message_format = Prompts()
    returns_tokens = True

    def split(
        self, body: bytes, reader: SessionReader | None = None, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> SplitBody | None:
        document = Document.parse(body)
        return (
            None if document is None else SplitBody.of_document(document, "prompt", _prompt_spans(document))
        )

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        document = split.document
        count, prompt = document.value("n"), document.value("prompt")
        each = count if isinstance(count, int) and count > 0 else 1
        # An array of numbers is one prompt, of token ids.
        several = isinstance(prompt, list) and any(isinstance(one, str | list) for one in prompt)
        options = RequestOptions(
            document.value("stream") is True,
            (),
            each * (len(prompt) if several else 1),
            read_requested_fields(split.frame, logprobs=isinstance(document.value("logprobs"), int)),
        )
        return reader.read_request(split, mask, options)

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


def _prompt_spans(document: Document) -> list[tuple[int, int]]:
    """The spans of the prompts that are texts."""
    span = document.members.get("prompt")
    if span is None:
        return []
    if document.body[span.start : span.start + 1] == b'"':
        return [(span.start, span.end)]
    spans = document.element_spans("prompt") or []
    return spans if all(document.body[start] == ord('"') for start, _ in spans) else []


def _echoes(request: Request) -> bool:
    """Asked for token ids, engines leave the prompt out of an echo: such requests aren't captured."""
    return request.frame.value("echo") is True


CODEC = CompletionsCodec()
