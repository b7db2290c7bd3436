"""What the gateway acknowledged is on disk, once: after SIGKILL at any moment, and in the system calls."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.gateway.servers import upstream
from tests.loop.children import COMMAND, POLL_S, Children, Gateway
from tests.loop.clients import TALKERS, Noted, Talker, unique_answers
from tests.loop.polling import wait_for
from tests.loop.steady import Steady

# No turn is to be released before it is durable, however slow the disk: that would be no acknowledgement.
PATIENT = {"CROSSWIND_DURABILITY_WAIT": "600", "CROSSWIND_ACKNOWLEDGE_WAIT": "600"}
MOST_ACKNOWLEDGED = 24
LONGEST_AFTER_S = 0.02
SYNCS = ("fdatasync", "fsync")


@pytest.mark.parametrize(
    ("kills", "seed"), [(12, 0), pytest.param(200, 1, marks=pytest.mark.slow)], ids=["12 kills", "200 kills"]
)
async def test_no_kill_loses_or_doubles_what_was_acknowledged(
    children: Children, tmp_path: Path, kills: int, seed: int
) -> None:
    moments, noted, store = random.Random(seed), Noted(), tmp_path / "store.db"
    talkers = [Talker(noted, number) for number in range(TALKERS)]
    async with upstream(unique_answers()) as app:
        for _ in range(kills):
            gateway = await asyncio.to_thread(
                children.gateway, app.url, store, "--durability", "strict", environment=PATIENT
            )
            await _talk_until_killed(gateway, talkers, noted, moments)
            _check(store, noted)
    assert len(noted.turns) > 4 * kills and noted.streamed > kills, (
        "the kills came too early to prove anything"
    )
    assert len(noted.rewards) > kills / 2 and len(noted.closed) > kills / 2


async def _talk_until_killed(
    gateway: Gateway, talkers: list[Talker], noted: Noted, moments: random.Random
) -> None:
    """Kill in the midst of the load: after some acknowledgements, and a little more."""
    noted.wanted = noted.count() + moments.randint(1, MOST_ACKNOWLEDGED)
    noted.enough.clear()
    talking = asyncio.gather(*(talker.talk(gateway.data, gateway.control) for talker in talkers))
    killed = asyncio.create_task(_kill_after(gateway, noted, moments.uniform(0, LONGEST_AFTER_S)))
    try:
        await talking
    finally:
        if not noted.enough.is_set():
            killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)


async def _kill_after(gateway: Gateway, noted: Noted, after_s: float) -> None:
    await noted.enough.wait()
    await asyncio.sleep(after_s)
    await asyncio.to_thread(gateway.child.kill)


def _check(store: Path, noted: Noted) -> None:
    with closing(sqlite3.connect(store)) as connection:
        turns = connection.execute("SELECT response_id, session_id, durable FROM readable_turn").fetchall()
        given = "SELECT reward.reward, session.id FROM reward JOIN session ON number = session"
        rewards = connection.execute(given).fetchall()
        sessions = dict(connection.execute("SELECT id, status FROM session").fetchall())
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
    assert state == "ok"
    assert {durable for _, _, durable in turns} <= {"yes"}
    # What was acknowledged is there, once.
    assert max(Counter(name for name, *_ in turns if name is not None).values(), default=1) == 1
    assert noted.turns.items() <= {name: session for name, session, _ in turns}.items()
    assert not [one for one, count in Counter(row[0] for row in rewards).items() if count > 1]
    assert noted.rewards.items() <= dict(rewards).items()
    assert noted.sessions <= sessions.keys()
    assert all(sessions[session] == "closed" for session in noted.closed)


@dataclass(frozen=True)
class Call:
    """A system call: a write to a socket where it began, all else where it had succeeded."""

    name: str
    file: str
    text: str


async def test_a_worker_that_is_killed_takes_no_other_with_it(children: Children, tmp_path: Path) -> None:
    store, stop, kills = tmp_path / "store.db", asyncio.Event(), 4
    async with upstream(unique_answers()) as app, httpx.AsyncClient(trust_env=False) as http:
        gateway = await asyncio.to_thread(
            children.gateway, app.url, store, "--workers", "2", environment=PATIENT
        )
        pids: list[int] = []
        await _all_in_service(http, gateway, pids, set())
        clients = [Steady(number, gateway.data, gateway.child.process.pid, stop) for number in range(6)]
        killed: list[int] = []
        async with asyncio.TaskGroup() as talking:
            for client in clients:
                talking.create_task(client.talk())
            for kill in range(kills):
                await _acknowledged(clients, 10 * (kill + 1))
                killed.append(pids[kill % 2])
                os.kill(killed[-1], signal.SIGKILL)
                await _all_in_service(http, gateway, pids, set(killed))
            await _acknowledged(clients, 10 * (kills + 1))
            stop.set()
        assert gateway.child.stop() == 0, gateway.child.said
    assert len(set(killed)) == kills, "each time another process: the dead one was started again"
    # Whose connection broke was served by a process that was killed: nobody else noticed anything.
    assert {pid for client in clients for pid in client.breaks} <= set(killed)
    assert sum(len(client.breaks) for client in clients) >= kills
    _check(store, Noted(turns={name: of for one in clients for name, of in one.acknowledged.items()}))


async def _all_in_service(
    http: httpx.AsyncClient, gateway: Gateway, pids: list[int], killed: set[int]
) -> None:
    """Wait until all workers are, none of them one that was killed, and note the process ids by number."""

    async def are_ready() -> bool:
        ready = (await http.get(f"{gateway.control}/readyz")).json()
        pids[:] = [worker["pid"] for worker in ready["workers"]]
        return ready["status"] == "ok" and not set(pids) & killed

    await wait_for(are_ready)


async def _acknowledged(clients: list[Steady], wanted: int) -> None:
    """Wait until every client was answered so often."""

    async def are_answered() -> bool:
        return min(len(client.acknowledged) for client in clients) >= wanted

    await wait_for(are_answered)


async def test_acknowledgements_are_written_after_the_sync_that_covers_them(
    children: Children, tmp_path: Path
) -> None:
    strace = shutil.which("strace")
    assert strace, "this test needs the system package strace (apt-get install strace)"
    trace, store = tmp_path / "trace", tmp_path / "store.db"
    wanted = "trace=fdatasync,fsync,pwrite64,write,writev,sendto,sendmsg"
    # -D: the gateway is our own child, and the tracer its; so SIGTERM reaches the gateway.
    tracing = (strace, "-D", "-f", "-y", "-s", "9000", "-e", wanted, "-o", str(trace), *COMMAND)
    noted = Noted(wanted=20)
    async with upstream(unique_answers()) as app:
        gateway = await asyncio.to_thread(
            children.gateway, app.url, store, command=tracing, environment=PATIENT
        )
        talking = asyncio.gather(
            *(Talker(noted, number).talk(gateway.data, gateway.control) for number in range(2))
        )
        await noted.enough.wait()
        gateway.child.process.terminate()
        await talking
        assert await asyncio.to_thread(gateway.child.process.wait, 60) == 0, gateway.child.said
    calls = _calls(await asyncio.to_thread(_whole, trace, gateway.child.process.pid))
    marked = {name: re.compile(rf'{name}.*"finish_reason": "stop"') for name in noted.turns}
    marked |= {name: re.compile(rf'"base_url":"[^"]*{name}') for name in noted.sessions}
    log = f"{store}-wal"
    for name, pattern in marked.items():
        told = [
            at
            for at, call in enumerate(calls)
            if call.file.startswith("socket:") and pattern.search(call.text)
        ]
        assert len(told) == 1, f"{name} was written {len(told)} times to a socket"
        recorded = [at for at, call in enumerate(calls[: told[0]]) if call.file == log and name in call.text]
        assert recorded, f"{name} was acknowledged before it was written"
        # The first write counts: later transactions write the same page again with rows of their own.
        between = calls[recorded[0] : told[0]]
        assert any(call.name in SYNCS and call.file == log for call in between), (
            f"{name} was acknowledged before it was synced"
        )
    assert noted.streamed >= 2 and len(noted.turns) - noted.streamed >= 2 and len(noted.sessions) >= 2


def _whole(trace: Path, pid: int) -> str:
    """The trace, once the tracer has told of the process's end."""
    end, deadline = re.compile(rf"^{pid} +\+\+\+ exited", re.MULTILINE), time.monotonic() + 120
    while not end.search(text := trace.read_text(errors="replace")):
        assert time.monotonic() < deadline, text[-2000:]
        time.sleep(POLL_S)
    return text


def _calls(trace: str) -> list[Call]:
    """The trace's calls, in order."""
    calls: list[Call] = []
    pending: dict[str, Call] = {}
    for line in trace.splitlines():
        thread, _, rest = line.partition(" ")
        if begun := re.match(r"\s*(\w+)\(\d+<(.*?)>(.*)", rest):
            call = Call(begun[1], begun[2], begun[3].replace('\\"', '"'))
            if call.file.startswith("socket:"):
                calls.append(call)
            elif rest.endswith("<unfinished ...>"):
                pending[thread] = call
            elif re.search(r"= \d+$", rest):
                calls.append(call)
        elif "resumed>" in rest and thread in pending:
            call = pending.pop(thread)
            if re.search(r"= \d+$", rest):
                calls.append(call)
    return calls
