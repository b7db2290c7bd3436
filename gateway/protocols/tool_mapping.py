"""How a protocol closes the client's world: tools, calls and results as the policy meets them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, HistoryMapping, Reinsertion
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.engine.tool_list import ShownTool

AnsweredRound = tuple[bytes, Sequence[tuple[HiddenCall, str]]]
"""What a round produced, and how its inner calls were answered."""
AnswerAnchor = tuple[str, str | None, int]
"""By what a message of the policy's will be found: its first call's id, its text, and how many before it in
the same answer are found by the same.
"""
AnchoredReinsertion = tuple[AnswerAnchor, Reinsertion]
"""The message around which something is put back, and what."""


class ToolMapping(HistoryMapping, Protocol):
    """One protocol's forms. Messages are JSON text; all methods are pure."""

    @property
    def duplicates(self) -> str:
        """Whether the protocol takes two tools of one name: `allowed`, or `suffixed`."""
        ...

    def strict_tools(self, tools: bytes) -> frozenset[str]:
        """The declared tools to whose schemas the provider holds the model."""
        ...

    def reserved_names(self, tools: bytes) -> frozenset[str]:
        """The names of declared tools that are no functions: custom ones, and the provider's own."""
        ...

    def write_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        """The `tools` member, as it stands in `raw`, with its function tools as they are shown."""
        ...

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        """A plain answer as the policy's message (or messages) in a history."""
        ...

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        """The results of inner calls as messages of a history."""
        ...

    def find_reinsertions(
        self, answer: AnswerReader, mapping: CallMapping, before: Sequence[AnsweredRound], last: AnsweredRound
    ) -> Sequence[AnchoredReinsertion]:
        """What the client's history will lack of an answer, by the messages around which it is put back:
        of the rounds before, and of the last one its inner calls.
        """
        ...

    def answer_reader(self, request: Request, mapping: CallMapping, *, captured: bool) -> AnswerReader:
        """A reader for the answer of a policy that was shown other tools than the client declared."""
        ...


class WrittenTools:
    """How a session's tools were written last: the same ones are declared, and shown, turn after turn."""

    __slots__ = ("_mapping", "_raw", "_shown", "_strict", "_taken", "_written")

    def __init__(self) -> None:
        self._mapping: ToolMapping | None = None
        self._raw = b""
        self._strict: frozenset[str] = frozenset()
        self._taken: frozenset[str] = frozenset()
        self._shown: Sequence[ShownTool] | None = None
        self._written = b""

    def strict_tools(self, mapping: ToolMapping, raw: bytes) -> frozenset[str]:
        """As `Closing.strict`."""
        if mapping is not self._mapping or raw != self._raw:
            self._strict, self._taken = mapping.strict_tools(raw), mapping.reserved_names(raw)
            self._mapping, self._raw, self._shown = mapping, raw, None
        return self._strict

    def reserved_names(self, mapping: ToolMapping, raw: bytes) -> frozenset[str]:
        """As `Closing.taken`."""
        self.strict_tools(mapping, raw)
        return self._taken

    def write_tools(self, mapping: ToolMapping, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        """As `Closing.written_tools`."""
        self.strict_tools(mapping, raw)
        if shown is not self._shown:
            self._written, self._shown = mapping.write_tools(raw, shown), shown
        return self._written


def reinsert_around_message(
    mapping: ToolMapping,
    answer: AnswerReader,
    before: Sequence[AnsweredRound],
    last: AnsweredRound,
    called: Sequence[tuple[str, str]],
) -> list[AnchoredReinsertion]:
    """`put_backs` of a protocol whose answers are one message each."""
    rounds = [
        message
        for produced, results in before
        for message in (*mapping.history_messages(produced), *mapping.result_messages(results))
    ]
    put = Reinsertion(
        before=tuple(message.decode() for message in rounds),
        text=answer.content() if rounds else None,
        calls=tuple((call.position, call.json()) for call, _ in last[1]),
        results=tuple(message.decode() for message in mapping.result_messages(last[1])),
        names=tuple(call.name for _, results in [*before, last] for call, _ in results),
        called=tuple(called),
    )
    return [] if put == Reinsertion() else [((*answer.history_anchor(), 0), put)]


def find_renamed_calls(
    mapping: CallMapping, calls: Iterable[tuple[str, str]], inner: Sequence[tuple[HiddenCall, str]]
) -> list[tuple[str, str]]:
    """Of an answer's calls (id, name) the delivered ones that a history would show under another name."""
    withheld = {call.call_id for call, _ in inner}
    return [
        (call_id, name)
        for call_id, name in calls
        if call_id and call_id not in withheld and mapping.shown_name(name) != name
    ]
