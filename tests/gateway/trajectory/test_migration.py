"""`crosswind store migrate`: what was in an old store is in the new one, whatever happens on the way."""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
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
from crosswind.gateway.trajectory.ledger_rows import DeliveredId, DestroyedAnswer, NameMap
from crosswind.gateway.trajectory.record import (
    Completion,
    Delivered,
    Delivery,
    Event,
    GeneratedText,
    ProviderObject,
    Reward,
    Row,
    Session,
    SessionClosed,
    SessionDeleted,
    Setting,
    TrainStep,
    Turn,
)
from crosswind.gateway.trajectory.sqlite.schema import VERSION
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.sqlite_blocks.migration import Migration
from crosswind.gateway.trajectory.sqlite_blocks.original import hold, readable
from crosswind.gateway.trajectory.sqlite_blocks.reader import read_turns
from crosswind.gateway.trajectory.sqlite_blocks.schema import migrations
from crosswind.gateway.trajectory.store import RowRefused
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


def old_talks(path: Path, sessions: int = 3, turns: int = 4) -> list[Row]:
    """An old store of sessions that share content, whose turns came in turn; returns their rows."""
    talks = [rows.talk(f"s{number}", turns) for number in range(sessions)]
    opened = [row for one in talks for row in one if isinstance(row, Session)]
    rest = [[row for row in one if not isinstance(row, Session)] for one in talks]
    written = [*opened, *(row for step in zip(*rest, strict=True) for row in step)]
    write_old_store(path, written)
    return written


def of_session(written: list[Row], kind: type[Any], session_id: str) -> list[Any]:
    return [row for row in written if isinstance(row, kind) and row.session_id == session_id]


def require_equal(path: Path, written: list[Row]) -> None:
    with closing(SqliteStore(path)) as store:
        assert store.check().whole
        for session in store.sessions():
            assert store.turns(session.id) == in_order(of_session(written, Turn, session.id))
            assert store.events(session.id) == of_session(written, Event, session.id)
            assert store.rewards(session.id) == of_session(written, Reward, session.id)


