"""A request as read: its document, its history as steps, and what the client asked of the answer.

This is the same for all protocols: a body is a JSON object with one member that holds the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import Document, all_objects
from crosswind.gateway.protocols.frame import Frame, FrameCache
from crosswind.gateway.protocols.hidden_tools import HistoryEdits
from crosswind.gateway.protocols.history import History, HistoryStep, Mask, SentHistory, hide_nothing
from crosswind.gateway.protocols.history_cache import HistoryCache, KnownPrefix
from crosswind.gateway.protocols.message_format import MessageFormat, Replacements, TextPart
from crosswind.gateway.protocols.text_transcript import read_transcript, write_message
from crosswind.gateway.trajectory.content import Chain, View, content_key
from crosswind.injectors.conversation import Conversation, Ref

NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})


class SplitBody(msgspec.Struct):
    """A body split into messages, which are not yet read. `member` holds the history: an array of messages,
    or one message.
    """

    body: bytes
    frame: Frame
    member: str
    spans: list[tuple[int, int]]
    held_by: str | None = None
    """The id of the response or conversation in which the upstream holds the messages before."""
    refers: bool = False
    """It refers to items that the upstream holds."""
    gathers: bool = False
    """The upstream keeps everything that is sent and answered: a further round sends its new messages only.
    """
    converses: bool = True
    """Whether it is part of a conversation, from which the session of an unlabelled request can be inferred.
    """
    parameters: Mapping[str, str] = NO_PARAMETERS
    """The parameters in the request's path: see `Codec.path`."""
    known: KnownPrefix | None = None
    """The body's known beginning, if there is one."""
    _document: Document | None = None

    @classmethod
    def of_document(
        cls,
        document: Document,
        member: str,
        spans: list[tuple[int, int]],
        *,
        parameters: Mapping[str, str] = NO_PARAMETERS,
        known: KnownPrefix | None = None,
    ) -> SplitBody:
        """A body that was read whole."""
        first = last = len(document.body)
        if spans:
            span = document.members[member]
            first = span.start + (document.body[span.start : span.start + 1] == b"[")
            last = spans[-1][1]
        frame = Frame(document, member, first, last)
        return cls(
            document.body, frame, member, spans, parameters=parameters, known=known, _document=document
        )

    @classmethod
    def of_messages(
        cls,
        body: bytes,
        member: str,
        frames: FrameCache,
        histories: HistoryCache | None = None,
        parameters: Mapping[str, str] = NO_PARAMETERS,
    ) -> SplitBody | None:
        """Split a body whose history is an array of objects; None if it isn't. `frames`: those of the
        protocol; `histories`: those of the likely sender, so that only what is new has to be split.
        """
        known = histories.find_prefix(body) if histories is not None else None
        if known is not None and (spans := known.frame.find_messages(body, known.end)) is not None:
            spans = [*known.history.spans[: known.steps], *spans]
            return cls(body, known.frame, member, spans, parameters=parameters, known=known)
        if known is None and (shared := frames.find(body)) is not None:
            return cls(body, shared[0], member, shared[1], parameters=parameters)
        found = Document.parse_around(body, member, known.start, known.end) if known else None
        if known is None or found is None:
            known, document = None, Document.parse(body)
            elements = document.element_spans(member) if document else None
            found = None if document is None or elements is None else (document, elements)
        if found is None or not all_objects(body, found[1]):
            return None
        document, new = found
        spans = [*known.spans, *new] if known else new
        split = cls.of_document(document, member, spans, parameters=parameters, known=known)
        if spans:
            frames.add(split.frame)
        return split

    @property
    def document(self) -> Document:
        """The whole body."""
        if self._document is None:
            self._document = self.frame.document(self.body)
        return self._document

    @property
    def first(self) -> int:
        """The offset in the body where the first message's separator begins."""
        return len(self.frame.head)

    @property
    def listed(self) -> bool:
        """Whether there is an array of messages."""
        return (self.frame.raw(self.member) or b"").startswith(b"[")

    @property
    def model(self) -> str | None:
        """The model's name, from the path or the body."""
        return self.parameters.get("model") or self.frame.model

    def first_user_turn(self, messages: MessageFormat) -> str:
        """The first user message's texts, by which an unlabelled session is told from others."""
        for start, end in self.spans:
            raw = self.body[start:end]
            read = read_transcript(messages.read(raw))
            if read.is_user:
                texts = [part.text for part in read.parts if isinstance(part, TextPart)]
                return "\n".join(texts) if texts else raw.decode("utf-8", "replace")
        return ""


