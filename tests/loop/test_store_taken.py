"""`crosswind serve` as processes, where somebody takes their store away."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from crosswind.gateway.sessions.leases import LeasesUnavailable, TurnLeases
from crosswind.gateway.telemetry.losses import ROWS_LOST
from tests.gateway.dialogue import body, user
from tests.gateway.servers import upstream
from tests.loop.children import Children
from tests.loop.polling import WAIT_S, wait_for


def delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()


@pytest.mark.parametrize(("workers", "processes"), [("1", 1), ("2", 3)])
async def test_every_process_notices_and_the_end_tells_what_is_lost(
    children: Children, tmp_path: Path, workers: str, processes: int
) -> None:
    path = tmp_path / "store.db"
    async with upstream() as app, httpx.AsyncClient(trust_env=False, timeout=WAIT_S) as http:
        gateway = await asyncio.to_thread(children.gateway, app.url, path, "--workers", workers)
        opened = (await http.post(f"{gateway.control}/api/sessions", json={})).json()["id"]
        await asyncio.to_thread(delete, path)

        async def noticed_by_all() -> bool:
            ready = await http.get(f"{gateway.control}/readyz")
            error = str(ready.json()["error"])
            return ready.status_code == 503 and error.count("was deleted or moved") == processes

        await wait_for(noticed_by_all)
        for given, url in (
            ({}, "/api/sessions"),
            ({"reward": 1.0}, f"/api/sessions/{opened}/reward"),
            (None, f"/api/sessions/{opened}/close"),
        ):
            assert (await http.post(gateway.control + url, json=given)).status_code == 503
        for number in range(4):
            async with httpx.AsyncClient(trust_env=False, timeout=WAIT_S) as other:
                url = f"{gateway.data}/s/{number}/v1/chat/completions"
                assert (await other.post(url, json=body(user("Hello")))).status_code == 200
        code = await asyncio.to_thread(gateway.child.stop)
    last = gateway.child.said.strip().splitlines()[-1]
    assert code == ROWS_LOST and re.search(r"rows are lost.*rows_lost=[1-9]", last), gateway.child.said
    assert "Traceback" not in gateway.child.said
    assert not path.exists(), "no empty store is made in its place"


def test_a_process_that_starts_waits_for_another_one_that_makes_the_log_of_leases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "claims.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("CREATE TABLE made (x)")
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other.in_transaction and other.execute("COMMIT"))
        TurnLeases(file).close()


def test_a_folder_that_is_gone_is_no_traceback_of_sqlite(tmp_path: Path) -> None:
    with pytest.raises(LeasesUnavailable):
        TurnLeases(tmp_path / "gone" / "claims.sqlite")


async def test_a_supervisor_that_is_killed_during_the_start_leaves_no_traceback(
    children: Children, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    ports = ("--port", "0", "--control-port", "0")
    child = children.start(
        "serve", "--upstream", "http://127.0.0.1:9/v1", "--store", store, "--workers", "2", *ports
    )

    async def started() -> list[int]:
        return _list_children(child.process.pid)

    pids = await wait_for(started)
    child.kill()

    async def ended() -> bool:
        return not any(_lives(pid) for pid in pids)

    await wait_for(ended)
    assert "Traceback" not in child.said


def _list_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid: int) -> bool:
    """Whether it runs, and isn't merely waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
