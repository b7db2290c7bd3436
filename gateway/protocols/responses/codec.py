"""Responses: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from crosswind.gateway.errors import ServiceError, openai_error
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.document import Document, encode
from crosswind.gateway.protocols.hidden_tools import UNCHANGED
from crosswind.gateway.protocols.history import History, Mask
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.responses.answer import ResponsesAnswer
from crosswind.gateway.protocols.responses.items import ResponsesItems
from crosswind.gateway.protocols.responses.mapped_answer import MappedResponsesAnswer
from crosswind.gateway.protocols.responses.provider_errors import ResponsesErrors
from crosswind.gateway.protocols.responses.tool_mapping import ResponsesToolMapping, is_function
from crosswind.gateway.protocols.server_history import ServerHistories, ServerHistory
from crosswind.gateway.protocols.tools import as_list, make_tool_schema
from crosswind.injectors.conversation import Conversation, ToolSchema


class ResponsesCodec:
    """`POST /v1/responses`. Engines give no token ids on this route."""

    name = "responses"
    path = "/responses"
    message_format = ResponsesItems()
    system_member = "instructions"
    returns_tokens = False
    tool_mapping = ResponsesToolMapping()
    provider_errors = ResponsesErrors()

    @staticmethod
    def read_tools(declared: Any) -> list[ToolSchema]:
        """The client's own functions. The provider's tools, custom ones and namespaces are left alone."""
        return [
            make_tool_schema(tool, tool.get("parameters")) for tool in as_list(declared) if is_function(tool)
        ]

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        """`input` may be a string, items, or missing: a stored prompt or an earlier response says it all."""
        document = Document.parse(body)
        if document is None:
            return None
        spans = _spans(document)
        if spans is None:
            return None
        conversation = _conversation(document)
        return SplitBody(
            document,
            "input",
            spans,
            conversation or _previous(document),
            refers=b'"item_reference"' in body,
            gathers=conversation is not None,
        )

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        document = split.document
        before = reader.server_histories.get(split.held_by) if split.held_by else None
        history = _history(split, reader, before, mask)
        last = history.held + len(split.spans)
        items = history.items(last)
        answer = history.steps[history.held - before.answer : history.held] if before is not None else ()
        model = document.value("model")
        answered = partial(_keep, reader.server_histories, split, history, last)
        edits: dict[str, bytes | None] = {}
        if before is not None and before.response_id == split.held_by != before.upstream_id:
            edits["previous_response_id"] = encode(before.upstream_id)
        return Request(
            split=split,
            message_format=self.message_format,
            steps=tuple(history.steps[history.held : last]),
            conversation=Conversation(items, reader.tools.read(document.raw("tools")), history.held),
            model=model if isinstance(model, str) else None,
            stream=document.value("stream") is True,
            held=history.held,
            history=history,
            previous_anchors=tuple(step.policy_anchor for step in answer),
            previous_response=before.response_id if before else _previous(document),
            on_answer=None if document.value("store") is False else answered,
            edits=edits,
            in_background=document.value("background") is True,
        )

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        return {}, ()

    def answer_reader(self, request: Request, *, captured: bool) -> ResponsesAnswer | MappedResponsesAnswer:
        # The answer tells back the request's members: those that the upstream knows otherwise are mapped.
        return (
            MappedResponsesAnswer(UNCHANGED, request) if request.edits else ResponsesAnswer(request.on_answer)
        )

    def error_body(self, error: ServiceError) -> bytes:
        return openai_error(error.message, kind=error.kind, code=error.code, param=error.param)

    def error_event(self, error: ServiceError) -> bytes:
        """The documented event; SDKs raise its `error`, where it has one, as the provider's do."""
        told = {"code": error.code, "message": error.message, "param": error.param}
        event = {"type": "error", "sequence_number": 0, **told, "error": {"type": error.kind, **told}}
        return b"event: error\ndata: " + encode(event) + b"\n\n"


def _spans(document: Document) -> list[tuple[int, int]] | None:
    """Where the items of `input` stand; None where it isn't what we know."""
    span = document.members.get("input")
    if span is None or document.raw("input") == b"null":
        return []
    if document.body[span.start : span.start + 1] == b'"':
        return [(span.start, span.end)]
    split = SplitBody.of_messages(document.body, "input")
    return None if split is None else split.spans


def _previous(document: Document) -> str | None:
    previous = document.value("previous_response_id")
    return previous if isinstance(previous, str) and previous else None


def _conversation(document: Document) -> str | None:
    conversation = document.value("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return conversation if isinstance(conversation, str) and conversation else None


def _history(split: SplitBody, reader: SessionReader, before: ServerHistory | None, mask: Mask) -> History:
    body = split.document.body
    if before is not None:
        history = before.continuation()
        history.read(body, split.first if split.spans else 0, split.spans, mask)
        return history
    if not split.spans:
        return reader.histories.empty()
    return reader.histories.read(body, split.first, split.spans, mask)


def _keep(
    held: ServerHistories,
    split: SplitBody,
    history: History,
    length: int,
    response: Mapping[str, Any],
    upstream_id: str | None,
) -> None:
    """Remember a response: later requests may name it, or the conversation to which it belongs."""
    response_id, output = response.get("id"), response.get("output")
    if isinstance(response_id, str):
        conversation = _conversation(split.document)
        names = [response_id] if conversation is None else [response_id, conversation]
        items = output if isinstance(output, list) else []
        shared = history.held == 0
        held.keep(
            names, ServerHistory(response_id, upstream_id or response_id, history, length, items, shared)
        )


CODEC: Codec = ResponsesCodec()
