"""Embeddings: recorded where a session is named, and never perturbed.

Noise acts on conversations; an index made of noisy vectors would outlive every session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.errors import ServiceError, openai_error
from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import Chunk, SingleRoundReader
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.document import Document
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.message_format import UNPARSED, ParsedMessage
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion
from crosswind.injectors.conversation import Conversation, ToolSchema


class Inputs:
    """The members of `input`, which are left alone."""

    def parse(self, message: Any) -> ParsedMessage:
        return UNPARSED

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        return raw


class EmbeddingsCodec:
    """`POST /v1/embeddings`."""

    name = "embeddings"
    path = "/embeddings"
    message_format = Inputs()
    system_member: str | None = None
    returns_tokens = False
    tool_mapping = None
    provider_errors = None

    @staticmethod
    def read_tools(declared: Any) -> list[ToolSchema]:
        """There are none."""
        return []

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        document = Document.parse(body)
        return None if document is None else SplitBody(document, "input", [], converses=False)

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        model = split.document.value("model")
        return Request(
            split=split,
            message_format=self.message_format,
            steps=(),
            conversation=Conversation(()),
            model=model if isinstance(model, str) else None,
            stream=False,
        )

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        return {}, ()

    def answer_reader(self, request: Request, *, captured: bool) -> EmbeddingsAnswer:
        return EmbeddingsAnswer()

    def error_body(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        return b"data: " + self.error_body(error) + b"\n\n"


class _Head(msgspec.Struct):
    """What is read of an answer: its vectors, numbers or base64, are skipped."""

    model: Any = None
    usage: Any = None
    error: Any = None


_head = msgspec.json.Decoder(_Head)


class EmbeddingsAnswer(SingleRoundReader):
    """Keeps an answer as it came."""

    prompt_ids: list[int] | None = None

    def __init__(self) -> None:
        self._body = b""
        self._model: str | None = None
        self.usage: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives it back as it is."""
        self._body = body
        try:
            head = _head.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return body
        self._model = head.model if isinstance(head.model, str) else None
        self.usage = head.usage if isinstance(head.usage, dict) else {}
        self.error = head.error if isinstance(head.error, dict) else None
        return body

    def read_event(self, event: SseEvent) -> Chunk:
        """Nobody streams embeddings; whatever comes is relayed."""
        return Chunk(event.raw)

    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return bool(self._body)

    def produced_body(self) -> bytes:
        """The answer's body."""
        return self._body

    def head_text(self, name: str) -> str | None:
        """The model, which is the only text of an answer's head."""
        return self._model if name == "model" else None

    def completions(self) -> tuple[Completion, ...]:
        """There are none."""
        return ()

    def fitness(self) -> Fitness:
        """No policy sampled here."""
        return Fitness.NOTHING_SAMPLED


CODEC: Codec = EmbeddingsCodec()
