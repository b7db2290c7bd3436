"""`crosswind store`: on real files, with a writer at work."""

from __future__ import annotations

import json
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.record import Reward, RewardState, SessionClosed, SessionMarked, Setting
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows
from tests.gateway.trajectory.rows import talk, turns_of

NOW_US = time.time_ns() // 1000
DAY_US = 86_400 * 1_000_000
EXPIRED = SessionMarked("expired", reward_state=RewardState.EXPIRED)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["store", *map(str, arguments)])


def run_json(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def closed(name: str, days_ago: float, turns: int = 2, **fields: Any) -> list[Any]:
    """A session that was closed and rewarded some days ago."""
    at = NOW_US - int(days_ago * DAY_US)
    _, *rest = talk(name, turns)
    return [
        rows.session(name, created_us=at, **fields),
        *rest,
        Reward(name, at, 1.0),
        SessionClosed(name, at),
    ]


@contextmanager
def writing(store: SqliteStore) -> Iterator[None]:
    """Another thread with a connection of its own writes turn upon turn meanwhile."""
    stop, begun = threading.Event(), threading.Event()

    def write() -> None:
        with closing(SqliteStore(store.path)) as live:
            for index, row in enumerate(talk("live", 5000)):
                live.write([row])
                begun.set()
                if stop.is_set() and index > 20:
                    break

    with ThreadPoolExecutor() as pool:
        done = pool.submit(write)
        begun.wait(60)
        try:
            yield
        finally:
            stop.set()
    done.result()


def test_a_backup_is_one_private_file_made_while_others_write(store: SqliteStore, tmp_path: Path) -> None:
    store.write(talk("a", 5))
    out = tmp_path / "copy.db"
    with writing(store):
        assert run_json("backup", "--store", store.path, "--out", out)["bytes"] == out.stat().st_size
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert not [file for file in tmp_path.iterdir() if "partial" in file.name]
    assert run("verify", "--store", out).exit_code == 0
    with closing(SqliteStore(out)) as copy:
        assert copy.turns("a") == turns_of(talk("a", 5))


def test_a_backup_makes_its_folder(store: SqliteStore, tmp_path: Path) -> None:
    out = tmp_path / "of" / "today" / "copy.db"
    result = run("backup", "--store", store.path, "--out", out)
    assert result.exit_code == 0 and out.stat().st_mode & 0o777 == 0o600
    within = run("backup", "--store", store.path, "--out", out / "copy.db")
    assert within.exit_code == 1 and "can't be written" in within.stderr


def test_a_backup_replaces_nothing_unless_told_to(store: SqliteStore, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    out.write_text("precious")
    refused = run("backup", "--store", store.path, "--out", out)
    assert refused.exit_code == 2 and "exists already; name another file, or give --force" in refused.stderr
    assert out.read_text() == "precious"
    assert run("backup", "--store", store.path, "--out", out, "--force").exit_code == 0
    assert run("verify", "--store", out).exit_code == 0


@pytest.mark.parametrize("database", [True, False])
def test_a_backup_is_read_without_the_log_of_what_it_replaces(
    store: SqliteStore, tmp_path: Path, database: bool
) -> None:
    store.write(talk("a", 5))
    out, log = tmp_path / "copy.db", tmp_path / "copy.db-wal"
    if database:
        shutil.copyfile(store.path, out)
    shutil.copyfile(f"{store.path}-wal", log)
    store.write(talk("b", 5))
    refused = run("backup", "--store", store.path, "--out", out)
    assert refused.exit_code and "exists already" in refused.stderr and log.exists()
    assert run("backup", "--store", store.path, "--out", out, "--force").exit_code == 0
    with closing(SqliteStore(out)) as copy:
        assert copy.turns("b") == turns_of(talk("b", 5))


def test_a_store_is_no_backup_of_itself(store: SqliteStore) -> None:
    store.write(talk("a", 5))
    refused = run("backup", "--store", store.path, "--out", store.path, "--force")
    assert refused.exit_code == 1 and "is the store itself" in refused.stderr
    store.write(talk("b", 5))
    with closing(SqliteStore(store.path)) as copy:
        assert copy.turns("b") == turns_of(talk("b", 5))


BROKEN = {
    "UPDATE turn SET body = CAST(substr(body, 1, 40) || x'00' || substr(body, 42) AS BLOB)": "checksum",
    "UPDATE turn SET body = CAST(body || x'00' AS BLOB)": "checksum",
    "UPDATE turn SET ledger = CAST(ledger || x'00' AS BLOB)": "checksum",
    "UPDATE turn SET body = CAST(x'07' || substr(body, 2) AS BLOB)": "its version is 7",
    "UPDATE turn SET body = x'01'": "cut off",
    "UPDATE turn SET received_key = x'00112233' WHERE turn_index = 1": "other keys than its columns say",
    "DELETE FROM turn WHERE turn_index = 0": "refers to turn 0, attempt 0, which isn't there",
    "UPDATE turn SET body = (SELECT body FROM turn WHERE turn_index = 0) WHERE turn_index = 1": "other keys",
    "DELETE FROM session": "rows of turn belong to a session that is missing",
    "INSERT INTO delivery VALUES (99, 'yes', NULL, 1)": "belong to a turn that is missing",
}


@pytest.mark.parametrize("damage", BROKEN)
def test_damage_is_listed(store: SqliteStore, damage: str) -> None:
    store.write([*talk("a", 3), rows.shown("a", "text:a#0", text="noisy")])
    assert run("verify", "--store", store.path).exit_code == 0
    rows.execute(store.path, damage)
    result = run("verify", "--store", store.path, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1 and not report["whole"]
    assert any(BROKEN[damage] in problem for problem in report["problems"])
    assert "<a:1>" not in result.stdout, "no content"


def test_a_session_goes_with_all_that_hangs_on_it_while_others_write(store: SqliteStore) -> None:
    store.write([*talk("goes", 9), Setting("session_key", "digest", {"session": "goes"}, 1)])
    store.write([*talk("stays", 2), Setting("session_key", "other", {"session": "stays"}, 1)])
    dry = run_json("delete", "--store", store.path, "--session", "goes", "--dry-run")
    assert dry == {"sessions": ["goes"], "dry_run": True, "turns": 9}
    assert len(store.turns("goes")) == 9
    with writing(store):
        assert run("delete", "--store", store.path, "--session", "goes").exit_code == 0
    assert store.session("goes") is None and store.turns("stays") == turns_of(talk("stays", 2))
    assert [one.name for one in store.settings("session_key")] == ["other"]
    assert run_json("verify", "--store", store.path)["whole"]


def test_one_session_is_counted_as_one(store: SqliteStore) -> None:
    store.write([*talk("a", 1), *talk("b", 2)])
    told = run("delete", "--store", store.path, "--session", "a", "--dry-run").stdout
    assert told.splitlines() == ["a", "1 session with 1 turn would go"]
    assert run("delete", "--store", store.path, "--session", "a").stdout == "1 session deleted\n"
    told = run("delete", "--store", store.path, "--session", "b", "--dry-run").stdout
    assert "1 session with 2 turns would go" in told
    assert "1 session, 2 turns" in run("verify", "--store", store.path).stdout


def test_sessions_go_by_label_and_tenant(store: SqliteStore) -> None:
    store.write([rows.session("a", labels={"team": "x", "n": 3, "on": True}, tenant="t")])
    store.write([rows.session("b", labels={"team": "x"}), rows.session("c", tenant="t"), rows.session("d")])
    dry = run_json("delete", "--store", store.path, "--label", "n=3", "--label", "on=true", "--dry-run")
    assert dry["sessions"] == ["a"]
    assert run_json("delete", "--store", store.path, "--label", "team=x")["sessions"] == ["b", "a"]
    assert run_json("delete", "--store", store.path, "--tenant", "t")["sessions"] == ["c"]
    assert [one.id for one in store.sessions()] == ["d"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("delete",), "give either --session"),
        (("delete", "--session", "x", "--tenant", "t"), "give either --session"),
        (("delete", "--label", "team"), "write --label key=value"),
        (("prune",), "give --older-than, --larger-than or both"),
        (("prune", "--all", "--dry-run"), "give --older-than, --larger-than or both"),
        (("prune", "--larger-than", "1GB", "--dry-run"), "--dry-run needs --older-than"),
        (("prune", "--older-than", "30 parsecs"), "'30 parsecs' is not a duration such as 30d"),
        (("prune", "--larger-than", "big"), "'big' is not a size such as 10GB"),
        (("backup",), "--out"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    store: SqliteStore, arguments: tuple[str, ...], complaint: str
) -> None:
    result = run(*arguments[:1], "--store", store.path, *arguments[1:])
    assert result.exit_code == 2 and complaint in result.stderr


def test_what_is_missing_is_named(store: SqliteStore, tmp_path: Path) -> None:
    unknown = run("delete", "--store", store.path, "--session", "nobody")
    assert unknown.exit_code == 1 and "there is no session 'nobody'" in unknown.stderr
    nowhere = run("verify", "--store", tmp_path / "none.db")
    assert nowhere.exit_code == 2 and "there is no store at" in nowhere.stderr
    assert not (tmp_path / "none.db").exists()


def test_old_sessions_are_pruned_and_the_unfinished_spared(store: SqliteStore) -> None:
    old = NOW_US - 40 * DAY_US
    store.write(closed("old", 40))
    store.write([rows.session("open", created_us=old), Reward("open", old, 1.0)])
    store.write([rows.session("awaited", created_us=old), SessionClosed("awaited", old)])
    store.write([rows.session("expired", created_us=old), EXPIRED])
    store.write([rows.session("busy", created_us=old), rows.turn("busy", created_us=NOW_US)])
    store.write(closed("young", 5))
    rows.forget_arrival(store.path)
    prune = ("prune", "--store", store.path, "--older-than", "30d")
    assert run_json(*prune, "--dry-run")["sessions"] == ["old", "expired"]
    with writing(store):
        assert run_json(*prune)["sessions"] == 2
    assert {one.id for one in store.sessions()} == {"young", "open", "awaited", "busy", "live"}
    assert run_json(*prune, "--all")["sessions"] == 2
    assert {one.id for one in store.sessions()} == {"young", "busy", "live"}
    assert run("verify", "--store", store.path).exit_code == 0


def test_the_oldest_go_until_the_rest_fits_and_the_file_shrinks(store: SqliteStore) -> None:
    for days in range(60, 0, -1):
        store.write(closed(f"s{days:02}", days, turns=25))
    store.write([rows.session("open", created_us=1)])
    before, limit = store.used_bytes(), store.used_bytes() // 2
    assert run("prune", "--store", store.path, "--larger-than", limit).exit_code == 0
    assert store.used_bytes() <= limit
    left = [one.id for one in store.sessions(limit=1000)]
    assert left == ["open", *(f"s{days:02}" for days in range(1, len(left)))], "the last to arrive is first"
    rows.execute(store.path, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert store.path.stat().st_size < 0.7 * before
    too_small = run("prune", "--store", store.path, "--larger-than", "1kB")
    assert too_small.exit_code == 1 and "give --all to take it, too" in too_small.stderr
