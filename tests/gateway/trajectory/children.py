"""Programs that the tests run as processes: `python -m tests.gateway.trajectory.children NAME ARGUMENTS`.

They import the store and the recorder and little else, so that they start fast.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.record import Reward, Row, Session, TrainStep, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore

MARGIN_BYTES = 1_000_000
"""Room that the full-disk programs leave for the store before they let it run full."""


def submission(session_id: str, number: int, size: int = 200) -> list[Row]:
    """A turn and a reward, named by their number. A reward that is written twice would be there twice."""
    marker = f"<{session_id}:{number:06d}>".encode()
    chain = Chain(Chain(None, b"shared beginning"), marker + b"." * size)
    turn = Turn(session_id, number, created_us=number, sent=View((b"[", None, b"]"), chain))
    return [turn, Reward(session_id, number, float(number))]


def say(text: str) -> None:
    """One line to standard output in one system call."""
    os.write(1, f"{text}\n".encode())


async def acknowledge(path: str, tasks: str, each: str) -> None:
    """Submit from many tasks at once; say `ack NUMBER` after each acknowledgement."""
    store = SqliteStore(path)
    recorder = Recorder(store)
    await recorder.ensure_durable(recorder.submit([Session("s", 0, {})]))

    async def submit(task: int) -> None:
        for at in range(int(each)):
            number = task * int(each) + at
            await recorder.ensure_durable(recorder.submit(submission("s", number)))
            say(f"ack {number}")

    await asyncio.gather(*map(submit, range(int(tasks))))
    await recorder.aclose()
    store.close()


async def worker(path: str, name: str, number: str, of: str, each: str) -> None:
    """One of several processes that open one new file at once, record in a session of their own and in a
    common one, and read.

    Says how many of its rows were refused or lost.
    """
    store = SqliteStore(path)
    recorder = Recorder(store)
    await recorder.ensure_durable(recorder.submit([Session(name, 0, {}), Session("common", 0, {})]))

    async def submit(at: int) -> None:
        own = recorder.submit(submission(name, at))
        await recorder.ensure_durable(recorder.submit(submission("common", at * int(of) + int(number))))
        await recorder.ensure_durable(own)
        step = TrainStep(name, at, (name,), {}, at)
        store.plan_step(step)
        store.complete_step(step)
        assert at in {turn.index for turn in store.turns(name)}

    await asyncio.gather(*map(submit, range(int(each))))
    say(str(recorder.state().refused + recorder.state().dropped))
    await recorder.aclose()
    store.close()


async def full_disk(path: str, kind: str) -> None:
    """Record until the disk is full, and on; make room; record again. Prints what was told and stored."""
    store = SqliteStore(path)
    fill, free = _DISKS[kind](Path(path))
    recorder = Recorder(store, retry_first_s=0.01, retry_most_s=0.05)
    acknowledged, told_late, errors = list[int](), list[int](), set[str]()
    await recorder.ensure_durable(recorder.submit([Session("s", 0, {})]))
    fill()
    number = 0
    while len(told_late) < 30:
        ticket = recorder.submit(submission("s", number, 20_000))
        try:
            await recorder.ensure_durable(ticket)
            acknowledged.append(number)
        except NotDurable as error:
            told_late.append(number)
            errors.add(str(error))
        number += 1
    refused = recorder.submit(submission("s", number, 20_000), retry=False)
    with contextlib.suppress(NotDurable):
        await recorder.ensure_durable(refused)
    down = recorder.state()
    readable = len(store.turns("s"))
    free()
    assert await recorder.flush(30), "what was kept is written without being asked for"
    await recorder.ensure_durable(recorder.submit(submission("s", number + 1)))
    acknowledged.append(number + 1)
    await recorder.aclose()
    report = {
        "acknowledged": acknowledged,
        "told_late": told_late,
        "errors": sorted(errors),
        "forgotten": number,
        "down": down.down,
        "queued_while_down": down.queued,
        "failures": down.failures,
        "readable_while_down": readable,
        "stored": [turn.index for turn in store.turns("s")],
        "rewards": [int(reward.reward) for reward in store.rewards("s")],
        "dropped": recorder.state().dropped,
        "queued": recorder.state().queued,
    }
    store.close()
    say(json.dumps(report))


Steps = tuple[Callable[[], None], Callable[[], None]]


def _limited(path: Path) -> Steps:
    """A limit on the size of files stands for the end of the disk; lifting it for the room that is made."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MARGIN_BYTES, unlimited[1]))

    return fill, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)


def _small(path: Path) -> Steps:
    """A file fills the (small) file system to the margin; it is deleted to make room."""
    ballast = path.with_name("ballast")

    def fill() -> None:
        room = os.statvfs(path.parent)
        ballast.write_bytes(b"\0" * max(0, room.f_bavail * room.f_frsize - MARGIN_BYTES))

    return fill, ballast.unlink


_DISKS: dict[str, Callable[[Path], Steps]] = {"limited": _limited, "small": _small}

if __name__ == "__main__":
    _, program, *arguments = sys.argv
    match program:
        case "acknowledge":
            asyncio.run(acknowledge(*arguments))
        case "full_disk":
            asyncio.run(full_disk(*arguments))
        case "worker":
            asyncio.run(worker(*arguments))
