"""A request that was understood: its document, its history as steps, and what the client asked of the answer.

Generic over the protocol: a body is a JSON object with one member that holds the history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from crosswind.gateway.protocols.document import Document
from crosswind.gateway.protocols.hidden_tools import HistoryEdits
from crosswind.gateway.protocols.history import History, HistoryStep, Mask
from crosswind.gateway.protocols.history_cache import HistoryCache, KnownPrefix
from crosswind.gateway.protocols.message_format import MessageFormat, Replacements, TextPart, parse_message
from crosswind.gateway.trajectory.content import Chain, View, content_key
from crosswind.injectors.conversation import Conversation, Ref


class SplitBody(msgspec.Struct, frozen=True):
    """A body that could be split into messages; not yet read. `member` holds the history: an array of
    messages, or one message.
    """

    document: Document
    member: str
    spans: list[tuple[int, int]]
    held_by: str | None = None
    """The response or conversation, by its id, in which the upstream holds what comes before."""
    refers: bool = False
    """It refers to items that the upstream holds."""
    gathers: bool = False
    """The upstream adds everything that is sent and answered to what it holds: a further round's messages are
    all that is new then.
    """
    converses: bool = True
    """Whether it is part of a conversation: only then an unnamed session can be told by it."""

    known: KnownPrefix | None = None
    """How the body begins, where that was found."""

    @classmethod
    def of_messages(cls, body: bytes, member: str, histories: HistoryCache | None = None) -> SplitBody | None:
        """A body whose history is an array of objects; None where it is none. `histories`: what its sender
        sent lately, so that only what is new has to be split.
        """
        known = histories.find_prefix(body) if histories is not None else None
        found = Document.parse_around(body, member, known.start, known.end) if known else None
        if known is None or found is None:
            known, document = None, Document.parse(body)
            elements = document.element_spans(member) if document else None
            found = None if document is None or elements is None else (document, elements)
        if found is None or any(body[start] != ord("{") for start, _ in found[1]):
            return None
        document, new = found
        return cls(document, member, [*known.spans, *new] if known else new, known=known)

    @property
    def first(self) -> int:
        """Where the first message's separator begins, in the body."""
        start = self.document.members[self.member].start
        return start + 1 if self.document.body[start : start + 1] == b"[" else start

    @property
    def listed(self) -> bool:
        """Whether there is an array of messages."""
        span = self.document.members.get(self.member)
        return span is not None and self.document.body[span.start : span.start + 1] == b"["

    @property
    def last(self) -> int:
        """Where the last message ends, in the body."""
        return self.spans[-1][1] if self.spans else self.first

    @property
    def model(self) -> str | None:
        """The model's name, where it is one."""
        model = self.document.value("model")
        return model if isinstance(model, str) else None

    def first_user_turn(self, messages: MessageFormat) -> str:
        """The first user message's texts, by which an otherwise unknown session is told apart."""
        for start, end in self.spans:
            raw = self.document.body[start:end]
            read = parse_message(messages, raw)
            if read.is_user:
                texts = [part.text for part in read.parts if isinstance(part, TextPart)]
                return "\n".join(texts) if texts else raw.decode("utf-8", "replace")
        return ""


