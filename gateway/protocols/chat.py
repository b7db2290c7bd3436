"""Chat Completions: a request's body as a conversation, and replacements written back into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.protocols.document import Document, decode, encode
from gateway.protocols.history import Histories, Mask, Replacements, Step
from gateway.trajectory.content import Chain, View
from injectors.conversation import Conversation, Ref, ToolSchema

PROTOCOL = "chat"

FALSIFYING = (
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logit_bias",
)
"""Sampling knobs under which the log-probabilities that come back are not those of the distribution sampled
from.
"""

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1, None),
    "top_k": (-1, 0, None),
    "min_p": (0, None),
    "frequency_penalty": (0, None),
    "presence_penalty": (0, None),
    "repetition_penalty": (1, None),
    "logit_bias": ({}, None),
}

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_parts = msgspec.json.Decoder(list[msgspec.Raw])


class ToolReader:
    """The declared tools, read once per wording: clients resend them with every turn."""

    def __init__(self) -> None:
        self._raw = b""
        self._tools: tuple[ToolSchema, ...] = ()

    def read(self, raw: bytes | None) -> tuple[ToolSchema, ...]:
        if raw is None:
            return ()
        if raw != self._raw:
            self._raw, self._tools = raw, tuple(_tools(raw))
        return self._tools


@dataclass(slots=True, eq=False)
class ChatRequest:
    """A chat request that was understood: its document, its messages as steps, and what clients asked of the
    answer.
    """

    document: Document
    steps: tuple[Step, ...]
    first: int
    """Where the first message's separator begins, in the body."""
    last: int
    """Where the last message ends, in the body."""
    conversation: Conversation
    model: str | None
    stream: bool
    choices: int
    asked: frozenset[str] = field(default_factory=frozenset)
    """Which of `logprobs`, `token_ids` and `usage` (of a stream) the client itself asked for."""

    @property
    def chain(self) -> Chain | None:
        return self.steps[-1].received if self.steps else None

    def received(self, mask: Mask) -> View:
        """The body as it came, as what is stored of it."""
        return View(self._frame({}, mask), self.chain)

    def _frame(self, edits: Mapping[str, bytes | None], mask: Mask) -> tuple[bytes | None, ...]:
        """The body around its messages. The tools are a piece of their own, since they repeat where the rest
        varies.
        """
        pieces: list[bytes | None] = []
        text = bytearray(self.document.opening)
        for name, lead, value in self.document.members_with(edits):
            text += lead
            if name == "messages" and self.steps:
                span = self.document.members["messages"]
                text += self.document.body[span.start : self.first]
                pieces += [mask(bytes(text)), None]
                text = bytearray(self.document.body[self.last : span.end])
            elif name == "tools":
                pieces += [mask(bytes(text)), mask(value)]
                text = bytearray()
            else:
                text += value
        return (*pieces, mask(bytes(text + self.document.closing)))

    def rewritten(
        self, replacements: Mapping[Ref, str], edits: Mapping[str, bytes | None], mask: Mask
    ) -> tuple[bytes, View]:
        """The body to send, and what is stored of it. Messages and members that nothing touched keep their
        bytes.
        """
        segments = _segments(self.steps, replacements)
        pieces = self._frame(edits, _unmasked)
        body = b"".join(b"".join(segments) if piece is None else piece for piece in pieces)
        frame = tuple(None if piece is None else mask(piece) for piece in pieces)
        return body, View(frame, _sent_chain(self.steps, segments, mask))


@dataclass(frozen=True, slots=True)
class ChatBody:
    """A body that could be split into messages; not yet read."""

    document: Document
    spans: list[tuple[int, int]]

    def first_user_turn(self) -> str:
        """The first user message as it stands, by which an otherwise unknown session is told apart."""
        for start, end in self.spans:
            raw = self.document.body[start:end]
            message = decode(raw)
            if isinstance(message, dict) and message.get("role") == "user":
                content = message.get("content")
                return content if isinstance(content, str) else encode(content).decode("utf-8", "replace")
        return ""


def split_body(body: bytes) -> ChatBody | None:
    """None where the body is no chat request that we can split: it is then forwarded as it came."""
    document = Document.parse(body)
    spans = document.elements("messages") if document else None
    if document is None or spans is None or any(body[start] != ord("{") for start, _ in spans):
        return None
    return ChatBody(document, spans)


