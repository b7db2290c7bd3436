"""What the protocols' readers of a closed world share: one answer to the client, made of several rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from crosswind.gateway.protocols.answer import Round
from crosswind.gateway.protocols.hidden_tools import CallMapping
from crosswind.gateway.protocols.usage import add_usages
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion


class RoundReader(Protocol):
    """The reader of one round, which records what was produced there."""

    @property
    def prompt_ids(self) -> list[int] | None: ...
    @property
    def usage(self) -> Mapping[str, Any]: ...
    @property
    def error(self) -> Mapping[str, Any] | None: ...
    @property
    def finished(self) -> bool: ...
    def produced_body(self) -> bytes: ...
    def head_text(self, name: str) -> str | None: ...
    def completions(self) -> tuple[Completion, ...]: ...
    def fitness(self) -> Fitness: ...


R = TypeVar("R", bound=RoundReader)


class MappedAnswer(Generic[R]):
    """The part of an `AnswerReader` that doesn't depend on how a protocol maps calls back. What is recorded
    is the last round's; the earlier ones are in `rounds`.
    """

    def __init__(self, mapping: CallMapping, make: Callable[[], R]) -> None:
        self._mapping = mapping
        self._make = make
        self._now = make()
        self._earlier: list[Round] = []
        self._head: dict[str, Any] = {}
        """The first round's, which is the delivered answer's."""

    @property
    def prompt_ids(self) -> list[int] | None:
        return self._now.prompt_ids

    @property
    def usage(self) -> Mapping[str, Any]:
        return add_usages([*(one.usage for one in self._earlier), self._now.usage])

    @property
    def error(self) -> Mapping[str, Any] | None:
        return self._now.error

    @property
    def finished(self) -> bool:
        return self._now.finished

    def defer(self, events: bytes) -> int:
        return 0

    def produced_body(self) -> bytes:
        return self._now.produced_body()

    def head_text(self, name: str) -> str | None:
        value = self._head.get(name)
        return value if isinstance(value, str) else self._now.head_text(name)

    def completions(self) -> tuple[Completion, ...]:
        return self._now.completions()

    def fitness(self) -> Fitness:
        unfit = [one.fitness for one in self._earlier if one.fitness != Fitness.FIT]
        return unfit[0] if unfit else self._now.fitness()

    def inner_rounds(self) -> list[Round]:
        """The rounds that were answered inside so far."""
        return self._earlier

    def content(self) -> str | None:
        """The text of the round at hand."""
        return None

    def start_next_round(self) -> None:
        """The round at hand is answered: read the next one's answer."""
        now = self._now
        self._earlier.append(
            Round(
                now.produced_body(),
                now.prompt_ids,
                now.completions(),
                now.usage,
                now.fitness(),
                self.content(),
            )
        )
        self._now = self._make()
