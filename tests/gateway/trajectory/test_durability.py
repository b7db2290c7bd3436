"""Acknowledged means durable: seen in the system calls, after SIGKILL, and on a disk that is full."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore

TIMEOUT_S = 120
TASKS, EACH = 4, 12


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def _child(name: str, *arguments: str | Path) -> tuple[str | Path, ...]:
    return (sys.executable, "-m", "tests.gateway.trajectory.children", name, *arguments)


def test_each_acknowledgement_comes_after_the_sync_that_covers_it(path: Path, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    assert strace, "this test needs the system package strace (apt-get install strace)"
    trace = tmp_path / "trace"
    tracing = (strace, "-f", "-y", "-s", "5000", "-e", "trace=fdatasync,fsync,pwrite64,write", "-o", trace)
    done = _run(*tracing, *_child("acknowledge", path, str(TASKS), str(EACH)))
    assert done.returncode == 0, done.stderr
    calls = _completed_calls(trace.read_text(errors="replace"))
    log = f"{path}-wal"
    acknowledged = 0
    for at, (name, file, text) in enumerate(calls):
        found = re.match(r'"ack (\d+)\\n"', text) if name == "write" else None
        if not found or file == log:
            continue
        acknowledged += 1
        marker = f"<s:{int(found[1]):06d}>"
        written = next((i for i, call in enumerate(calls) if call[1] == log and marker in call[2]), None)
        assert written is not None and written < at, f"{marker} was acknowledged before it was written"
        synced = next((i for i in range(written, at) if calls[i][:2] in _syncs(log)), None)
        assert synced is not None, f"{marker} was acknowledged before it was synced"
    assert acknowledged == TASKS * EACH


def _syncs(file: str) -> tuple[tuple[str, str], ...]:
    return ("fdatasync", file), ("fsync", file)


def _completed_calls(trace: str) -> list[tuple[str, str, str]]:
    """(name, file, rest) of each call: where it returned with success, but an acknowledgement where it
    began."""
    calls = []
    pending: dict[str, tuple[str, str, str]] = {}
    for line in trace.splitlines():
        thread, _, call = line.partition(" ")
        if begun := re.match(r"\s*(\w+)\(\d+<([^>]*)>(?:,? (.*)|\).*)", call):
            one = begun[1], begun[2], begun[3] or ""
            if call.endswith("<unfinished ...>") and begun[1] != "write":
                pending[thread] = one
            elif begun[1] == "write" or re.search(r"= \d+$", call):
                calls.append(one)
        elif "resumed>" in call and thread in pending:
            one = pending.pop(thread)
            if re.search(r"= \d+$", call):
                calls.append(one)
    return calls


@pytest.mark.parametrize("seed", range(4))
def test_no_kill_loses_or_doubles_an_acknowledged_row(path: Path, seed: int) -> None:
    kills = 50
    done = _run(sys.executable, "-m", "tests.gateway.trajectory.crash", path, str(kills), str(seed))
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert summary["kills"] == kills
    assert summary["acknowledged"] > kills, "the kills came too early to prove anything"


def test_a_full_disk_loses_nothing_and_says_so(path: Path) -> None:
    done = _run(*_child("full_disk", path, "limited"))
    assert done.returncode == 0, done.stderr
    _check_full_disk(json.loads(done.stdout.splitlines()[-1]))


def test_a_full_file_system_loses_nothing_and_says_so(tmp_path: Path) -> None:
    """The same on a real small file system, where one may be mounted without privileges."""
    disk = tmp_path / "disk"
    disk.mkdir()
    apart = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    mount = f"mount -t tmpfs -o size=3m crosswind {disk}"
    if not shutil.which("unshare") or _run(*apart, mount).returncode:
        pytest.skip("this system lets no unprivileged process mount a tmpfs")
    done = _run(*apart, f'{mount} && exec "$@"', "sh", *_child("full_disk", disk / "crosswind.db", "small"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    _check_full_disk(report)
    assert any("the disk is full; free some space" in error for error in report["errors"])


def _check_full_disk(report: dict[str, Any]) -> None:
    acknowledged, told_late = report["acknowledged"], report["told_late"]
    assert len(acknowledged) >= 2 and len(told_late) == 30
    assert (
        report["down"] and report["failures"] >= 1 and report["readable_while_down"] == len(acknowledged) - 1
    )
    assert report["queued_while_down"] == 2 * len(told_late), "a turn and a reward each wait for room"
    assert all(re.search(r"crosswind\.db: .*(disk is full|free space)", error) for error in report["errors"])
    expected = sorted([*acknowledged, *told_late])
    assert report["stored"] == expected and sorted(report["rewards"]) == expected
    assert report["forgotten"] not in expected, "who is told to send it again finds it forgotten"
    assert (report["dropped"], report["queued"]) == (2, 0)


def test_processes_open_write_and_read_one_file_together_and_lose_nothing(path: Path) -> None:
    names = ["one", "two", "three", "four"]
    workers = [
        subprocess.Popen(
            _child("worker", path, name, str(number), "4", "60"), stdout=subprocess.PIPE, text=True
        )
        for number, name in enumerate(names)
    ]
    lost = [worker.communicate(timeout=TIMEOUT_S)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0, 0] and lost == ["0\n"] * 4
    with closing(SqliteStore(path)) as store:
        for name in names:
            assert [turn.index for turn in store.turns(name)] == list(range(60))
            assert len(store.rewards(name)) == len(store.steps(name)) == 60
        assert [turn.index for turn in store.turns("common")] == list(range(240))
        assert sorted(reward.reward for reward in store.rewards("common")) == list(range(240))
        assert store.check().whole
