"""`crosswind store migrate`: what was in an old store is in the new one, whatever happens on the way."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.ledger_rows import NameMap
from crosswind.gateway.trajectory.record import (
    Row,
    Turn,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.sqlite_blocks.migration import Migration
from crosswind.gateway.trajectory.sqlite_blocks.reader import read_turns
from tests.gateway.trajectory import rows
from tests.gateway.trajectory.blocks import write_old_store

anything = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def silent(done: int, total: int) -> None:
    """No progress."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["store", *map(str, arguments)])


def version(path: Path) -> int:
    return int(rows.query(path, "SELECT max(version) FROM schema_version")[0][0])


def carried(turn: Turn) -> Turn:
    """The turn as a migrated store has it: old ones don't say what the provider keeps."""
    return structs.replace(turn, kept=turn.protocol in ("responses", "chat"))


def in_order(turns: list[Turn]) -> list[Turn]:
    return sorted(map(carried, turns), key=lambda turn: (turn.index, turn.attempt))


@st.composite
def growing_turns(draw: Any) -> list[Turn]:
    """Turns that continue one another: branches, retries, and a sent view beside the received one."""
    found: list[Turn] = []
    tips: list[tuple[Chain | None, Chain | None]] = [(None, None)]
    frames = draw(st.lists(st.lists(st.binary(max_size=8), min_size=2, max_size=2), min_size=1, max_size=2))
    for index in range(draw(st.integers(0, 6))):
        given_turn = draw(rows.turns)
        received, sent = draw(st.sampled_from(tips))
        for body in draw(st.lists(st.binary(max_size=30), min_size=1, max_size=3)):
            other = draw(st.sampled_from([body, body + b"~"]))
            received, sent = Chain(received, body), Chain(sent, other)
        tips.append((received, sent))
        before, after = draw(st.sampled_from(frames))
        view = View((before, None, after), received)
        own = View((before, None, after), sent)
        found += [
            structs.replace(
                given_turn,
                index=index,
                attempt=attempt,
                received=view,
                sent=view if draw(st.booleans()) else own,
            )
            for attempt in range(draw(st.integers(1, 2)))
        ]
    return found


stored_turns = growing_turns() | st.lists(
    rows.turns, max_size=4, unique_by=lambda turn: (turn.index, turn.attempt)
)
ledgers = st.lists(rows.ledger_rows, max_size=4, unique_by=lambda row: (row.branch, row.anchor, row.site))
name_maps = st.lists(
    st.builds(NameMap, st.just("s"), rows.texts, rows.texts, st.integers(0, 5)),
    max_size=3,
    unique_by=lambda row: (row.declared, row.shown),
)


event_rows = st.lists(
    rows.events, max_size=3, unique_by=lambda row: (row.turn_index, row.attempt, row.ordinal)
)


@given(st.data())
@anything
def test_whatever_was_in_the_old_store_is_in_the_new_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    other, turns, others = data.draw(rows.sessions), data.draw(stored_turns), data.draw(stored_turns)
    events, ledger, names = data.draw(event_rows), data.draw(ledgers), data.draw(name_maps)
    stamped = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("old") / "crosswind.db"
    other = structs.replace(other, id=f"{other.id}+")
    others = [structs.replace(turn, session_id=other.id) for turn in others]
    session = rows.session()
    mixed: list[Row] = [turn for pair in zip(turns, others, strict=False) for turn in pair]
    mixed += [turn for turn in (*turns, *others) if turn not in mixed]
    written = [session, other, *mixed, *events, *ledger, *names]
    write_old_store(path, written, arrival=1_700_000_000_000_000 if stamped else None)
    outcome = Migration(path).run(silent)
    with closing(SqliteStore(path)) as store:
        assert (store.session("s"), store.session(other.id)) == (session, other)
        assert [one.id for one in store.sessions()] == [other.id, "s"]
        assert store.turns("s") == in_order(turns)
        assert store.turns(other.id) == in_order(others)
        assert store.events("s") == sorted(events, key=lambda row: (row.turn_index, row.attempt, row.ordinal))
        assert (store.ledger("s"), store.names("s")) == ((ledger, names) if turns else ([], []))
        assert store.check().whole
    assert outcome.left_out == (0 if turns else len(ledger) + len(names))
    with closing(sqlite3.connect(outcome.kept)) as old:
        assert in_order(read_turns(old, "s")) == in_order(turns)
    shutil.rmtree(path.parent)
