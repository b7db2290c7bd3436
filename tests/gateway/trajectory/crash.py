"""Kills recorders at random moments and looks at what they had acknowledged.

`python -m tests.gateway.trajectory.crash STORE KILLS SEED` forks a recorder from this small process (an
import would take longer than the recorder lives), kills it with SIGKILL, reopens the store, and looks for
every acknowledged row. The next recorder submits again what its predecessor had not acknowledged, as clients
do. Prints a JSON summary.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import struct
import sys
import time
from collections import Counter
from contextlib import closing

from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.record import Session
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory.children import submission

TASKS = 6
LONGEST_S = 0.06
OPENED_FIRST = 0.8
"""The share of recorders that live to open the store."""
OPENED = 2**32 - 1
"""What they say then, in place of a number."""
_NUMBER = struct.Struct("<I")


def main(path: str, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    acknowledged: set[int] = set()
    next_number, before_any, in_flight = 0, 0, 0
    for _ in range(kills):
        acked = _run_and_kill(path, next_number, _unacknowledged(acknowledged, next_number), moments)
        before_any += not acked
        acknowledged |= acked
        stored = _stored(path)
        if lost := acknowledged - stored.keys():
            sys.exit(f"acknowledged and lost: {sorted(lost)[:10]}")
        if doubled := [number for number, count in stored.items() if count != 1]:
            sys.exit(f"stored more than once: {doubled[:10]}")
        in_flight += len(stored.keys() - acknowledged)
        next_number = max([next_number - 1, *stored, *acknowledged]) + 1
    summary = {"kills": kills, "acknowledged": len(acknowledged), "died_before_any": before_any}
    print(json.dumps(summary | {"stored_unacknowledged": in_flight}))


def _unacknowledged(acknowledged: set[int], next_number: int) -> list[int]:
    """The newest numbers that may have been in flight when the last recorder died."""
    return [
        number for number in range(max(0, next_number - 2 * TASKS), next_number) if number not in acknowledged
    ]


def _run_and_kill(path: str, first: int, again: list[int], moments: random.Random) -> set[int]:
    """Runs a recorder until a random moment; returns what it had acknowledged by then."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            asyncio.run(_record(path, first, again, writing))
        finally:
            os._exit(1)  # it is to be killed; getting here is a failure that shows in its exit status
    os.close(writing)
    # Some die while they open the store; of the others, time counts from there, however slow the machine is.
    opened = os.read(reading, _NUMBER.size) if moments.random() < OPENED_FIRST else b""
    time.sleep(moments.uniform(0, LONGEST_S))
    os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        said = opened + pipe.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        sys.exit("a recorder ended by itself")
    return {number for (number,) in _NUMBER.iter_unpack(said)} - {OPENED}


async def _record(path: str, first: int, again: list[int], acknowledgements: int) -> None:
    """Record without end, telling each acknowledgement in one small write to the pipe."""
    recorder = Recorder(SqliteStore(path))
    await recorder.ensure_durable(recorder.submit([Session("s", 0, {})]))
    os.write(acknowledgements, _NUMBER.pack(OPENED))

    async def submit(number: int) -> None:
        await recorder.ensure_durable(recorder.submit(submission("s", number)))
        os.write(acknowledgements, _NUMBER.pack(number))

    async def without_end(task: int) -> None:
        number = first + task
        while True:
            await submit(number)
            number += TASKS

    await asyncio.gather(*map(submit, again))
    await asyncio.gather(*map(without_end, range(TASKS)))


def _stored(path: str) -> Counter[int]:
    """How often each number is stored: its turn and its reward, which must be there together."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'turn'").fetchone():
            return Counter()
        turns = [number for (number,) in connection.execute("SELECT turn_index FROM turn")]
        rewards = [number for (number,) in connection.execute("SELECT created_us FROM reward")]
        if half := set(turns) ^ set(rewards):
            sys.exit(f"half a submission is stored: {sorted(half)[:10]}")
        (state,) = connection.execute("PRAGMA quick_check").fetchone()
        if state != "ok":
            sys.exit(f"the store is damaged: {state}")
        return Counter(turns) | Counter(rewards)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