def read_request(chat: ChatBody, histories: Histories, tools: ToolReader, mask: Mask) -> ChatRequest:
    """Read what is new in a body since the session's last turn."""
    document, spans = chat.document, chat.spans
    first = document.members["messages"].start + 1
    steps = histories.read(document.body, first, spans, mask)
    items = tuple(item for step in steps for item in step.items)
    model, count = document.value("model"), document.value("n")
    stream = document.value("stream") is True
    return ChatRequest(
        document=document,
        steps=steps,
        first=first,
        last=spans[-1][1] if spans else first,
        conversation=Conversation(items, tools.read(document.raw("tools"))),
        model=model if isinstance(model, str) else None,
        stream=stream,
        choices=count if isinstance(count, int) and count > 0 else 1,
        asked=frozenset(_asked(document)),
    )


def capture_edits(request: ChatRequest, *, training: bool) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
    """The members that token capture adds or changes, and the sampling knobs that it neutralised (training
    only).
    """
    edits: dict[str, bytes | None] = {"return_token_ids": b"true", "logprobs": b"true"}
    if request.stream and "usage" not in request.asked:
        options = request.document.value("stream_options")
        edits["stream_options"] = encode(
            {**(options if isinstance(options, dict) else {}), "include_usage": True}
        )
    if not training:
        return edits, ()
    present = [name for name in FALSIFYING if name in request.document.members]
    neutralised = tuple(name for name in present if request.document.value(name) not in _NEUTRAL[name])
    return edits | dict.fromkeys(neutralised), neutralised


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


def _segments(steps: Sequence[Step], replacements: Mapping[Ref, str]) -> list[bytes]:
    touched: dict[int, list[tuple[int | None, str]]] = {}
    for ref, text in replacements.items():
        touched.setdefault(ref.message, []).append((ref.part, text))
    return [
        _rewritten(step, tuple(touched[index])) if index in touched else step.raw
        for index, step in enumerate(steps)
    ]


def _rewritten(step: Step, replacements: Replacements) -> bytes:
    """A message with texts replaced, encoded once: later turns meet the same bytes again."""
    if replacements not in step.rewritten:
        step.rewritten = {
            replacements: step.raw[: step.lead] + _replaced(step.raw[step.lead :], replacements)
        }
    return step.rewritten[replacements]


def _replaced(message: bytes, replacements: Replacements) -> bytes:
    try:
        members: dict[str, Any] = _members.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        members = decode(message)
    for part, text in replacements:
        members["content"] = _with_text(members["content"], part, text)
    return encode(members)


def _with_text(content: Any, part: int | None, text: str) -> Any:
    if part is None:
        return msgspec.Raw(encode(text))
    parts: list[Any] = _parts.decode(content) if isinstance(content, msgspec.Raw) else content
    block: dict[str, Any] = (
        _members.decode(parts[part]) if isinstance(parts[part], msgspec.Raw) else parts[part]
    )
    parts[part] = {**block, "text": msgspec.Raw(encode(text))}
    return parts


def _sent_chain(steps: Sequence[Step], segments: Sequence[bytes], mask: Mask) -> Chain | None:
    """The chain of what was sent, with the nodes of the previous turn wherever nothing changed."""
    parent: Chain | None = None
    for step, raw in zip(steps, segments, strict=True):
        if raw is step.raw and step.received.parent is parent:
            step.sent = step.received
        elif step.sent is None or step.sent.parent is not parent or step.sent_raw is not raw:
            step.sent = Chain(parent, mask(raw))
        step.sent_raw = raw
        parent = step.sent
    return parent


def _tools(raw: bytes) -> list[ToolSchema]:
    declared = decode(raw)
    out = []
    for tool in declared if isinstance(declared, list) else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            description, parameters = function.get("description"), function.get("parameters")
            out.append(
                ToolSchema(
                    function["name"],
                    description if isinstance(description, str) else "",
                    parameters if isinstance(parameters, dict) else {},
                )
            )
    return out


def _unmasked(segment: bytes) -> bytes:
    return segment
