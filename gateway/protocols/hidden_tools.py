"""The closed world of one exchange: what of the policy's view of the tools the client must not see.

The client sees calls only to tools that it declared, under its own names. Calls to what only noise put there
are answered inside the gateway; on the next turn they are put back where the policy made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from crosswind.gateway.protocols.document import encode


class CallMapping(Protocol):
    """What the policy was shown, as far as its calls go. Names are those that the policy sees."""

    def client_name(self, name: str) -> str:
        """The client's own name of a tool."""
        ...

    def shown_name(self, name: str) -> str:
        """The name under which a history, of which only the client's names are known, shows a call."""
        ...

    def is_hidden(self, name: str, arguments: str) -> bool:
        """Whether a call is answered inside the gateway."""
        ...

    def needs_arguments(self, name: str) -> bool:
        """Whether `inside` hangs on the arguments."""
        ...

    def may_continue(self, name: str) -> bool:
        """Whether another name begins with this one, so that a streamed name may not be whole yet."""
        ...

    @property
    def hides_calls(self) -> bool:
        """Whether any call may be answered inside the gateway."""
        ...


class _UnchangedView:
    """The policy was shown the tools as they are."""

    hides_calls = False

    def client_name(self, name: str) -> str:
        return name

    def shown_name(self, name: str) -> str:
        return name

    def is_hidden(self, name: str, arguments: str) -> bool:
        return False

    def needs_arguments(self, name: str) -> bool:
        return False

    def may_continue(self, name: str) -> bool:
        return False


UNCHANGED: CallMapping = _UnchangedView()
"""No call has to be mapped."""


@dataclass(frozen=True, slots=True)
class HiddenCall:
    """A call that the client never sees. `position` is its place among its answer's calls; `raw` the call as
    the policy made it, in the protocol's own form.
    """

    position: int
    call_id: str
    name: str
    arguments: str
    raw: Mapping[str, Any]

    def json(self) -> str:
        """The call as JSON."""
        return encode(self.raw).decode()


@dataclass(frozen=True, slots=True)
class Reinsertion:
    """What to put back around a delivered message of the policy's, so that it meets again what it made.

    `before` are whole messages that stood before it (rounds that were answered inside), `text` is then its
    own text without theirs; `calls` are its withheld calls with their position, and `results` the messages
    that answered them: all in the protocol's own form, as JSON. `names` are the tools of all calls that were
    answered inside, as the policy saw them.
    """

    before: tuple[str, ...] = ()
    text: str | None = None
    calls: tuple[tuple[int, str], ...] = ()
    results: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    called: tuple[tuple[str, str], ...] = ()
    """Delivered calls (their ids) that the policy made under other names than the client's give: of several
    tools that are one to the client.
    """
    owed: tuple[str, ...] = ()
    """Of the results those that came with no round: an upstream that holds the rest still lacks them."""
    protocol: str = ""
    """Whose form it has: a history that is told in another one can't take it. Empty in rows of old."""


class HistoryMapping(Protocol):
    """How a protocol's history is carried back to what the policy met. Messages are JSON text."""

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        """The policy's message with its calls under other names (declared -> shown)."""
        ...

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        """The policy's message with what the client never saw of it, and the messages around it, with commas
        between them.
        """
        ...

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        """The message after one with something put back: where the protocol wants results in it."""
        ...

    def expand_message(self, raw: bytes) -> bytes:
        """A message in the short form that stands for a history of one, in the form of a history's."""
        ...


@dataclass(frozen=True, slots=True)
class HistoryEdits:
    """What a request's history needs besides noisy texts: calls under the names that the policy saw
    (declared -> shown), and withheld calls put back, by the index of their message.
    """

    mapping: HistoryMapping
    names: Mapping[str, str]
    reinsertions: Mapping[int, Reinsertion]
    ahead: tuple[str, ...] = ()
    """Messages that come before the request's own: what the upstream lacks of a history that it holds."""

    def __bool__(self) -> bool:
        return bool(self.names or self.reinsertions or self.ahead)
