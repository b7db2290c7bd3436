"""One write to SQLite: rows are sorted by what they are, and inserted table by table in one transaction."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, get_args

from crosswind.gateway.trajectory.json_text import storable, to_json
from crosswind.gateway.trajectory.ledger_rows import (
    DeliveredId,
    DestroyedAnswer,
    LedgerTextsErased,
    NameMap,
    Shown,
)
from crosswind.gateway.trajectory.record import (
    Delivery,
    Event,
    GeneratedText,
    ProviderObject,
    Reward,
    Row,
    Session,
    SessionClosed,
    SessionDeleted,
    SessionMarked,
    Setting,
    Turn,
)
from crosswind.gateway.trajectory.session_content import SessionContent
from crosswind.gateway.trajectory.sqlite.columns import (
    DELIVERED_ID,
    DESTROYED_ANSWER,
    EVENT,
    GENERATED_TEXT,
    PROVIDER_OBJECT,
    REWARD,
    SESSION,
    SETTING,
)
from crosswind.gateway.trajectory.sqlite.deletion import delete_sessions, find_deleted, find_next_number
from crosswind.gateway.trajectory.sqlite.known_sessions import KnownSessions
from crosswind.gateway.trajectory.sqlite.turn_rows import encode_row, insert_turns, is_stored, load_known
from crosswind.gateway.trajectory.store import RowRefused
from crosswind.gateway.trajectory.stored_turn import encode_ledger, without_texts
from crosswind.gateway.trajectory.turn_body import LedgerBody, decode_body

Numbers = Mapping[str, int]
Values = Sequence[Any]
Runs = sqlite3.Connection | sqlite3.Cursor
"""What runs statements. A cursor tells which row came last."""

_STAMPED = {"arrival": "arrival()"}
_SESSION = SESSION.insert("number", "arrival", "rewarded_us")
_COMMON_SESSION = SESSION.insert("number", "arrival", common=True)
_REWARDED = """
UPDATE session SET
  reward_state = 'given',
  rewarded_arrival = CASE WHEN rewarded_us IS NULL THEN arrival() ELSE rewarded_arrival END,
  rewarded_us = coalesce(rewarded_us, (
    SELECT created_us FROM reward WHERE session = number ORDER BY arrival, reward.id LIMIT 1)),
  (reward, reward_components_json, reward_source) = (
    SELECT reward.reward, components_json, source FROM reward
    WHERE session = number ORDER BY arrival DESC, reward.id DESC LIMIT 1)
WHERE id = ?"""
_MARKED = """
UPDATE session SET
  noise_stopped = coalesce(?1, noise_stopped),
  quarantine = coalesce(?2, quarantine),
  confidence = coalesce(?3, confidence),
  reward_state = CASE reward_state WHEN 'given' THEN reward_state ELSE coalesce(?4, reward_state) END,
  rewarded_arrival = iif(reward_state = 'pending' AND ?4 IS NOT NULL, arrival(), rewarded_arrival),
  labels_json = coalesce(json_patch(coalesce(labels_json, '{}'), ?5), labels_json)
WHERE id = ?6"""
_CLOSED = """
UPDATE session SET
  status = 'closed',
  closed_arrival = CASE WHEN closed_us IS NULL THEN arrival() ELSE closed_arrival END,
  closed_us = coalesce(closed_us, ?)
