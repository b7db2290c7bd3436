"""Embeddings: recorded if a session is named, and never perturbed.

Noise acts on conversations; an index of noisy vectors would outlive every session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import AnswerReader, Chunk
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.document import Document
from crosswind.gateway.protocols.json_values import UNREADABLE, as_mapping, text_or_none
from crosswind.gateway.protocols.message_format import UNPARSED, MessageFormat, ParsedMessage
from crosswind.gateway.protocols.request import NO_PARAMETERS, Request, SplitBody
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion


class Inputs(MessageFormat):
    """The members of `input`, which are left alone."""

    def parse(self, message: Any) -> ParsedMessage:
        return UNPARSED

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return raw


class EmbeddingsCodec(Codec):
    """`POST /v1/embeddings`."""

    name = "embeddings"
    path = "/embeddings"
    resources = ("embeddings",)
    operation = "embeddings"
    message_format = Inputs()

    def split(
        self, body: bytes, reader: SessionReader | None = None, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> SplitBody | None:
        document = Document.parse(body)
        if document is None:
            return None
        split = SplitBody.of_document(document, "input", [])
        split.converses = False
        return split

    def answer_reader(self, request: Request, *, captured: bool) -> EmbeddingsAnswer:
        return EmbeddingsAnswer()


class _Head(msgspec.Struct):
    """The members of an answer that are read. Its vectors, numbers or base64, are skipped."""

    model: Any = None
    usage: Any = None
    error: Any = None


_head = msgspec.json.Decoder(_Head)


class EmbeddingsAnswer(AnswerReader):
    """Keeps an answer as received."""

    prompt_ids: list[int] | None = None
    usage: Mapping[str, Any] = {}
    error: Mapping[str, Any] | None = None
    finished = False

    def __init__(self) -> None:
        self._body = b""
        self._model: str | None = None

    def read_body(self, body: bytes) -> bytes:
        self._body, self.finished = body, bool(body)
        try:
            head = _head.decode(body)
        except UNREADABLE:
            return body
        self._model = text_or_none(head.model)
        self.usage = as_mapping(head.usage)
        self.error = head.error if isinstance(head.error, dict) else None
        return body

    def read_event(self, event: SseEvent) -> Chunk:
        """Nobody streams embeddings; whatever comes is relayed."""
        return Chunk(event.raw)

    def produced_body(self) -> bytes:
        return self._body

    def head_text(self, name: str) -> str | None:
        return self._model if name == "model" else None

    def completions(self) -> tuple[Completion, ...]:
        return ()

    def fitness(self) -> Fitness:
        return Fitness.NOTHING_SAMPLED


CODEC = EmbeddingsCodec()