class Request(msgspec.Struct, eq=False):
    """A request as read."""

    split: SplitBody
    frame: Frame
    """The split body's."""
    message_format: MessageFormat
    steps: tuple[HistoryStep, ...]
    chain: Chain | None
    """The chain of its messages, if it has any."""
    history: History
    """The history whose messages these are; it may go on behind them."""
    conversation: Conversation
    model: str | None
    stream: bool
    choices: int = 1
    requested: frozenset[str] = frozenset()
    """Which of `logprobs`, `token_ids` and `usage` (of a stream) the client itself asked for."""
    held: int = 0
    """How many messages of the history the upstream holds: `steps` come after them."""
    answered: int = 0
    """How many of the held messages are the answer just before."""
    previous_response: str | None = None
    """The id of the response that this request continues, if it says so."""
    on_answer: Callable[[Mapping[str, Any], str | None], None] | None = None
    """Takes the answer as the client gets it, and the upstream's id of it, if later requests may continue it.
    """
    edits: Mapping[str, bytes | None] = msgspec.field(default_factory=dict)
    """Members that the upstream must get with other values than the client's."""
    in_background: bool = False
    """The client fetches its answer later: it runs without noise."""
    certain: bool = True
    """Whether what came before it is known. Otherwise nothing new is decided."""
    _received: View | None = None
    _digest: bytes = b""

    def policy_anchors(self) -> Sequence[str | None]:
        """The anchors of its own messages that the policy made; None for the others."""
        return self.history.policy_anchors(self.held + len(self.steps))[self.held :]

    def previous_anchors(self) -> Sequence[str | None]:
        """The anchors of the messages answered just before, if the upstream holds them."""
        return self.history.policy_anchors(self.held)[self.held - self.answered :]

    def digest(self) -> bytes:
        """A digest of the body. The chain's key stands for the messages, which were hashed when they were
        new, and the frame's for the rest.
        """
        if not self._digest:
            chain = self.chain
            self._digest = content_key((b"" if chain is None else chain.key) + self.frame.key)
        return self._digest

    def stored_view(self, mask: Mask) -> View:
        """The body as received, for the store."""
        if self._received is None:
            self._received = View(self.frame.masked({}, mask), self.chain)
        return self._received

    def write(
        self,
        replacements: Mapping[Ref, str],
        edits: Mapping[str, bytes | None],
        mask: Mask,
        forward: HistoryEdits | None = None,
        clean: Set[Ref] = frozenset(),
    ) -> tuple[bytes, View]:
        """The body to send, and its view for the store. Messages and members that nothing touched keep their
        bytes. `clean`: the texts of which it is known that they hold no secret, as replaced.
        """
        if forward:
            segments = self._write_history(replacements, forward)
            if forward.ahead:
                body = self._with_history(self._whole_messages(segments, forward), edits)
                return body, View((mask(body),), None)
            chain = _sent_chain(None, self.steps, segments, mask)
        else:
            segments, chain = self._continue_sent(replacements, mask, clean)
        frame = self.frame
        pieces = frame.with_edits(edits) if edits else frame.pieces
        parts: list[bytes] = []
        for piece in pieces:
            parts += segments if piece is None else (piece,)
        stored = frame.masked(edits, mask) if edits else self.stored_view(mask).frame
        return b"".join(parts), View(stored, chain)

    def write_round(
        self,
        replacements: Mapping[Ref, str],
        edits: Mapping[str, bytes | None],
        forward: HistoryEdits | None,
        appended: Sequence[bytes],
    ) -> bytes:
        """The body to send for a further round within the gateway: `appended` messages end the history."""
        segments = self._write_history(replacements, forward)
        if forward is None or (self.split.listed and not self.split.gathers and not forward.ahead):
            history = b",".join([b"".join(segments), *appended])
            pieces = self.frame.with_edits(edits)
            return b"".join([history if piece is None else piece for piece in pieces])
        before = [] if self.split.gathers else self._whole_messages(segments, forward)
        return self._with_history([*before, *appended], edits)

    def _continue_sent(
        self, replacements: Mapping[Ref, str], mask: Mask, clean: Set[Ref]
    ) -> tuple[list[bytes], Chain | None]:
        """The history with its texts replaced, and its chain: only what was not sent before is written."""
        texts, sent = list(replacements.items()), self.history.sent
        known, at = len(sent.texts), len(sent.segments)
        new = texts[known:]
        if (
            sent.held != self.held
            or at > len(self.steps)
            or texts[:known] != sent.texts
            or (new and min([ref.message for ref, _ in new]) < self.held + at)
        ):
            sent, new, at = SentHistory(self.held), texts, 0
        steps = self.steps[at:]
        segments = self._write_steps(steps, self.held + at, new)
        if clean and {ref for ref, _ in new} <= clean:
            mask = hide_nothing
        sent.chain = _sent_chain(sent.chain, steps, segments, mask)
        sent.segments += segments
        sent.texts = texts
        self.history.sent = sent
        return sent.segments, sent.chain

    def _write_history(self, replacements: Mapping[Ref, str], forward: HistoryEdits | None) -> list[bytes]:
        """The history with its texts replaced, then as the policy met it: its own calls under the names that
        it saw, hidden ones reinserted.
        """
        segments = self._write_steps(self.steps, self.held, replacements.items())
        if not forward:
            return segments
        return [
            _restore(step, segment, forward, index)
            for index, (step, segment) in enumerate(zip(self.steps, segments, strict=True))
        ]

    def _write_steps(
        self, steps: Sequence[HistoryStep], first: int, texts: Iterable[tuple[Ref, str]]
    ) -> list[bytes]:
        """These steps, the first of which is message `first`, with their texts replaced."""
        touched: dict[int, list[tuple[int | None, str]]] = {}
        for ref, text in texts:
            touched.setdefault(ref.message - first, []).append((ref.part, text))
        return [
            _rewrite(self.message_format, step, tuple(touched[index])) if index in touched else step.raw
            for index, step in enumerate(steps)
        ]

    def _whole_messages(self, segments: Sequence[bytes], forward: HistoryEdits) -> list[bytes]:
        """The history's messages in their full form, behind those that the upstream lacks."""
        own = [b"".join(segments)] if self.split.listed else map(forward.mapping.expand_message, segments)
        return [*(message.encode() for message in forward.ahead), *own]

    def _with_history(self, messages: Iterable[bytes], edits: Mapping[str, bytes | None]) -> bytes:
        """The body with another history, which becomes an array if it was none."""
        history = b"[" + b",".join(filter(None, messages)) + b"]"
        return self.frame.with_history(history, edits, self.split.member)


