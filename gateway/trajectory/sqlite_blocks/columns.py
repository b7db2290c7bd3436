"""Converts table rows to the record's classes: the column of each field and its encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.content import unpack
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.json_text import from_json, text
from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.likelihood import unpack_top
from crosswind.gateway.trajectory.record import (
    Completion,
    Delivered,
    Durable,
    InnerRound,
    Turn,
    TurnFailure,
    VersionSpan,
)
from crosswind.injectors.plain_data import convert

T = TypeVar("T")
Convert = Callable[[Any], Any]


def _unpack_versions(value: Any) -> tuple[VersionSpan, ...]:
    return tuple(VersionSpan(*span) for span in from_json(value)) if value else ()


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _tuple_from_json(value: Any) -> tuple[Any, ...]:
    return tuple(from_json(value)) if value else ()


def _object_from_json(value: Any) -> Any:
    return from_json(value) if value else {}


def _failure_from_json(value: Any) -> TurnFailure:
    return convert(from_json(value), TurnFailure)


def _inner_from_json(value: Any) -> tuple[InnerRound | UpstreamAttempt, ...]:
    """Rounds have no tag of their own in the store, so that the entry's shape decides."""
    return tuple(
        convert(entry, UpstreamAttempt) if "kind" in entry else convert(entry, InnerRound)
        for entry in (from_json(value) if value else ())
    )


@dataclass(frozen=True, slots=True)
class Column:
    """Where a field is kept, and how it is read (None: as it is)."""

    field: str
    name: str
    read: Convert | None = None


def _json_object(field: str) -> Column:
    return Column(field, f"{field}_json", _object_from_json)


class Table(Generic[T]):
    """A dataclass's table. Fields without a column here come from `decode`'s caller."""

    def __init__(
        self, name: str, kind: type[T], special: Sequence[Column] = (), leave: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.kind = kind
        given = {column.field: column for column in special}
        self.columns = tuple(
            given.get(name) or Column(name, name, text)
            for name in kind.__match_args__  # type: ignore[attr-defined]
            if name not in leave
        )
        self.names = tuple(column.name for column in self.columns)
        self._reads = tuple((c.field, c.read or (lambda value: value)) for c in self.columns)

    def decode(self, values: Sequence[Any], **left: Any) -> T:
        """Decode the values of `names`, in order; `left` gives the fields without a column."""
        fields = {field: read(value) for (field, read), value in zip(self._reads, values, strict=True)}
        return self.kind(**fields, **left)

    def select(self, *extra: str) -> str:
        """The columns for a SELECT, qualified by the table's name, and the extra expressions after them."""
        return ", ".join([*(f"{self.name}.{name}" for name in self.names), *extra])


TURN = Table(
    "turn",
    Turn,
    (
        Column("index", "turn_index"),
        Column("fitness", "fitness", lambda value: Fitness(text(value))),
        Column("durable", "durable", Durable),
        Column("delivered", "delivered", Delivered),
        Column("stream", "stream", bool),
        Column("spared", "spared", bool),
        Column("request", "request", _optional(bytes.hex)),
        _json_object("usage"),
        _json_object("usage_injected"),
        Column("error", "error_json", _optional(_failure_from_json)),
        Column("inner", "inner_json", _inner_from_json),
    ),
    leave=("kept", "received", "sent", "produced", "delivered_view", "prompt_ids", "completions"),
)
COMPLETION = Table(
    "completion",
    Completion,
    (
        Column("index", "choice"),
        Column("token_ids", "token_ids", partial(unpack, "i")),
        Column("logprobs", "logprobs", partial(unpack, "d")),
        Column("versions", "versions_json", _unpack_versions),
        Column("top_logprobs", "top_logprobs", unpack_top),
    ),
)
SHOWN = Table("shown", Shown, (Column("decisions", "decisions_json", _tuple_from_json),))
NAME_MAP = Table("name_map", NameMap)