class Request(msgspec.Struct, eq=False):
    """A request that was understood."""

    split: SplitBody
    message_format: MessageFormat
    steps: tuple[HistoryStep, ...]
    conversation: Conversation
    model: str | None
    stream: bool
    choices: int = 1
    requested: frozenset[str] = msgspec.field(default_factory=frozenset)
    """Which of `logprobs`, `token_ids` and `usage` (of a stream) the client itself asked for."""
    held: int = 0
    """How many messages of the history the upstream holds: `steps` come after them."""
    history: History | None = None
    """The history that its messages end, where the upstream may hold some of it."""
    previous_anchors: tuple[str | None, ...] = ()
    """The anchors of what was answered just before, where the upstream holds that."""
    previous_response: str | None = None
    """The response, by its id, after which this request comes, where it says so."""
    on_answer: Callable[[Mapping[str, Any], str | None], None] | None = None
    """To be told the answer as the client gets it, and the id by which the upstream holds it, where later
    requests may go on from it.
    """
    edits: Mapping[str, bytes | None] = msgspec.field(default_factory=dict)
    """Members that the upstream knows otherwise than the client."""
    in_background: bool = False
    """Nobody waits for its answer, which is asked for later: it runs without noise."""
    certain: bool = True
    """Whether what came before it is known. Else nothing new is decided."""
    _pieces: tuple[bytes | None, ...] = ()
    _received: View | None = None
    _digest: bytes = b""

    @property
    def document(self) -> Document:
        return self.split.document

    @property
    def chain(self) -> Chain | None:
        return self.steps[-1].received if self.steps else None

    def digest(self) -> bytes:
        """What tells this body from others: the chain's key stands for the messages, which were hashed when
        they were new.
        """
        if not self._digest:
            pieces = [piece for piece in self._around() if piece is not None]
            self._digest = content_key(b"".join((self.chain.key if self.chain else b"", *pieces)))
        return self._digest

    def stored_view(self, mask: Mask) -> View:
        """The body as it came, as what is stored of it."""
        if self._received is None:
            self._received = View(_mask_pieces(self._around(), mask), self.chain)
        return self._received

    def write(
        self,
        replacements: Mapping[Ref, str],
        edits: Mapping[str, bytes | None],
        mask: Mask,
        forward: HistoryEdits | None = None,
    ) -> tuple[bytes, View]:
        """The body to send, and what is stored of it. Messages and members that nothing touched keep their
        bytes.
        """
        segments = self._restore_history(
            _segments(self.message_format, self.steps, replacements, self.held), forward
        )
        if forward is not None and forward.ahead:
            body = self._with_new_history(
                [b"".join(segments)] if self.split.listed else segments, edits, forward
            )
            return body, View((mask(body),), None)
        pieces = self._frame(edits) if edits else self._around()
        body = b"".join([b"".join(segments) if piece is None else piece for piece in pieces])
        frame = _mask_pieces(pieces, mask) if edits else self.stored_view(mask).frame
        return body, View(frame, _sent_chain(self.steps, segments, mask))

    def write_round(
        self,
        replacements: Mapping[Ref, str],
        edits: Mapping[str, bytes | None],
        forward: HistoryEdits | None,
        appended: Sequence[bytes],
    ) -> bytes:
        """The body to send for a further round within the gateway: these messages end the history."""
        segments = self._restore_history(
            _segments(self.message_format, self.steps, replacements, self.held), forward
        )
        if forward is None or (self.split.listed and not self.split.gathers and not forward.ahead):
            history = b",".join([b"".join(segments), *appended])
            return b"".join(history if piece is None else piece for piece in self._frame(edits))
        if self.split.gathers:
            return self._with_new_history([], edits, replace(forward, ahead=()), appended)
        return self._with_new_history(
            [b"".join(segments)] if self.split.listed else segments, edits, forward, appended
        )

    def _with_new_history(
        self,
        own: Sequence[bytes],
        edits: Mapping[str, bytes | None],
        forward: HistoryEdits,
        appended: Sequence[bytes] = (),
    ) -> bytes:
        """The body with another history, an array whatever it was."""
        ahead = [message.encode() for message in forward.ahead]
        messages = own if self.split.listed else map(forward.mapping.expand_message, own)
        history = b"[" + b",".join([*ahead, *filter(None, messages), *appended]) + b"]"
        frame = structs.replace(self, steps=())._frame({**edits, self.split.member: history})
        return b"".join(piece for piece in frame if piece is not None)

    def _restore_history(self, segments: list[bytes], forward: HistoryEdits | None) -> list[bytes]:
        """The history as the policy met it: its calls under the names it saw, withheld ones put back."""
        if not forward:
            return segments
        return [
            _restore(step, segment, forward, index)
            for index, (step, segment) in enumerate(zip(self.steps, segments, strict=True))
        ]

    def _around(self) -> tuple[bytes | None, ...]:
        """The body as it came, around its messages."""
        self._pieces = self._pieces or self._frame({})
        return self._pieces

    def _frame(self, edits: Mapping[str, bytes | None]) -> tuple[bytes | None, ...]:
        """The body around its messages (None). The tools are a piece of their own, since they repeat where
        the rest varies.
        """
        pieces: list[bytes | None] = []
        text = bytearray(self.document.opening)
        for name, lead, value in self.document.members_with(edits):
            text += lead
            if name == self.split.member and self.steps:
                span = self.document.members[name]
                text += self.document.body[span.start : self.split.first]
                pieces += [bytes(text), None]
                text = bytearray(self.document.body[self.split.last : span.end])
            elif name == "tools":
                pieces += [bytes(text), value]
                text = bytearray()
            else:
                text += value
        return (*pieces, bytes(text + self.document.closing))


def _segments(
    messages: MessageFormat, steps: Sequence[HistoryStep], replacements: Mapping[Ref, str], held: int
) -> list[bytes]:
    touched: dict[int, list[tuple[int | None, str]]] = {}
    for ref, text in replacements.items():
        touched.setdefault(ref.message, []).append((ref.part, text))
    return [
        _rewrite(messages, step, tuple(touched[index])) if index in touched else step.raw
        for index, step in enumerate(steps, held)
    ]


def _rewrite(messages: MessageFormat, step: HistoryStep, replacements: Replacements) -> bytes:
    """A message with texts replaced, encoded once: later turns meet the same bytes again."""
    if replacements not in step.rewritten:
        step.rewritten = {
            replacements: step.raw[: step.lead] + messages.write(step.raw[step.lead :], replacements)
        }
    return step.rewritten[replacements]


def _restore(step: HistoryStep, segment: bytes, forward: HistoryEdits, index: int) -> bytes:
    named = {call.name for call in step.parsed.calls} | step.parsed.tool_names
    names = {name: forward.names[name] for name in named & forward.names.keys()}
    put, before = forward.reinsertions.get(index), forward.reinsertions.get(index - 1)
    if not names and put is None and before is None:
        return segment
    key = (segment, tuple(sorted(names.items())), put, before)
    if step.restored_key != key:
        raw = segment[step.lead :]
        raw = forward.mapping.rename_calls(raw, names) if names else raw
        raw = forward.mapping.insert_results(raw, before) if before is not None else raw
        raw = forward.mapping.reinsert(raw, put) if put is not None else raw
        step.restored_key, step.restored = key, segment[: step.lead] + raw
    return step.restored


def _sent_chain(steps: Sequence[HistoryStep], segments: Sequence[bytes], mask: Mask) -> Chain | None:
    """The chain of what was sent, with the nodes of the previous turn wherever nothing changed."""
    parent: Chain | None = None
    for step, raw in zip(steps, segments, strict=True):
        if raw is step.raw and step.received.parent is parent:
            step.sent = step.received
        elif step.sent is None or step.sent.parent is not parent or step.sent_raw is not raw:
            # Behind a message that was replaced stands one as it came, which was looked through then.
            step.sent = step.received.with_parent(parent) if raw is step.raw else Chain(parent, mask(raw))
        step.sent_raw = raw
        parent = step.sent
    return parent


def _mask_pieces(pieces: tuple[bytes | None, ...], mask: Mask) -> tuple[bytes | None, ...]:
    return tuple([None if piece is None else mask(piece) for piece in pieces])
