"""An answer whose calls are mapped back to the client's tools, made of one or more rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from crosswind.gateway.protocols.answer import AnswerReader, Round
from crosswind.gateway.protocols.hidden_tools import CallMapping
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

R = TypeVar("R", bound=AnswerReader)


class MappedAnswer(AnswerReader, Generic[R]):
    """Shared by the protocols' mapped answers. `make` gives the reader of one round, which records what the
    policy produced there: the turn's record is the last round's, the earlier ones are `inner_rounds`.
    """

    head_members: Sequence[str]
    """The members that all rounds have from the first one."""

    def __init__(self, mapping: CallMapping, make: Callable[[], R]) -> None:
        self._mapping = mapping
        self._make = make
        self._now = make()
        self._earlier: list[Round] = []
        self._head: dict[str, Any] = {}
        """The head of the delivered answer, which is the first round's."""
        self._over = False
        """The current round is to be answered inside: nothing more of it goes out."""
        self._kept: list[bytes] = []
        """The events that complete the answer if the round isn't answered."""

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

    def _remember_head(self, answer: Mapping[str, Any]) -> None:
        """Keep the first round's head for the delivered answer."""
        self._head = self._head or {name: answer[name] for name in self.head_members if name in answer}

    def inner_rounds(self) -> list[Round]:
        return self._earlier

    def start_next_round(self) -> None:
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
        self._now, self._over = self._make(), False
        self._kept.clear()


def add_usages(usages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Add usages up, member by member."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in usage.items():
            known = total.get(name)
            if isinstance(value, dict):
                total[name] = add_usages([known if isinstance(known, dict) else {}, value])
            elif isinstance(value, int | float) and isinstance(known, int | float):
                total[name] = known + value
            else:
                total[name] = value
    return total