WHERE id = ?"""
_DELIVERED = """
ON CONFLICT DO UPDATE SET delivered = excluded.delivered, durable = coalesce(excluded.durable, durable),
  total_us = coalesce(excluded.total_us, total_us)"""
_DELIVERY = f"""
INSERT INTO delivery (delivered, durable, total_us, turn)
SELECT column1, column2, column3, turn.id FROM (VALUES (?, ?, ?, ?, ?, ?))
CROSS JOIN turn ON session = column4 AND turn_index = column5 AND attempt = column6 WHERE true
{_DELIVERED}"""
_DELIVERY_OF_ROW = f"INSERT INTO delivery (delivered, total_us, turn) VALUES (?, ?, ?) {_DELIVERED}"
_REWARD = REWARD.insert(conflict="ON CONFLICT DO UPDATE SET arrival = excluded.arrival", given=_STAMPED)
_SETTING = SETTING.insert(
    conflict="ON CONFLICT DO UPDATE SET value_json = excluded.value_json, updated_us = excluded.updated_us, "
    "arrival = excluded.arrival",
    given=_STAMPED,
)


def _rewarded_us(row: Session) -> int | None:
    return None if row.reward is None else row.closed_us or row.created_us


def _encode_mark(row: SessionMarked, numbers: Numbers) -> Values:
    labels = None if row.labels is None else to_json(row.labels)
    return row.noise_stopped, row.quarantine, row.confidence, row.reward_state, labels, row.session_id


def _encode_delivery(row: Delivery, numbers: Numbers) -> Values:
    number = numbers[row.session_id]
    return str(row.delivered), row.durable, row.total_us, number, row.turn_index, row.attempt


# The statements of each kind of row behind the sessions and turns, each with what encodes its values, in the
# order in which they run: changes come after what they change.
_STATEMENTS: tuple[tuple[type, str, Callable[[Any, Numbers], Values]], ...] = (
    (Event, EVENT.insert(), EVENT.encode),
    (GeneratedText, GENERATED_TEXT.insert(), GENERATED_TEXT.encode),
    (DeliveredId, DELIVERED_ID.insert(), DELIVERED_ID.encode),
    (DestroyedAnswer, DESTROYED_ANSWER.insert(), DESTROYED_ANSWER.encode),
    (Reward, _REWARD, REWARD.encode),
    (Reward, _REWARDED, lambda row, numbers: (row.session_id,)),
    (SessionMarked, _MARKED, _encode_mark),
    (SessionClosed, _CLOSED, lambda row, numbers: (row.closed_us, row.session_id)),
    (Setting, _SETTING, SETTING.encode),
    (ProviderObject, PROVIDER_OBJECT.insert(), PROVIDER_OBJECT.encode),
)
_KINDS = frozenset(get_args(Row))
_ROWS = 16
"""How many rows a statement inserts at most. SQLite prepares one for each number of them; few large ones
seldom wait for other threads."""
_VALUES = re.compile(r"VALUES (\((?:[^()]|\(\))*\))")
"""The row of a statement, in which functions may be called without arguments."""


class AlreadyStored(Exception):
    """A turn of the batch is in the store: it was written again, after a commit in doubt, for example."""


class Batch:
    """The rows of one transaction. `repeated`: turns among them may be in the store."""

    def __init__(self, rows: Iterable[Row], known: KnownSessions, *, repeated: bool = False) -> None:
        self._known = known
        self._repeated = repeated
        self._rows: defaultdict[type, list[Any]] = defaultdict(list)
        for row in rows:
            self._rows[type(row)].append(row)
        if unknown := self._rows.keys() - _KINDS:
            raise RowRefused(f"no row of the record: {', '.join(sorted(kind.__name__ for kind in unknown))}")
        self._contents: dict[str, SessionContent] = {}
        """What the sessions that are opened or get turns have stored."""
        self._state = 0
        """Which state of the store others left; it changes where they write."""
        self._next: int | None = None
        """The number of the next session, if sessions are opened and none was deleted of late."""

    def insert(self, connection: sqlite3.Connection, arrival: int) -> None:
        """Insert everything, within the caller's transaction of that time.

        Raises RowRefused for a row that can't be stored, or whose session isn't there: also for a session
        that was deleted recently, which a request in flight must not bring back. Raises AlreadyStored where
        that is so and no repeated turns were expected.
        """
        rows = self._rows
        self._state = connection.execute("PRAGMA data_version").fetchone()[0]
        if opened := rows.get(Session):
            self._open_sessions(connection, opened, arrival)
        numbers = _Numbers(partial(self._find_number, connection))
        for session_id, content in self._contents.items():
            numbers[session_id] = content.number
        deliveries = self._record_deliveries(connection)
        if turns := rows.get(Turn):
            self._insert_turns(connection, turns, numbers, arrival)
        elif Shown in rows or NameMap in rows:
            raise RowRefused("ledger rows need a turn of their session in the same write")
        for kind, statement, encode in _STATEMENTS:
            if found := rows.get(kind):
                _execute(connection, statement, _encode(found, encode, numbers))
        if deliveries:
            _execute(connection, _DELIVERY, _encode(deliveries, _encode_delivery, numbers))
        for erased in rows.get(LedgerTextsErased, ()):
            _erase_texts(connection, erased.session_id)
        if deleted := rows.get(SessionDeleted):
            delete_sessions(connection, [row.session_id for row in deleted])
            for row in deleted:
                self._known.forget(row.session_id)
                self._contents.pop(row.session_id, None)

    def remember(self) -> None:
        """Remember what is stored. Call this only once the transaction is on disk."""
        if self._next is not None or SessionDeleted in self._rows:
            self._known.remember_next(None if SessionDeleted in self._rows else self._next, self._state)
        for session_id, content in self._contents.items():
            self._known.remember(session_id, content, self._state)

    def _open_sessions(self, connection: sqlite3.Connection, opened: Sequence[Session], arrival: int) -> None:
        first, deleted_any = self._known.next_number(self._state), False
        if first is None:
            first, deleted_any = find_next_number(connection)
        if deleted_any and (deleted := find_deleted(connection, [one.id for one in opened])) is not None:
            raise RowRefused(f"session {deleted!r} was deleted")
        encoded = _encode(opened, SESSION.encode, {})
        common = SESSION.pick_common(encoded)
        if common is not None:
            values: list[Values] = [[*row, at, arrival] for at, row in enumerate(common, first)]
            inserted = _execute(connection, _COMMON_SESSION, values)
        else:
            values = [
                [*row, at, arrival, _rewarded_us(session)]
                for at, (row, session) in enumerate(zip(encoded, opened, strict=True), first)
            ]
            inserted = _execute(connection, _SESSION, values)
        # Where one of them is there already, it has another number.
        if inserted == len(opened):
            self._contents = {one.id: SessionContent(at) for at, one in enumerate(opened, first)}
        if not deleted_any:
            self._next = first + len(opened)

    def _find_number(self, connection: sqlite3.Connection, session_id: str) -> int:
        """The number of a session. Raises RowRefused if it isn't there."""
        known = self._known.find(session_id, self._state)
        if known is not None:
            return known.number
        row = connection.execute("SELECT number FROM session WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            raise RowRefused(f"no session {session_id!r}; its Session row must be written first")
        number: int = row[0]
        return number

    def _insert_turns(
        self, connection: sqlite3.Connection, turns: Sequence[Turn], numbers: Numbers, arrival: int
    ) -> None:
        ledgers = self._find_ledgers(turns)
        cursor = connection.cursor()
        load, execute = partial(load_known, connection), partial(_execute, cursor)
        encoded = list[Values]()
        for at, turn in enumerate(turns):
            content = self._contents.get(turn.session_id)
            if content is None:
                content = self._content(turn.session_id, numbers[turn.session_id], load)
            if self._repeated and is_stored(connection, content.number, turn):
                continue
            try:
                ledger = encode_ledger(*ledgers[at]) if at in ledgers else None
                encoded.append(encode_row(turn, content, ledger, arrival))
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise _make_refusal(turn, error) from error
            if self._repeated:
                insert_turns(execute, [encoded.pop()])
        if encoded and insert_turns(execute, encoded) < len(encoded):
            raise AlreadyStored
        if not self._repeated:
            first = (cursor.lastrowid or 0) - len(turns) + 1
            for row, turn in enumerate(turns, first):
                self._contents[turn.session_id].last = (turn.index, turn.attempt), row

    def _record_deliveries(self, connection: sqlite3.Connection) -> list[Delivery]:
        """Record what became of turns that earlier batches inserted last in their sessions: their rows are
        known. Return the other deliveries.
        """
        known, others = list[Values](), list[Delivery]()
        for delivery in self._rows.get(Delivery, ()):
            session = self._known.find(delivery.session_id, self._state)
            last = None if session is None else session.last
            place = delivery.turn_index, delivery.attempt
            if last is not None and last[0] == place and delivery.durable is None:
                known.append((str(delivery.delivered), delivery.total_us, last[1]))
            else:
                others.append(delivery)
        _execute(connection, _DELIVERY_OF_ROW, known)
        return others

    def _content(
        self, session_id: str, number: int, load: Callable[[SessionContent], None]
    ) -> SessionContent:
        """What the session has stored."""
        content = self._known.take(session_id, number)
        if content is None:
            content = SessionContent(number)
            load(content)
        else:
            content.load = load
        self._contents[session_id] = content
        return content

    def _find_ledgers(self, turns: Sequence[Turn]) -> dict[int, tuple[list[Shown], list[NameMap]]]:
        """The ledger rows by the place in `turns` of the turn that they are stored with: the first one of
        their index, or else the last one of their session.
        """
        found: dict[int, tuple[list[Shown], list[NameMap]]] = {}
        rows = [(0, self._rows.get(Shown, ())), (1, self._rows.get(NameMap, ()))]
        if not rows[0][1] and not rows[1][1]:
            return found
        last = {turn.session_id: at for at, turn in enumerate(turns)}
        places = dict[tuple[str, int], int]()
        if len(last) < len(turns):
            for at, turn in enumerate(turns):
                places.setdefault((turn.session_id, turn.index), at)
        for which, of_kind in rows:
            for row in of_kind:
                place = last.get(row.session_id)
                if place is None:
                    raise RowRefused(
                        f"a {type(row).__name__} row of session {row.session_id!r} needs a turn of that "
                        "session in the same write"
                    )
                if places:
                    place = places.get((row.session_id, row.turn_index), place)
                if place not in found:
                    found[place] = [], []
                found[place][which].append(row)
        return found


class _Numbers(dict[str, int]):
    """The numbers of sessions by their ids, looked up when they are needed first."""

    __slots__ = ("_find",)

    def __init__(self, find: Callable[[str], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, session_id: str) -> int:
        number = self[session_id] = self._find(session_id)
        return number


def _encode(rows: Sequence[Any], encode: Callable[[Any, Numbers], Values], numbers: Numbers) -> list[Values]:
    values = []
    for row in rows:
        try:
            values.append(encode(row, numbers))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _make_refusal(row, error) from error
    return values


def _make_refusal(row: Any, error: Exception) -> RowRefused:
    """The error names no content: rows hold other people's text."""
    of = getattr(row, "session_id", "")
    return RowRefused(f"a {type(row).__name__} row of session {of!r} can't be stored: {error}")


def _execute(connection: Runs, statement: str, values: list[Values]) -> int:
    """Run the statement with each of the values; return how many rows it changed."""
    try:
        return _execute_each(connection, statement, values)
    except UnicodeEncodeError:
        # Rows before the one that failed are in already; rows of a known identity are not changed.
        return _execute_each(connection, statement, [[storable(one) for one in row] for row in values])
    except OverflowError as error:
        raise RowRefused(f"a number is too large for the store: {error}") from error


def _execute_each(connection: Runs, statement: str, values: list[Values]) -> int:
    """Run the statement, for several rows at a time if it takes VALUES. Each run lets other threads have the
    interpreter, and may have to wait for it."""
    changed = 0
    for start in range(0, len(values), _ROWS):
        rows = values[start : start + _ROWS]
        if len(rows) == 1:
            changed += connection.execute(statement, rows[0]).rowcount
        elif (several := _of_rows(statement, len(rows))) is not None:
            changed += connection.execute(several, [*chain.from_iterable(rows)]).rowcount
        else:
            changed += connection.executemany(statement, rows).rowcount
    return changed


@cache
def _of_rows(statement: str, count: int) -> str | None:
    """The statement for so many rows at once; None where it takes no VALUES."""
    found = _VALUES.search(statement)
    if found is None:
        return None
    row = found[1]
    return f"{statement[: found.start(1)]}{', '.join([row] * count)}{statement[found.end(1) :]}"


def _erase_texts(connection: sqlite3.Connection, session_id: str) -> None:
    query = (
        "SELECT turn.id, ledger FROM turn JOIN session ON number = session "
        "WHERE session.id = ? AND ledger IS NOT NULL"
    )
    for row, ledger in connection.execute(query, (session_id,)).fetchall():
        erased = without_texts(decode_body(ledger, LedgerBody))
        connection.execute("UPDATE turn SET ledger = ? WHERE id = ?", (erased, row))
