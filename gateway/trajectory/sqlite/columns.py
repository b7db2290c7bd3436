"""Converts between the record's classes and table rows: the column of each field and its encoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
import orjson

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.content import pack, unpack
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import DeliveredId, DestroyedAnswer, NameMap, Shown
from crosswind.gateway.trajectory.likelihood import pack_top, unpack_top
from crosswind.gateway.trajectory.record import (
    Arm,
    Completion,
    Delivered,
    Delivery,
    Durable,
    Event,
    GeneratedText,
    InnerRound,
    ProviderObject,
    Reward,
    RewardState,
    Session,
    SessionStatus,
    Setting,
    TrainStep,
    Turn,
    TurnFailure,
    VersionSpan,
)
from crosswind.injectors.plain_data import convert

T = TypeVar("T")
Convert = Callable[[Any], Any]


def _to_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_PLAIN_DATA = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_readable = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_dict
).encode
_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_to_dict).encode


def to_json(value: Any) -> str:
    """JSON text of plain data. NaN and infinity are refused: null would be another value."""
    if not value:
        return "{}" if isinstance(value, dict) else "[]" if isinstance(value, tuple) else _readable(value)
    try:
        quick = orjson.dumps(value, option=_PLAIN_DATA)
    except TypeError:
        pass  # lone surrogates, great integers, keys that are no text, or no plain data at all
    else:
        # NaN and infinity come out as null, too.
        if b"null" not in quick:
            return quick.decode()
    body = _readable(value)
    return body if storable(body) is body else _ascii(value)


def text(value: Any) -> Any:
    """A text column's value; text that is no valid Unicode comes back from its WTF-8 bytes."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def from_json(value: Any) -> Any:
    return json.loads(text(value))


def storable(value: Any) -> Any:
    """The value as SQLite can take it: text with lone surrogates as WTF-8 bytes."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def _pack_versions(spans: Sequence[VersionSpan]) -> str | None:
    return to_json([(span.version, span.start, span.end) for span in spans]) if spans else None


def _unpack_versions(value: Any) -> tuple[VersionSpan, ...]:
    return tuple(VersionSpan(*span) for span in from_json(value)) if value else ()


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


_optional_to_json = _optional(to_json)
_optional_from_json = _optional(from_json)


def _tuple_from_json(value: Any) -> tuple[Any, ...]:
    return tuple(from_json(value)) if value else ()


def _object_from_json(value: Any) -> Any:
    return from_json(value) if value else {}


def _struct_to_json(value: Any) -> str:
    return to_json(msgspec.to_builtins(value)) if value else "[]"


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
    """Where a field is kept, and how it is written and read (None: as it is)."""

    field: str
    name: str
    write: Convert | None = None
    read: Convert | None = None


def _text_column(field: str, name: str | None = None) -> Column:
    return Column(field, name or field, None, text)


def _json_object(field: str) -> Column:
    return Column(field, f"{field}_json", to_json, _object_from_json)


def _optional_object(field: str) -> Column:
    return Column(field, f"{field}_json", _optional_to_json, _optional_from_json)


def _json_tuple(field: str) -> Column:
    return Column(field, f"{field}_json", to_json, _tuple_from_json)


class Table(Generic[T]):
    """A dataclass's table. Fields without a column here come from `decode`'s caller."""

    def __init__(
        self, name: str, kind: type[T], special: Sequence[Column] = (), leave: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.kind = kind
        given = {column.field: column for column in special}
        self.columns = tuple(
            given.get(name) or _text_column(name)
            for name in kind.__match_args__  # type: ignore[attr-defined]
            if name not in leave
        )
        self.names = tuple(column.name for column in self.columns)
        self._fields = attrgetter(*(column.field for column in self.columns))
        self._writes = tuple((at, c.write) for at, c in enumerate(self.columns) if c.write is not None)
        self._reads = tuple((c.field, c.read or (lambda value: value)) for c in self.columns)

    def encode(self, row: T) -> list[Any]:
        values = list(self._fields(row))
        for at, write in self._writes:
            values[at] = write(values[at])
        return values

    def decode(self, values: Sequence[Any], **left: Any) -> T:
        """Decode the values of `names`, in order; `left` gives the fields without a column."""
        fields = {field: read(value) for (field, read), value in zip(self._reads, values, strict=True)}
        return self.kind(**fields, **left)

    def insert(self, *extra: str, conflict: str = "ON CONFLICT DO NOTHING", stamped: bool = False) -> str:
        """An INSERT of all columns and the extra ones. A row of a known identity is not changed. `stamped`
        rows get the time of their transaction, which the function arrival() tells.
        """
        names = (*self.names, *extra)
        values = ["?"] * len(names)
        if stamped:
            names, values = (*names, "arrival"), [*values, "arrival()"]
        return f"INSERT INTO {self.name} ({', '.join(names)}) VALUES ({', '.join(values)}) {conflict}"

    def select(self, *extra: str) -> str:
        """The columns for a SELECT, qualified by the table's name, and the extra expressions after them."""
        return ", ".join([*(f"{self.name}.{name}" for name in self.names), *extra])


SESSION = Table(
    "session",
    Session,
    (
        _json_object("plan"),
        _json_object("labels"),
        _json_object("reward_components"),
        Column("arm", "arm", None, Arm),
        Column("status", "status", None, SessionStatus),
        Column("reward_state", "reward_state", None, RewardState),
        Column("noise_stopped", "noise_stopped", None, bool),
    ),
)
TURN = Table(
    "turn",
    Turn,
    (
        Column("index", "turn_index"),
        Column("fitness", "fitness", None, lambda value: Fitness(text(value))),
        Column("durable", "durable", None, Durable),
        Column("delivered", "delivered", None, Delivered),
        Column("stream", "stream", None, bool),
        Column("spared", "spared", None, bool),
        Column("request", "request", _optional(bytes.fromhex), _optional(bytes.hex)),
        _json_object("usage"),
        _json_object("usage_injected"),
        Column("error", "error_json", _optional(_struct_to_json), _optional(_failure_from_json)),
        Column("inner", "inner_json", _struct_to_json, _inner_from_json),
    ),
    leave=("received", "sent", "produced", "delivered_view", "prompt_ids", "completions"),
)
COMPLETION = Table(
    "completion",
    Completion,
    (
        Column("index", "choice"),
        Column("token_ids", "token_ids", partial(pack, "i"), partial(unpack, "i")),
        Column("logprobs", "logprobs", partial(pack, "d"), partial(unpack, "d")),
        Column("versions", "versions_json", _pack_versions, _unpack_versions),
        Column("top_logprobs", "top_logprobs", pack_top, unpack_top),
    ),
)
EVENT = Table("event", Event, (_json_object("draw"),))
SHOWN = Table("shown", Shown, (_json_tuple("decisions"),))
NAME_MAP = Table("name_map", NameMap)
GENERATED_TEXT = Table("generated_text", GeneratedText)
DELIVERED_ID = Table("delivered_id", DeliveredId)
DESTROYED_ANSWER = Table("destroyed_answer", DestroyedAnswer, leave=("taken",))
REWARD = Table("reward", Reward, (_json_object("components"),))
DELIVERY = Table(
    "delivery",
    Delivery,
    (
        Column("delivered", "delivered", None, Delivered),
        Column("durable", "durable", None, _optional(Durable)),
    ),
)
SETTING = Table("setting", Setting, (_json_object("value"),))
PROVIDER_OBJECT = Table("provider_object", ProviderObject)
TRAIN_STEP = Table(
    "train_step",
    TrainStep,
    (_json_tuple("group_ids"), _json_object("seeds"), _optional_object("metrics")),
)
