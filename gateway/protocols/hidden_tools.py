"""Calls that noise made possible and the client must not see.

The client sees calls only to tools that it declared, under its own names. Calls to tools that only noise
shows are answered inside the gateway. On the next turn they are reinserted into the history where the policy
made them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.protocols.call_ids import MISSING_RESULT, IdPairs, MessageIds
from crosswind.gateway.protocols.document import JsonPath, replace_values
from crosswind.gateway.protocols.json_values import decode


class CallMapping:
    """How an exchange's calls map between policy and client, by the names that the policy sees. This one is
    for unchanged tools; `noise.tool_view` overrides it.
    """

    __slots__ = ()

    def client_name(self, name: str) -> str:
        """The client's own name of a tool."""
        return name

    def shown_name(self, name: str) -> str:
        """The name that the policy is shown for a call, if only the client's name of it is known."""
        return name

    def is_hidden(self, name: str, arguments: str) -> bool:
        """Whether a call is answered inside the gateway."""
        return False

    def needs_arguments(self, name: str) -> bool:
        """Whether `is_hidden` depends on the arguments."""
        return False

    def may_continue(self, name: str) -> bool:
        """Whether another name begins with this one, so that a streamed name may be incomplete."""
        return False

    @property
    def hides_calls(self) -> bool:
        """Whether any call may be answered inside the gateway."""
        return False


UNCHANGED = CallMapping()


@dataclass(frozen=True, slots=True)
class HiddenCall:
    """A call that the client never sees. `position`: its place among the answer's calls. `raw`: the call as
    the policy made it, in the protocol's form.
    """

    position: int
    call_id: str
    name: str
    arguments: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reinsertion:
    """What to reinsert around a delivered message, so that the policy meets again what it made. It is stored
    in the ledger. Messages and calls are JSON in the protocol's form.
    """

    before: tuple[str, ...] = ()
    """Whole messages before it: the rounds that were answered inside."""
    text: str | None = None
    """The message's own text, without that of the rounds before."""
    calls: tuple[tuple[int, str], ...] = ()
    """Its hidden calls, with their positions."""
    results: tuple[str, ...] = ()
    """The messages that answer them."""
    names: tuple[str, ...] = ()
    """The tools of all hidden calls, by the names that the policy saw."""
    called: tuple[tuple[str, str], ...] = ()
    """Delivered calls (their ids) with the name that the policy called, where several tools that it was shown
    are one to the client.
    """
    owed: tuple[str, ...] = ()
    """Of the results those that no round has sent: an upstream that holds the history still lacks them."""
    protocol: str = ""
    """The protocol of these forms: another one's history can't take them. Empty in rows of early versions."""
    ids: IdPairs = ()
    """The ids of its calls, as the client got them and as the policy made them, where noise changed them."""


class HistoryMapping(ABC):
    """How a client's history is turned back into the one that the policy met. Messages are JSON text."""

    @abstractmethod
    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        """The policy's message with its calls under other names (declared -> shown)."""

    @abstractmethod
    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        """The results of hidden calls as messages of a history."""

    @abstractmethod
    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        """The policy's message with everything reinserted, and the messages around it, comma-separated."""

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        """The message after one with reinsertions, for protocols that want the results in it."""
        return raw

    @abstractmethod
    def id_paths(self, message: Any) -> tuple[list[JsonPath], list[JsonPath]]:
        """The paths of the calls' ids in a message, and of those that its results name."""

    def restore_ids(self, raw: bytes, ids: MessageIds) -> bytes:
        """The message with the ids that the policy gave its calls."""
        message = decode(raw)
        changed: dict[JsonPath, str] = {}
        for paths, true in zip(self.id_paths(message), (ids.calls, ids.results), strict=True):
            if len(paths) == len(true):
                changed.update(zip(paths, true, strict=True))
        restored = replace_values(raw, changed) if changed else raw
        calls = [HiddenCall(0, one, "", "", {}) for one in ids.missing]
        return self.add_results(restored, self.result_messages([(one, MISSING_RESULT) for one in calls]))

    def add_results(self, raw: bytes, results: Sequence[bytes]) -> bytes:
        """The message with further results behind it."""
        return b",".join([raw, *results])

    def expand_message(self, raw: bytes) -> bytes:
        """The full form of a message that may stand for a whole history, such as a string."""
        return raw


@dataclass(frozen=True, slots=True)
class HistoryEdits:
    """What a request's history needs besides noisy texts."""

    mapping: HistoryMapping
    names: Mapping[str, str]
    """The names of calls that the policy saw (declared -> shown)."""
    reinsertions: Mapping[int, Reinsertion]
    """By the index of their message."""
    ahead: tuple[str, ...] = ()
    """Messages before the request's own, which the upstream lacks of the history that it holds."""
    ids: Mapping[int, MessageIds] = field(default_factory=dict)
    """The ids of calls and results, by the index of their message, where the client has others."""

    def __bool__(self) -> bool:
        return bool(self.names or self.reinsertions or self.ahead or self.ids)
