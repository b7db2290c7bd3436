"""Read an answer, plain or streamed: what is recorded of it, and what the client gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.hidden_tools import HiddenCall
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream, for relaying. `raw` is what the client gets of it; empty drops it."""

    raw: bytes
    calls_tools: bool = False
    completing: bool = False
    """Clients act on it: it is held until its turn is recorded."""
    ended: bool = False
    """Nothing comes after it."""


class Passage(msgspec.Struct, frozen=True, gc=False):
    """Whole events that were read together, and go to the client unchanged."""

    size: int
    """Their bytes, from the start of what was given."""
    completing: int | None = None
    """Where in them the event begins that clients act on."""
    ended: bool = False
    """Nothing comes after them."""


UNREAD = Passage(0)


@dataclass(frozen=True, slots=True)
class Round:
    """One answer of the policy whose calls were all answered inside the gateway."""

    produced_body: bytes
    prompt_ids: list[int] | None
    completions: tuple[Completion, ...]
    usage: Mapping[str, Any]
    fitness: Fitness
    content: str | None
    """Its text, which the client got."""


class AnswerReader(ABC):
    """Reads one answer. The defaults are for an answer without hidden calls, which is one round: the client
    gets what the policy gave. `MappedAnswer` is for the others.
    """

    @property
    @abstractmethod
    def prompt_ids(self) -> list[int] | None:
        """The prompt's token ids, if the engine gave them."""

    @property
    @abstractmethod
    def usage(self) -> Mapping[str, Any]:
        """The usage as the upstream reported it."""

    @property
    @abstractmethod
    def error(self) -> Mapping[str, Any] | None:
        """An error inside the answer, for one in a stream that began with status 200."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the answer came to its end."""

    @abstractmethod
    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer. Gives the client's body: the very same object if nothing changed."""

    @abstractmethod
    def read_event(self, event: SseEvent) -> Chunk:
        """Read one event of a streamed answer."""

    def read_events(self, events: bytes) -> Passage:
        """Read events that go to the client unchanged, many at once: all whole ones or those before one that
        has to be read alone. `UNREAD` where that is the first.
        """
        return UNREAD

    @abstractmethod
    def produced_body(self) -> bytes:
        """The last round's answer as one plain body, as the policy gave it."""

    def delivered_body(self) -> bytes | None:
        """The client's answer as one plain body; None if it is the one produced."""
        return None

    @abstractmethod
    def head_text(self, name: str) -> str | None:
        """A text member of the answer's head: `id`, `model`."""

    @abstractmethod
    def completions(self) -> tuple[Completion, ...]:
        """The choices as sampled."""

    def fitness(self) -> Fitness:
        """FIT, or the first reason why this answer can't be trained on."""
        if self.error is not None:
            return Fitness.UPSTREAM_ERROR
        return self._check_sampled() if self.finished else Fitness.FINISH_NOT_SEEN

    def _check_sampled(self) -> Fitness:
        """The fitness of what was sampled for a complete answer. Most protocols have no tokens."""
        return Fitness.ENGINE_NO_TOKENS

    # Rounds: an answer that called hidden tools only is answered inside the gateway, and the policy goes on.

    @property
    def unanswered(self) -> bool:
        """Whether the current round called hidden tools only: nothing that completes it went out."""
        return False

    def hidden_calls(self) -> list[HiddenCall]:
        """The calls of the current round that the client doesn't see."""
        return []

    def inner_rounds(self) -> list[Round]:
        """The earlier rounds, which were answered inside the gateway."""
        return []

    def start_next_round(self) -> None:
        """The current round was answered inside: read the next one's answer."""
        raise NotImplementedError

    def conclude(self) -> bytes:
        """The current round won't be answered: what completes it for the client (of a plain answer, all)."""
        raise NotImplementedError

    def history_anchor(self) -> tuple[str, str | None]:
        """How a history will show this answer: by the id of its first call (or empty), and its text."""
        raise NotImplementedError

    def content(self) -> str | None:
        """The text of the current round."""
        return None
