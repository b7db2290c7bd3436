"""Converts between the record's classes and table rows: the column of each field and its encoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

from crosswind.gateway.trajectory.json_text import from_json, text, to_json
from crosswind.gateway.trajectory.ledger_rows import DeliveredId, DestroyedAnswer
from crosswind.gateway.trajectory.record import (
    Arm,
    Event,
    GeneratedText,
    ProviderObject,
    Reward,
    RewardState,
    Session,
    SessionStatus,
    Setting,
    TrainStep,
)

T = TypeVar("T")
Convert = Callable[[Any], Any]
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Column:
    """Where a field is kept, and how it is written and read (None: as it is)."""

    field: str
    name: str
    write: Convert | None = None
    read: Convert | None = None


def _json_object(field: str) -> Column:
    return Column(field, f"{field}_json", to_json, lambda value: from_json(value) if value else {})


def _optional_object(field: str) -> Column:
    def write(value: Any) -> Any:
        return None if value is None else to_json(value)

    return Column(field, f"{field}_json", write, lambda value: None if value is None else from_json(value))


def _json_tuple(field: str) -> Column:
    return Column(field, f"{field}_json", to_json, lambda value: tuple(from_json(value)) if value else ())


class Table(Generic[T]):
    """A class's table. A row's session is kept by its number. The fields in `leave` have no column, those in
    `rare` are None in most rows."""

    def __init__(
        self,
        name: str,
        kind: type[T],
        special: Sequence[Column] = (),
        leave: Sequence[str] = (),
        rare: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.kind = kind
        given = {column.field: column for column in special} | {"session_id": Column("session_id", "session")}
        self.columns = tuple(
            given.get(name) or Column(name, name, None, text)
            for name in kind.__match_args__  # type: ignore[attr-defined]
            if name not in leave
        )
        self.names = tuple(column.name for column in self.columns)
        selected = {column: f"{name}.{column}" for column in self.names}
        if "session" in selected:
            selected["session"] = f"(SELECT id FROM session WHERE number = {name}.session)"
        self._selected = ", ".join(selected.values())
        self._fields = attrgetter(*(column.field for column in self.columns))
        self._session = self.names.index("session") if "session" in self.names else None
        self._writes = tuple((at, c.write) for at, c in enumerate(self.columns) if c.write is not None)
        self._names = tuple(c.field for c in self.columns)
        self._reads = tuple((c.field, c.read) for c in self.columns if c.read not in (None, text))
        self.common = tuple(c.name for c in self.columns if c.field not in rare)
        """The columns of a row whose rare fields are None."""
        self._rare = tuple(at for at, c in enumerate(self.columns) if c.field in rare)
        self._common = itemgetter(*(at for at, c in enumerate(self.columns) if c.field not in rare))

    def encode(self, row: T, numbers: Mapping[str, int]) -> list[Any]:
        """The row's values; `numbers` are those of the sessions."""
        values = list(self._fields(row))
        if self._session is not None:
            values[self._session] = numbers[values[self._session]]
        for at, write in self._writes:
            values[at] = write(values[at])
        return values

    def pick_common(self, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]] | None:
        """The values of the common columns in rows of `encode`; None if a row has others.

        To bind a NULL takes longer than to leave its column out.
        """
        for row in rows:
            for at in self._rare:
                if row[at] is not None:
                    return None
        return [self._common(row) for row in rows]

    def decode(self, values: Sequence[Any], **left: Any) -> T:
        """Decode the values that `select` gives, in order; `left` gives the fields without a column."""
        readable = [text(value) if type(value) is bytes else value for value in values]
        fields = dict(zip(self._names, readable, strict=True))
        for field, read in self._reads:
            fields[field] = read(fields[field])
        return self.kind(**fields, **left)

    def insert(
        self,
        *extra: str,
        given: Mapping[str, str] = _NONE,
        conflict: str = "ON CONFLICT DO NOTHING",
        common: bool = False,
    ) -> str:
        """An INSERT of all columns, or the common ones only, and the extra ones; `given` are columns with SQL
        for their values. A row of a known identity is not changed.
        """
        names = (*(self.common if common else self.names), *extra)
        values = ", ".join([*("?" for _ in names), *given.values()])
        return f"INSERT INTO {self.name} ({', '.join([*names, *given])}) VALUES ({values}) {conflict}"

    def select(self, *extra: str) -> str:
        """The columns for a SELECT, qualified by the table's name, and the extra expressions after them."""
        return ", ".join([self._selected, *extra])


SESSION = Table(
    "session",
    Session,
    (
        _json_object("plan"),
        _json_object("labels"),
        _json_object("reward_components"),
        # sqlite3 looks for an adapter for what isn't of its own types: that takes six times as long.
        Column("arm", "arm", str, Arm),
        Column("status", "status", str, SessionStatus),
        Column("reward_state", "reward_state", str, RewardState),
        Column("noise_stopped", "noise_stopped", int, bool),
    ),
    rare=(
        "task_id",
        "group_id",
        "group_size",
        "rollout_index",
        "policy",
        "tenant",
        "quarantine",
        "closed_us",
        "reward",
        "reward_source",
    ),
)
EVENT = Table(
    "event", Event, (_json_object("draw"), Column("version", "version", None, lambda value: value or 1))
)
GENERATED_TEXT = Table("generated_text", GeneratedText)
DELIVERED_ID = Table("delivered_id", DeliveredId)
DESTROYED_ANSWER = Table("destroyed_answer", DestroyedAnswer, leave=("taken",))
REWARD = Table("reward", Reward, (_json_object("components"),))
SETTING = Table("setting", Setting, (_json_object("value"),))
PROVIDER_OBJECT = Table("provider_object", ProviderObject)
TRAIN_STEP = Table(
    "train_step",
    TrainStep,
    (
        _json_tuple("group_ids"),
        _json_object("seeds"),
        _optional_object("metrics"),
        _optional_object("rewards"),
    ),
)