def _rewrite(messages: MessageFormat, step: HistoryStep, replacements: Replacements) -> bytes:
    """A message with texts replaced. It is encoded once: later turns meet the same bytes again."""
    if replacements not in step.rewritten:
        raw, segments = step.raw[step.lead :], step.parsed.segments
        written = write_message(messages, raw, replacements, segments)
        step.rewritten = {replacements: step.raw[: step.lead] + written}
    return step.rewritten[replacements]


def _restore(step: HistoryStep, segment: bytes, forward: HistoryEdits, index: int) -> bytes:
    named = {call.name for call in step.parsed.calls} | step.parsed.tool_names
    names = {name: forward.names[name] for name in named & forward.names.keys()}
    put, before = forward.reinsertions.get(index), forward.reinsertions.get(index - 1)
    ids = forward.ids.get(index)
    if not names and put is None and before is None and ids is None:
        return segment
    key = (segment, tuple(sorted(names.items())), put, before, ids)
    if step.restored_key != key:
        raw = segment[step.lead :]
        raw = forward.mapping.rename_calls(raw, names) if names else raw
        raw = forward.mapping.restore_ids(raw, ids) if ids is not None else raw
        raw = forward.mapping.insert_results(raw, before) if before is not None else raw
        raw = forward.mapping.reinsert(raw, put) if put is not None else raw
        step.restored_key, step.restored = key, segment[: step.lead] + raw
    return step.restored


def _sent_chain(
    parent: Chain | None, steps: Sequence[HistoryStep], segments: Sequence[bytes], mask: Mask
) -> Chain | None:
    """The chain of the sent messages behind `parent`, with the previous turn's nodes wherever nothing
    changed.
    """
    for step, raw in zip(steps, segments, strict=True):
        if raw is step.raw and step.received.parent is parent:
            step.sent = step.received
        elif step.sent is None or step.sent.parent is not parent or step.sent_raw is not raw:
            # An unchanged message behind a changed one was masked when it was received.
            known = step.received
            clean = raw is step.raw
            step.sent = Chain(parent, known.body, block=known.block) if clean else Chain(parent, mask(raw))
        step.sent_raw = raw
        parent = step.sent
    return parent