def test_a_migration_that_is_killed_leaves_a_whole_store_and_goes_on(path: Path) -> None:
    written = old_talks(path, sessions=6, turns=300)
    module = "tests.gateway.trajectory.migration_kills"
    done = subprocess.run(
        [sys.executable, "-m", module, str(path), "8", "7"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["operations"] > 5 and told["seen"]["old"] > 5 and told["seen"]["new"] > 1
    require_equal(path, written)
    assert set(told["left"]) - {f"{path.name}-wal", f"{path.name}-shm"} == {
        path.name,
        f"{path.name}.original",
        f"{path.name}.v10",
    }


def test_a_full_disk_is_said_and_changes_nothing(path: Path) -> None:
    written = old_talks(path, sessions=6, turns=300)
    before = path.read_bytes()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    command = [sys.executable, "-m", "crosswind.gateway.cli", "store", "migrate", str(path)]
    failed = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert failed.returncode == 1, failed.stderr
    assert "free space" in failed.stderr and f"{path} is as it was; run the command again" in failed.stderr
    assert path.read_bytes()[100:] == before[100:], "behind the header, which names the log"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    require_equal(path, written)


def test_too_little_space_is_said_before_anything_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_talks(path)
    usage = shutil.disk_usage(path.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5_000))
    refused = run("migrate", path)
    assert refused.exit_code == 1 and "and 5 KB are free" in refused.stderr
    assert not Path(f"{path}.migrating").exists() and version(path) == 10


def test_a_store_that_is_open_elsewhere_is_refused(path: Path) -> None:
    old_talks(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT count(*) FROM turn").fetchone()
        refused = run("migrate", path)
    assert refused.exit_code == 1 and "is open in another process; end the gateway" in refused.stderr
    assert not Path(f"{path}.migrating").exists() and version(path) == 10


def test_what_a_killed_gateway_left_in_its_log_is_migrated(path: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    written = old_talks(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as gateway:
        gateway.execute("UPDATE session SET quarantine = 'late'")
        for suffix in ("", "-wal", "-shm"):
            shutil.copyfile(f"{path}{suffix}", away / f"{path.name}{suffix}")
    killed = away / path.name
    assert run("migrate", killed).exit_code == 0
    require_equal(killed, written)
    assert rows.query(killed, "SELECT DISTINCT quarantine FROM session") == [("late",)]
    assert {file.name for file in away.iterdir()} == {path.name, f"{path.name}.v10"}


def test_a_store_that_was_written_to_after_a_kill_is_copied_anew(path: Path) -> None:
    written = old_talks(path)
    kept = path.read_bytes()
    Migration(path).run(silent)
    path.rename(f"{path}.migrating")
    Path(f"{path}.v10").unlink()
    path.write_bytes(kept)
    rows.execute(
        Path(f"{path}.migrating"),
        "CREATE TABLE migration (source, turn, session); INSERT INTO migration VALUES ('1 2 3', 99, 99)",
    )
    more = [rows.session("later"), rows.turn("later")]
    write_old_store(path, more)
    assert run("migrate", path).exit_code == 0
    require_equal(path, [*written, *more])


@pytest.mark.parametrize("taken", ["crosswind.db.v10", "crosswind.db.migrating"])
def test_a_file_of_somebody_elses_is_left_alone(path: Path, taken: str) -> None:
    old_talks(path)
    rows.execute(path.with_name(taken), "CREATE TABLE theirs (a)")
    refused = run("migrate", path)
    assert refused.exit_code == 1 and f"{taken} exists already" in refused.stderr
    assert rows.query(path.with_name(taken), "SELECT * FROM theirs") == [] and version(path) == 10


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE block SET body = x'00' WHERE hash IN (SELECT block FROM chain WHERE depth = 3)",
        "DELETE FROM chain WHERE depth = 2",
        "DELETE FROM frame",
        "UPDATE turn SET usage_json = '{'",
    ],
)
def test_a_damaged_session_is_named_and_nothing_is_changed(path: Path, damage: str) -> None:
    old_talks(path)
    rows.execute(path, damage)
    refused = run("migrate", path)
    assert refused.exit_code == 1 and "session 's0' is damaged: " in refused.stderr
    del refused  # its traceback holds the store
    assert version(path) == 10


def test_a_newer_store_and_another_programs_file_are_refused(path: Path, tmp_path: Path) -> None:
    SqliteStore(path).close()
    rows.execute(path, "INSERT INTO schema_version VALUES (99, 'future', 0)")
    newer = run("migrate", path)
    assert newer.exit_code == 2 and "has schema version 99" in newer.stderr
    theirs = tmp_path / "theirs.db"
    rows.execute(theirs, "CREATE TABLE theirs (a)")
    assert "file of another program" in run("migrate", theirs).stderr
    assert "there is no store" in run("migrate", tmp_path / "none.db").stderr


def test_what_is_to_be_done_is_told_and_not_done(path: Path) -> None:
    old_talks(path)
    told = json.loads(run("migrate", path, "--dry-run", "--json").stdout)
    assert (told["from"], told["to"], told["sessions"], told["turns"]) == (10, VERSION, 3, 12)
    assert told["bytes_needed"] > 0 and told["kept"] is None
    assert not Path(f"{path}.migrating").exists() and version(path) == 10
    done = run("migrate", "--store", f"sqlite:///{path}")
    assert done.exit_code == 0 and all(
        len(line) <= 80 for line in done.output.splitlines() if "/" not in line
    )
    again = json.loads(run("migrate", path, "--compact", "--json").stdout)
    assert (again["from"], again["kept"]) == (VERSION, None)


def test_everything_beside_turns_comes_along(path: Path) -> None:
    step = TrainStep("r", 0, ("g",), {"a": 1}, 3, "v1", {"loss": 0.5}, 9)
    own: list[Any] = [
        GeneratedText("s", "k", "user.rude", "m", "said", 4.5, 1),
        DeliveredId("call_1", "s"),
        DestroyedAnswer("s", 0, 0, "alike", "conversation", 1, 1_700_000_000_000_000),
        Delivery("s", 0, 0, Delivered.NO, total_us=7),
        Setting("profile", "p", {"noise": "\ud83d"}, 5),
        ProviderObject("file-1", "team", 2),
        step,
    ]
    numbers = (7.0, float("-inf"), float("nan"), -0.0)
    completion = Completion(0, (1, 2, 3, 4), numbers, "stop", (), (((5, -0.5),),) * 4)
    turn = rows.turn(completions=(completion,), response_id="r-1", request="ab" * 16)
    write_old_store(path, [rows.session("gone"), rows.session(), rows.session("end"), turn, *own])
    rows.execute(
        path,
        "DELETE FROM session WHERE id IN ('gone', 'end'); INSERT INTO clock VALUES ('boot', 5);"
        "INSERT INTO deleted_session VALUES (x'00112233445566778899aabbccddeeff', 1700000000000000)",
    )
    old = {
        table: rows.query(path, f"SELECT * FROM {table} ORDER BY 1")
        for table in ("clock", "deleted_session", "numbering", "provider_object")
    }
    assert old["numbering"] == [(3,)]
    assert run("migrate", path).exit_code == 0
    for table, found in old.items():
        assert rows.query(path, f"SELECT * FROM {table} ORDER BY 1") == found
    with closing(SqliteStore(path)) as store:
        assert store.generated_texts(["k"]) == {"k": own[0]}
        assert store.sessions_of_delivered_id("call_1") == ["s"]
        assert store.setting("profile", "p") == own[4]
        assert store.owners_of_objects(["file-1"]) == {"file-1": "team"}
        assert (store.runs(), store.steps("r")) == (["r"], [step])
        (found,) = store.turns("s")
        assert (found.delivered, found.total_us, found.request) == (Delivered.NO, 7, "ab" * 16)
        assert [value.hex() for value in found.completions[0].logprobs] == [one.hex() for one in numbers]
        assert found.completions[0].top_logprobs == completion.top_logprobs
        store.write([rows.session("new")])
    assert rows.query(path, "SELECT number FROM session WHERE id = 'new'") == [(4,)]


def test_rows_keep_their_order_where_older_ones_have_no_arrival(path: Path) -> None:
    at = 1_700_000_000_000_000
    early = [Reward("s", at + 5, 1.0), Reward("s", at + 3, 2.0)]
    write_old_store(path, [rows.session(), rows.session("t"), *early], arrival=None)
    write_old_store(path, [Reward("s", 1, 3.0), rows.turn("t"), rows.turn("s")], arrival=at + 4)
    write_old_store(path, [rows.turn("t", 1)], arrival=at + 50)
    assert run("migrate", path).exit_code == 0
    with closing(SqliteStore(path)) as store:
        assert [reward.reward for reward in store.rewards("s")] == [1.0, 2.0, 3.0]
    assert rows.query(path, "SELECT arrival - ? FROM turn ORDER BY id DESC LIMIT 1", at) == [(51,)]


def test_a_migrated_store_is_kept_in_order_and_goes_on(path: Path, tmp_path: Path) -> None:
    written = old_talks(path)
    assert run("migrate", path).exit_code == 0
    with closing(SqliteStore(path)) as store:
        last = store.turns("s0")[-1]
        assert last.received and last.received.chain
        longer = Chain(last.received.chain, b"<more>")
        view = View((b"messages:[", None, rows.TOOLS), longer)
        more = carried(rows.turn("s0", 4, parent=3, received=view, sent=view))
        store.write([more, SessionClosed("s0", 5)])
        assert store.turns("s0")[-1] == more
        store.write([SessionDeleted("s1")])
        with pytest.raises(RowRefused, match="was deleted"):
            store.write([rows.session("s1")])
    assert run("backup", "--store", path, "--out", tmp_path / "copy.db").exit_code == 0
    assert run("prune", "--store", path, "--older-than", "0s", "--all").exit_code == 0
    assert run("verify", "--store", path).exit_code == 0
    left = [row for row in written if getattr(row, "session_id", "s1") != "s1"]
    require_equal(tmp_path / "copy.db", [*left, more])


def test_every_command_names_the_migration(path: Path) -> None:
    old_talks(path)
    for command in (
        ["store", "verify", "--store"],
        ["store", "prune", "--older-than", "1d", "--store"],
        ["store", "backup", "--out", f"{path}.copy", "--store"],
        ["export", "--store"],
        ["report", "--store"],
        ["noise", "audit", "--store"],
        ["replay", "s0", "--store"],
    ):
        refused = CliRunner().invoke(root, [*command, str(path)])
        assert refused.exit_code == 2, command
        assert f"run `crosswind store migrate {path}`" in refused.stderr, command


VERSIONS = Path(__file__).with_name("recorded_versions")


@pytest.mark.parametrize("name", sorted(file.name for file in VERSIONS.iterdir()))
def test_a_store_that_code_of_its_version_wrote_is_migrated_and_replays(path: Path, name: str) -> None:
    path.write_bytes(gzip.decompress((VERSIONS / name).read_bytes()))
    before = version(path)
    assert name == f"v{before}.db.gz"
    told = json.loads(run("migrate", path, "--json").stdout)
    assert (told["from"], told["to"], told["kept"]) == (before, VERSION, f"{path}.v{before}")
    assert run("verify", "--store", path).exit_code == 0
    kept, copy = Path(told["kept"]), path.with_name("copy")
    with closing(SqliteStore(path)) as store, hold(kept) as held, readable(held, before, copy) as old:
        ids = [session.id for session in store.sessions(limit=1000)]
        assert (len(ids), told["turns"]) == (told["sessions"], len([*rows.query(path, "SELECT 1 FROM turn")]))
        for session_id in ids:
            assert store.turns(session_id) == in_order(read_turns(old, session_id))
    noisy = rows.query(path, "SELECT DISTINCT session.id FROM event JOIN session ON number = session")
    for (session_id,) in noisy if before >= 9 else ():
        replayed = CliRunner().invoke(root, ["replay", session_id, "--store", str(path), "--json"])
        assert {turn["outcome"] for turn in json.loads(replayed.stdout)["turns"]} == {"same"}


def test_a_store_of_the_first_version_is_migrated(path: Path) -> None:
    first = migrations()[0]
    rows.execute(path, f"{first.sql}; INSERT INTO schema_version VALUES (1, '{first.name}', 0)")
    rows.execute(path, Path(__file__).with_name("old_store.sql").read_text("utf-8"))
    assert run("migrate", path).exit_code == 0
    require_equal(path, [*rows.talk("a", 3), *rows.talk("b", 2)])
    assert Path(f"{path}.v1").exists()
