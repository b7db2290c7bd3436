"""Responses: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from typing import Any

from gateway.errors import ServiceError, openai_error
from gateway.protocols.codec import Codec, Reader
from gateway.protocols.document import Document, encode
from gateway.protocols.history import Mask
from gateway.protocols.request import Request, SplitBody
from gateway.protocols.responses_answer import ResponsesAnswer
from gateway.protocols.responses_items import ResponsesItems
from injectors.conversation import Conversation, ToolSchema


class ResponsesCodec:
    """`POST /v1/responses`. Engines give no token ids on this route."""

    name = "responses"
    path = "/responses"
    messages = ResponsesItems()
    tokens = False
    closing = None
    forms = None

    @staticmethod
    def tools(declared: Any) -> list[ToolSchema]:
        """The client's own functions. The provider's tools, custom ones and namespaces are left alone."""
        out = []
        for tool in declared if isinstance(declared, list) else []:
            if is_function(tool):
                description, parameters = tool.get("description"), tool.get("parameters")
                out.append(
                    ToolSchema(
                        tool["name"],
                        description if isinstance(description, str) else "",
                        parameters if isinstance(parameters, dict) else {},
                    )
                )
        return out

    def split(self, body: bytes) -> SplitBody | None:
        """`input` may be a string, items, or missing: a stored prompt or an earlier response says it all."""
        document = Document.parse(body)
        if document is None:
            return None
        span = document.members.get("input")
        if span is None or document.raw("input") == b"null":
            return SplitBody(document, "input", [])
        if body[span.start : span.start + 1] == b'"':
            return SplitBody(document, "input", [(span.start, span.end)])
        return SplitBody.of_messages(body, "input")

    def read(self, split: SplitBody, reader: Reader, mask: Mask) -> Request:
        document = split.document
        steps = reader.histories.read(document.body, split.first, split.spans, mask) if split.spans else ()
        items = tuple(item for step in steps for item in step.items)
        model = document.value("model")
        return Request(
            split=split,
            messages=self.messages,
            steps=steps,
            conversation=Conversation(items, reader.tools.read(document.raw("tools"))),
            model=model if isinstance(model, str) else None,
            stream=document.value("stream") is True,
        )

    def capture_edits(
        self, request: Request, *, training: bool
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        return {}, ()

    def answer(self, request: Request, *, captured: bool) -> ResponsesAnswer:
        return ResponsesAnswer()

    def error(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        """The documented event; SDKs raise its `error`, where it has one, as the provider's do."""
        told = {"code": error.code, "message": error.message, "param": error.param}
        event = {"type": "error", "sequence_number": 0, **told, "error": {"type": error.kind, **told}}
        return b"event: error\ndata: " + encode(event) + b"\n\n"


def is_function(tool: Any) -> bool:
    """Whether a declared tool is one of the client's functions."""
    return isinstance(tool, dict) and tool.get("type") == "function" and isinstance(tool.get("name"), str)


CODEC: Codec = ResponsesCodec()
