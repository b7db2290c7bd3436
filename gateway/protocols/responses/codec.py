"""Responses: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.sse import write_event
from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.document import Document, all_objects
from crosswind.gateway.protocols.hidden_tools import UNCHANGED
from crosswind.gateway.protocols.history import History, Mask
from crosswind.gateway.protocols.json_values import as_list, encode, text_or_none
from crosswind.gateway.protocols.request import NO_PARAMETERS, Request, SplitBody
from crosswind.gateway.protocols.responses.answer import ResponsesAnswer
from crosswind.gateway.protocols.responses.items import ResponsesItems
from crosswind.gateway.protocols.responses.mapped_answer import MappedResponsesAnswer
from crosswind.gateway.protocols.responses.provider_errors import ResponsesErrors
from crosswind.gateway.protocols.responses.tool_mapping import ResponsesToolMapping
from crosswind.gateway.protocols.server_history import ServerHistories, ServerHistory
from crosswind.injectors.conversation import Conversation


class ResponsesCodec(Codec):
    """`POST /v1/responses`. Engines give no token ids on this route."""

    name = "responses"
    path = "/responses"
    resources = ("responses", "conversations")
    message_format = ResponsesItems()
    history_member = "input"
    system_member = "instructions"
    tool_mapping = ResponsesToolMapping()
    provider_errors = ResponsesErrors()

    def split(
        self, body: bytes, reader: SessionReader | None = None, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> SplitBody | None:
        """`input` may be a string, items, or missing: a stored prompt or an earlier response is enough."""
        document = Document.parse(body)
        spans = None if document is None else _item_spans(document)
        if document is None or spans is None:
            return None
        conversation = _conversation(document)
        split = SplitBody.of_document(document, "input", spans)
        split.held_by = conversation or _previous_response(document)
        split.refers = b'"item_reference"' in body
        split.gathers = conversation is not None
        return split

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        frame, body = split.frame, split.body
        before = reader.server_histories.get(split.held_by) if split.held_by else None
        if before is not None:
            history = before.continuation()
            history.read(body, split.first if split.spans else 0, split.spans, mask)
        elif split.spans:
            history = reader.histories.read(body, split.frame, split.spans, mask)
        else:
            history = reader.histories.empty()
        last = history.held + len(split.spans)
        options = reader.read_options(frame)
        edits: dict[str, bytes | None] = {}
        if before is not None and before.response_id == split.held_by != before.upstream_id:
            edits["previous_response_id"] = encode(before.upstream_id)
        on_answer = partial(_keep_response, reader.server_histories, split, history, last)
        steps = tuple(history.steps[history.held : last])
        return Request(
            split=split,
            frame=frame,
            message_format=self.message_format,
            steps=steps,
            chain=steps[-1].received if steps else None,
            history=history,
            conversation=Conversation(history.items(last), options.tools, history.held),
            model=split.model,
            stream=options.stream,
            held=history.held,
            answered=before.answer if before is not None else 0,
            previous_response=before.response_id if before else _previous_response(split.document),
            on_answer=None if frame.value("store") is False else on_answer,
            edits=edits,
            in_background=frame.value("background") is True,
        )

    def answer_reader(self, request: Request, *, captured: bool) -> AnswerReader:
        # A response repeats the request's members: edited ones have to be mapped back.
        if request.edits:
            return MappedResponsesAnswer(UNCHANGED, request)
        return ResponsesAnswer(request.on_answer)

    def error_event(self, error: ServiceError) -> bytes:
        """The documented event, with the `error` that providers add and SDKs raise."""
        told = {"code": error.code, "message": error.message, "param": error.param}
        event = {"type": "error", "sequence_number": 0, **told, "error": {"type": error.kind, **told}}
        return write_event("error", encode(event))


def _item_spans(document: Document) -> list[tuple[int, int]] | None:
    """The spans of the items of `input`; None if it has an unknown form."""
    span = document.members.get("input")
    if span is None or document.raw("input") == b"null":
        return []
    if document.body[span.start : span.start + 1] == b'"':
        return [(span.start, span.end)]
    spans = document.element_spans("input")
    return spans if spans is not None and all_objects(document.body, spans) else None


def _previous_response(document: Document) -> str | None:
    return text_or_none(document.value("previous_response_id")) or None


def _conversation(document: Document) -> str | None:
    conversation = document.value("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return text_or_none(conversation) or None


def _keep_response(
    histories: ServerHistories,
    split: SplitBody,
    history: History,
    length: int,
    response: Mapping[str, Any],
    upstream_id: str | None,
) -> None:
    """Keep a response: later requests may name it, or its conversation."""
    response_id = response.get("id")
    if isinstance(response_id, str):
        conversation = _conversation(split.document)
        names = [response_id] if conversation is None else [response_id, conversation]
        output, shared = as_list(response.get("output")), history.held == 0
        kept = ServerHistory(response_id, upstream_id or response_id, history, length, output, shared)
        histories.keep(names, kept)


CODEC = ResponsesCodec()
