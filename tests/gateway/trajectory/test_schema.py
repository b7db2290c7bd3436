"""The file: its schema, its mode, how it is found, what is refused."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crosswind.gateway.trajectory.record import TrainStep
from crosswind.gateway.trajectory.sqlite import schema
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import StoreError, open_store, stores
from tests.gateway.trajectory import rows

NEWEST = schema.VERSION


def _version(path: Path) -> int:
    return int(rows.query(path, "SELECT max(version) FROM schema_version")[0][0])


def test_a_fresh_store_has_the_newest_schema_and_a_reopened_one_its_rows(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.write([rows.session()])
    assert _version(path) == NEWEST
    with closing(SqliteStore(path)) as again:
        assert again.session("s") == rows.session()
    assert _version(path) == NEWEST


def test_a_first_store_of_this_schema_gets_the_columns_that_came_later(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.write([rows.session(), rows.event()])
        store.plan_step(TrainStep("run", 1, ("g",), {}, 1, rewards={"s": 1.0}))
    rows.execute(path, "ALTER TABLE event DROP COLUMN version")
    rows.execute(path, "ALTER TABLE train_step DROP COLUMN rewards_json")
    with closing(SqliteStore(path)) as again:
        again.write([rows.event(ordinal=1, version=2)])
        assert [event.version for event in again.events("s")] == [1, 2]
        again.plan_step(TrainStep("run", 2, ("g",), {}, 1, rewards={"s": 1.0}))
        assert [step.rewards for step in again.steps("run")] == [None, {"s": 1.0}]


def test_a_store_opens_again_whose_process_was_killed_before_it_was_in_wal_mode(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.write([rows.session()])
    rows.execute(path, "PRAGMA journal_mode = DELETE")
    killed = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA synchronous = OFF')\n"  # or the journal counts only once it is synced
        "connection.execute('BEGIN IMMEDIATE')\n"
        "connection.execute('DELETE FROM session')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert Path(f"{path}-journal").stat().st_size
    with closing(SqliteStore(path)) as again:
        assert again.session("s") == rows.session()


def test_an_older_store_is_refused_and_left_alone(path: Path) -> None:
    rows.execute(path, "CREATE TABLE schema_version AS SELECT 9 AS version; CREATE TABLE block (a)")
    before = rows.query(path, "SELECT sql FROM sqlite_master")
    with pytest.raises(StoreError, match=rf"schema version 9 .*run `crosswind store migrate {path}`"):
        SqliteStore(path)
    assert rows.query(path, "SELECT sql FROM sqlite_master") == before


def test_a_failing_creation_leaves_an_empty_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = schema.split_statements
    monkeypatch.setattr(schema, "split_statements", lambda sql: [*split(sql), "CREATE TABLE session (b)"])
    with pytest.raises(StoreError, match="session already exists"):
        SqliteStore(path)
    assert not rows.query(path, "SELECT 1 FROM sqlite_master")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (
            "schema_version AS SELECT 99 AS version",
            r"has schema version 99 .* versions up to \d+; upgrade crosswind",
        ),
        ("theirs (a)", r"file of another program .*theirs"),
    ],
    ids=["a newer schema", "another program's file"],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(path: Path, table: str, complaint: str) -> None:
    rows.execute(path, f"CREATE TABLE {table}")
    before = rows.query(path, "SELECT sql FROM sqlite_master")
    with pytest.raises(StoreError, match=complaint):
        SqliteStore(path)
    assert rows.query(path, "SELECT sql FROM sqlite_master") == before


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_text("not a database, but long enough to be taken for the header of one" * 20)
    with pytest.raises(StoreError, match="the file is no SQLite database"):
        SqliteStore(path)


@pytest.mark.parametrize("place", ["missing/folder/x.db", "."])
def test_a_path_that_cannot_hold_a_file_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(StoreError, match=re.escape(str(tmp_path / place))):
        SqliteStore(tmp_path / place)


def test_a_store_that_must_exist_is_not_created(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        SqliteStore(path, create=False)
    assert not path.exists()


def test_every_connection_syncs_and_the_file_is_in_wal_mode(store: SqliteStore) -> None:
    store.session("s")
    connections = [store._writer, *store._readers.idle]
    assert len(connections) == 2
    for connection in connections:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        waits = connection.execute("PRAGMA busy_timeout").fetchone()
        assert waits == ((0,) if connection is store._writer else (10_000,)), (
            "the writer waits in its own way"
        )


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_the_files(path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with closing(SqliteStore(path)) as store:
            store.write([rows.session()])
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}
    finally:
        os.umask(before)


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    path.touch(0o644)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_stores_are_found_by_their_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stores()["sqlite"] is SqliteStore
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///relative.db").close()
    open_store(f"sqlite:///{tmp_path}/absolute.db", busy_timeout_s=1.0).close()
    assert {file.name for file in tmp_path.iterdir()} == {"relative.db", "absolute.db"}


def test_a_third_partys_store_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_store.py").write_text(
        "class Theirs:\n"
        "    schemes = ('theirs',)\n"
        "    @classmethod\n"
        "    def from_url(cls, url, **settings):\n"
        "        return url, settings\n"
    )
    metadata = tmp_path / "theirs-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[crosswind.stores]\ntheirs = their_store\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert open_store("theirs://host/x", size=3) == ("theirs://host/x", {"size": 3})  # type: ignore[comparison-overlap]
    assert stores()["sqlite"] is SqliteStore


@pytest.mark.parametrize(
    "url", ["crosswind.db", "oracle://x/y", "sqlite://", "sqlite:///", "sqlite://host/x", ""]
)
def test_a_url_that_names_no_store_is_refused_with_the_mend(url: str) -> None:
    with pytest.raises(StoreError, match=r"write sqlite:///"):
        open_store(url)
