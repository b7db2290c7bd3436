"""The store's files are deleted, replaced or truncated while the gateway serves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crosswind.gateway.trajectory.record import SessionDeleted
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream, wait_until
from tests.gateway.trajectory import rows

COMPANIONS = ("", "-wal", "-shm")


def delete(path: Path) -> None:
    for suffix in COMPANIONS:
        Path(f"{path}{suffix}").unlink()


def replace_by_rubbish(path: Path) -> None:
    rubbish = path.with_name("rubbish")
    rubbish.write_bytes(b"no store " * 1000)
    rubbish.replace(path)


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def truncate_partly(path: Path) -> None:
    os.truncate(path, 8192)


def delete_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def assert_set_aside(path: Path) -> None:
    """The log of the file that was lost isn't applied to the one that came."""
    assert Path(f"{path}-wal.replaced").exists()


async def seen(running: Running, status: int) -> str:
    """Wait until readiness is so, and give its error."""
    watch = running.gateway._file_watch
    await wait_until(lambda: (watch.problem is not None) is (status == 503))
    ready = await running.api("GET", "/readyz")
    while ready.status_code != status:  # the recorder finds out for itself, a moment later
        ready = await running.api("GET", "/readyz")
    return str(ready.json()["error"])


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (delete, "was deleted or moved"),
        (replace_by_rubbish, "was replaced"),
        (truncate, "was truncated to 0 bytes"),
        (truncate_partly, "was truncated to 8192 bytes"),
        (delete_log, "store.db-wal was deleted"),
    ],
)
async def test_a_store_that_is_taken_away_is_noticed_and_nothing_is_promised(
    tmp_path: Path, harm: Callable[[Path], None], told: str
) -> None:
    path = tmp_path / "store.db"
    async with upstream() as app, gateway(tmp_path, app, durability_wait=0.05) as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
        assert (await running.chat(body(user("Hello")), opened)).status_code == 200
        await running.flush()
        rows.execute(path, "PRAGMA wal_checkpoint(PASSIVE)")
        harm(path)
        assert told in await seen(running, 503)
        for method, what, given in (
            ("POST", "/api/sessions", {}),
            ("POST", f"/api/sessions/{opened}/reward", {"reward": 1.0}),
            ("POST", f"/api/sessions/{opened}/close", None),
        ):
            refused = await running.api(method, what, given)
            assert refused.status_code == 503, (what, refused.text)
            assert refused.json()["error"]["code"] == "not_durable" and told in refused.text
        for session in (opened, "unseen"):
            assert (await running.chat(body(user("Still there?")), session)).status_code == 200
        assert (await running.api("PUT", "/api/noise", {"enabled": False})).is_success
        lost = await running.gateway.recorder.aclose()
    assert lost > 0
    if harm is delete_log:
        with closing(SqliteStore(path)) as store:
            assert len(store.turns(opened)) == 1 and store.check().whole, "its end writes what the log held"


async def test_files_that_come_back_are_the_store_again(tmp_path: Path) -> None:
    path, away = tmp_path / "store.db", tmp_path / "away"
    away.mkdir()
    async with upstream() as app, gateway(tmp_path, app, durability_wait=0.05) as running:
        assert (await running.chat(body(user("Hello")), "s")).status_code == 200
        await running.flush()
        for suffix in COMPANIONS:
            shutil.move(f"{path}{suffix}", away)
        await seen(running, 503)
        assert (await running.chat(body(user("Still there?")), "t")).status_code == 200
        for suffix in COMPANIONS:
            shutil.move(away / f"store.db{suffix}", tmp_path)
        await seen(running, 200)
        assert (await running.api("POST", "/api/sessions/s/reward", {"reward": 1.0})).is_success
        assert len((await running.trajectory("t"))["turns"]) == 1, "its rows waited"
    with closing(SqliteStore(path)) as store:
        assert len(store.rewards("s")) == 1 and store.check().whole


async def test_a_backup_put_in_its_place_is_opened_and_takes_what_waits(tmp_path: Path) -> None:
    path, backup = tmp_path / "store.db", tmp_path / "backup.db"
    async with upstream() as app, gateway(tmp_path, app, durability_wait=0.05) as running:
        assert (await running.chat(body(user("Hello")), "before")).status_code == 200
        await running.flush()
        running.gateway.store.backup(backup)
        assert (await running.chat(body(user("Hello")), "after")).status_code == 200
        await running.flush()
        path.unlink()
        await seen(running, 503)
        backup.replace(path)
        await seen(running, 200)
        assert (await running.api("GET", "/api/sessions/after")).status_code == 404
        for session in ("before", "after", "new"):
            assert (await running.chat(body(user("Hello again")), session)).status_code == 200
        assert (await running.api("POST", "/api/sessions/before/reward", {"reward": 1.0})).is_success
        assert len((await running.trajectory("before"))["turns"]) == 2
    assert_set_aside(path)
    with closing(SqliteStore(path)) as store:
        assert {one.id for one in store.sessions()} == {"before", "after", "new"}
        assert store.check().whole and len(store.rewards("before")) == 1


async def test_a_store_that_shrinks_and_one_that_is_compacted_are_no_alarm(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with upstream() as app, gateway(tmp_path, app) as running:
        with closing(SqliteStore(path)) as other:
            other.write(rows.talk("long", 200))
            rows.execute(path, "PRAGMA wal_checkpoint(FULL)")
            other.write([SessionDeleted("long")])
            rows.sweep_all(other)
            while other.shrink():
                pass
            other.compact()
        for _ in range(3):
            await running.gateway._file_watch.look()
            assert running.gateway._file_watch.problem is None
        assert (await running.chat(body(user("Hello")), "s")).status_code == 200
        assert (await running.trajectory("s"))["turns"]
