"""The attack finds what it looks for: lost and doubled rows, unsynced bytes, growth, ambiguous heads."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.attack.grammar import make_attempt
from benchmarks.attack.journal import Disk, Record, Step
from benchmarks.attack.ledger import Fact, Kind, compare
from benchmarks.attack.soak import growth
from benchmarks.attack.upstream import find_ambiguities
from crosswind.gateway.trajectory.record import Reward, Session, SessionClosed, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore

FACTS = (
    Fact(Kind.OPENED, "s"),
    Fact(Kind.TURN, "s", "answer-00000001"),
    Fact(Kind.REWARD, "s", "1.0"),
    Fact(Kind.CLOSED, "s"),
    Fact(Kind.TURN, "gone", "answer-00000002"),
    Fact(Kind.DELETING, "gone"),
    Fact(Kind.DELETED, "gone"),
)
ANOTHER_TURN = (
    "INSERT INTO turn (session, turn_index, attempt, created_us, arrival, response_id, body) "
    "SELECT session, 1, 0, created_us, arrival, response_id, body FROM turn"
)
ANOTHER_REWARD = (
    "INSERT INTO reward (session, created_us, arrival, reward) SELECT session, 9, arrival, reward FROM reward"
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store that holds the facts."""
    path = tmp_path / "store.db"
    with closing(SqliteStore(path)) as opened:
        turn = Turn("s", 0, created_us=1, response_id="answer-00000001")
        opened.write([Session("s", 0, {}), turn, Reward("s", 2, 1.0), SessionClosed("s", 3)])
    return path


def test_a_store_that_holds_all_differs_in_nothing(store: Path) -> None:
    assert not compare(store, FACTS)


@pytest.mark.parametrize(
    ("damage", "lost", "doubled"),
    [
        ("DELETE FROM turn", 1, 0),
        ("DELETE FROM reward", 1, 0),
        ("UPDATE session SET status = 'open'", 1, 0),
        ("UPDATE session SET id = 'gone'", 5, 0),
        (ANOTHER_TURN, 0, 1),
        (ANOTHER_REWARD, 0, 1),
    ],
)
def test_what_is_missing_is_lost_and_what_is_there_twice_is_doubled(
    store: Path, damage: str, lost: int, doubled: int
) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(damage)
    found = compare(store, FACTS)
    assert (len(found.lost), len(found.doubled)) == (lost, doubled)


def test_a_store_that_is_no_store_is_broken(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"torn" * 4096)
    assert compare(tmp_path / "store.db", FACTS).broken


@pytest.mark.parametrize(
    ("head", "problems"),
    [
        (b"content-length: 5", []),
        (b"transfer-encoding: chunked", []),
        (b"content-length: 5\r\ntransfer-encoding: chunked", ["two framings"]),
        (b"content-length: +5", ["a length"]),
        (b"transfer-encoding: xchunked", ["a coding"]),
        (b"content-length : 5", ["a field's name"]),
        (b"x: a\nb", ["a bare CR, LF or NUL"]),
    ],
)
def test_the_upstream_finds_heads_that_can_be_read_in_two_ways(head: bytes, problems: list[str]) -> None:
    assert find_ambiguities(b"POST /v1/x HTTP/1.1\r\n" + head + b"\r\n\r\n") == problems


FILE, FOLDER = 1, 2


def disk(*records: tuple[Step, int, int, bytes]) -> Disk:
    """What is left after these operations on one file: step, file, offset, data."""
    left = Disk(random.Random(0))
    for step, file, offset, data in records:
        left.apply(Record(step, 0, file, offset, data))
    return left


CREATED = (
    (Step.FOLDER, FOLDER, 0, b"/x"),
    (Step.CREATED, FILE, 0, b"/x/store.db"),
    (Step.WRITTEN, FILE, 0, b"synced"),
    (Step.SYNCING, FILE, 0, b""),
)
NAMED = (*CREATED, (Step.SYNCED, FILE, 0, b""), (Step.SYNCED, FOLDER, 0, b""))


@pytest.mark.parametrize(
    ("records", "left"),
    [
        (NAMED, b"synced"),
        ((*NAMED, (Step.WRITTEN, FILE, 0, b"later, and not synced")), b"synced"),
        ((*NAMED, (Step.TRUNCATED, FILE, 0, b""), (Step.SYNCING, FILE, 0, b"")), b"synced"),
        ((*CREATED, (Step.WRITTEN, FILE, 6, b"?"), (Step.SYNCED, FILE, 0, b""), NAMED[-1]), b"synced"),
        ((*CREATED, (Step.SYNCED, FILE, 0, b"")), None),
    ],
    ids=["synced", "written since", "cut since", "written during the sync", "its name not synced"],
)
def test_a_power_loss_that_keeps_nothing_leaves_what_was_synced(
    tmp_path: Path, records: tuple[tuple[Step, int, int, bytes], ...], left: bytes | None
) -> None:
    store = disk(*records).write_to(tmp_path / "left", 0.0)
    assert (store.read_bytes() if store.exists() else None) == left


def test_a_power_loss_may_keep_what_was_not_synced(tmp_path: Path) -> None:
    store = disk(*NAMED, (Step.WRITTEN, FILE, 6, b", and more")).write_to(tmp_path / "left", 1.0)
    assert store.read_bytes() in {b"synced", b"synced, and more"}


def test_growth_is_the_rise_of_a_line() -> None:
    assert growth([5.0, 5.0, 5.0]) == 0
    assert growth([0.0, 1.0, 2.0, 3.0]) == pytest.approx(3.0)


def test_an_attempt_is_the_same_bytes_each_time() -> None:
    assert [make_attempt(1, number) for number in range(200)] == [make_attempt(1, n) for n in range(200)]
