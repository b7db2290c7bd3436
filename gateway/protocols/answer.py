"""What reads an answer, plain or streamed: what is recorded of it, and what the client gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.hidden_tools import HiddenCall
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A stream's event as far as relaying it goes. `raw` is what the client gets of it: nothing drops it."""

    raw: bytes
    calls_tools: bool = False
    completing: bool = False
    """Clients act on it: it is held until its turn is on record."""
    ended: bool = False
    """Nothing comes after it."""


@dataclass(frozen=True, slots=True)
class Round:
    """One exchange with the policy that was answered inside: what it produced there."""

    produced_body: bytes
    prompt_ids: list[int] | None
    completions: tuple[Completion, ...]
    usage: Mapping[str, Any]
    fitness: Fitness
    content: str | None
    """Its text, which the client got."""


class SingleRoundReader:
    """What readers share that never answer inside: the client gets what was produced."""

    unanswered = False

    def defer(self, events: bytes) -> int:
        return 0

    def hidden_calls(self) -> list[HiddenCall]:
        return []

    def inner_rounds(self) -> list[Round]:
        return []

    def start_next_round(self) -> None:
        raise AssertionError("nothing is answered inside here")

    def conclude(self) -> bytes:
        raise AssertionError("nothing is answered inside here")

    def history_anchor(self) -> tuple[str, str | None]:
        raise AssertionError("nothing is answered inside here")

    def content(self) -> str | None:
        return None

    def delivered_body(self) -> bytes | None:
        return None


class AnswerReader(Protocol):
    """Collects one answer, plain or streamed, and says what the client gets of it."""

    @property
    def prompt_ids(self) -> list[int] | None:
        """The prompt's token ids, where the engine gave them."""
        ...

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage as the upstream reported it."""
        ...

    @property
    def error(self) -> Mapping[str, Any] | None:
        """An error that the answer itself carries, in a 200's stream for one."""
        ...

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives the body for the client: the very same object where nothing changed."""
        ...

    def read_event(self, event: SseEvent) -> Chunk:
        """Read one event of a streamed answer."""
        ...

    def defer(self, events: bytes) -> int:
        """Take whole events that go to the client as they are and that nobody acts on, to read them later,
        many at once. Gives how many bytes from the start they are: the rest has to be read now.
        """
        ...

    @property
    def finished(self) -> bool:
        """Whether the answer came to its end."""
        ...

    def produced_body(self) -> bytes:
        """The answer as one plain body: what came, or what a stream's events amount to. After rounds that
        were answered inside, the last one's.
        """
        ...

    def delivered_body(self) -> bytes | None:
        """What the client gets, as one plain body; None where it is what was produced."""
        ...

    def hidden_calls(self) -> list[HiddenCall]:
        """The calls of the round at hand that the client doesn't see."""
        ...

    @property
    def unanswered(self) -> bool:
        """Whether the round at hand called inner tools only: nothing that completes it went out."""
        ...

    def inner_rounds(self) -> list[Round]:
        """The rounds that were answered inside so far."""
        ...

    def start_next_round(self) -> None:
        """The round at hand is answered inside: go on with the next one's answer."""
        ...

    def history_anchor(self) -> tuple[str, str | None]:
        """What the client's history will show of this answer: the id of its first call (empty: none), and its
        text.
        """
        ...

    def content(self) -> str | None:
        """The text of the round at hand."""
        ...

    def conclude(self) -> bytes:
        """The round at hand won't be answered: what completes it for the client (of a plain answer, all)."""
        ...

    def head_text(self, name: str) -> str | None:
        """A text member of the answer's head: `id`, `model`."""
        ...

    def completions(self) -> tuple[Completion, ...]:
        """The choices as sampled."""
        ...

    def fitness(self) -> Fitness:
        """FIT, or the first reason why this answer can't be trained on."""
        ...
