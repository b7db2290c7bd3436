"""SIGKILL of a worker, the control process, the trainer and the engine while a loop of training runs.

Rollouts go through the gateway, the trainer learns from them and swaps its versions into the engine. Most
kills come in the middle of a swap. After each the trainer must take another step, and what clients were told
must be in the store.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from itertools import count, cycle
from pathlib import Path
from typing import Any

import click

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.ledger import Difference, Ledger, compare
from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import PATIENT, find_tracebacks, run_gateway
from benchmarks.attack.swap_relay import Moment, run_relay
from benchmarks.attack.train_loop import GROUP, RUN, TrainLoop
from crosswind.studies.stack import free_port

_VICTIMS = ("worker", "control process", "trainer", "worker", "control process", "engine")
"""The trainer and the engine take long to start."""
_MOMENTS = (Moment.ASKED, Moment.PASSED_ON, Moment.DONE, Moment.PASSED_ON, Moment.TO_CONFIRM, None)
"""None: at any moment."""
_HALF_WAY = "engine half-way through the exchange of weights"
_CLIENTS = 4
_PAUSE_S = 0.2
"""Between two sessions of a client: the processor is for those that start again."""
_NEXT_SWAP_S = 300.0
_PUBLICATION_S = 0.03
"""About what the engine takes to read, check and swap in a version."""
_MOMENT_S = 4.0
_ANSWER = re.compile(rb"chatcmpl-[0-9a-f]{32}")
_QUESTION = {"model": "policy", "temperature": 1.0, "max_tokens": 12}


async def attack(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill `kills` times in all, each victim in turn."""
    outcome, begun = Outcome("loop"), time.monotonic()
    ledger, engine_port = Ledger(), free_port()
    load = Load(ledger, seed, deletions=0.0, turns=2, routes=("chat/completions",), answer_id=_ANSWER)
    load.pause_s = _PAUSE_S
    load.question_fields, load.session_fields = _QUESTION, _members_of_groups(seed)
    async with (
        run_relay(engine_port) as relay,
        run_gateway(
            *(folder, f"http://127.0.0.1:{relay.port}/v1", folder / "store.db", "--profile", "noisyagent"),
            *("--capture", "on", "--workers", "2"),
            environment=PATIENT,
        ) as gateway,
    ):
        load.data, load.control = gateway.data, gateway.control
        loop = TrainLoop(folder, engine_port, relay, gateway, outcome)
        talking = [asyncio.create_task(Client(load, number).talk()) for number in range(_CLIENTS)]
        try:
            await loop.start_all()
            await loop.wait_for_a_step("the start")
            campaign = _Campaign(folder, loop, ledger, outcome, random.Random(seed))
            for number in range(kills):
                await campaign.kill(number)
        finally:
            load.over = True
            await asyncio.gather(*talking)
            await loop.stop_all()
    outcome.difference.add(await asyncio.to_thread(compare, folder / "store.db", ledger.facts))
    outcome.difference.add(await asyncio.to_thread(_compare_steps, folder / "store.db", loop.told))
    outcome.problems += await asyncio.to_thread(_check_versions, folder / "store.db", loop)
    outcome.problems += await asyncio.to_thread(find_tracebacks, folder)
    outcome.take(ledger)
    outcome.told["steps"] = len(loop.told)
    outcome.figures["trainers that went on from a checkpoint"] = loop.resumed
    outcome.figures["connections that broke"] = load.breaks
    outcome.figures["answers that told of an outage"] = sum(ledger.refusals.values())
    outcome.seconds = time.monotonic() - begun
    return outcome


def _members_of_groups(seed: int) -> Any:
    """What opens the next session: so many in a row are rollouts of one task."""
    numbers = count()

    def fields() -> dict[str, Any]:
        group, index = divmod(next(numbers), GROUP)
        name = f"attack-{seed}-{group:06d}"
        return {"task_id": name, "group_id": name, "group_size": GROUP, "rollout_index": index}

    return fields


class _Campaign:
    """The kills, one after the other."""

    def __init__(
        self, folder: Path, loop: TrainLoop, ledger: Ledger, outcome: Outcome, draws: random.Random
    ) -> None:
        self._store = folder / "store.db"
        self._loop = loop
        self._ledger = ledger
        self._outcome = outcome
        self._draws = draws
        self._moments = {victim: cycle(_MOMENTS) for victim in _VICTIMS}

    async def kill(self, number: int) -> None:
        """Kill one, see that the loop goes on, and compare the store with what clients were told."""
        victim, begun = _VICTIMS[number % len(_VICTIMS)], time.monotonic()
        moment = next(self._moments[victim])
        what = f"{victim}, {'at any moment' if moment is None else f'swap {moment}'}"
        if victim == "engine" and moment is Moment.TO_CONFIRM:
            what = _HALF_WAY
            await self._loop.kill_engine_half_way()
        elif moment is None:
            await asyncio.sleep(self._draws.uniform(0, _MOMENT_S))
            await self._loop.kill(victim, self._draws.choice)
        else:
            await self._kill_in_a_swap(victim, moment, what)
        await self._loop.wait_for_a_step(what)
        await self._loop.check_served(what)
        found = await asyncio.to_thread(compare, self._store, list(self._ledger.facts))
        self._outcome.difference.add(found.during(what))
        self._outcome.tries += 1
        self._outcome.figures[what] = self._outcome.figures.get(what, 0) + 1
        steps, seconds = len(self._loop.told), time.monotonic() - begun
        click.echo(f"loop: kill {number + 1}: {what}: {seconds:.0f} s; {steps} steps told", err=True)

    async def _kill_in_a_swap(self, victim: str, moment: Moment, what: str) -> None:
        relay = self._loop.relay
        relay.stop_at(moment)
        try:
            if not await relay.wait_until_reached(_NEXT_SWAP_S):
                self._outcome.problems.append(f"{what}: no swap within {_NEXT_SWAP_S:.0f} s")
            if moment is Moment.PASSED_ON:
                await asyncio.sleep(self._draws.uniform(0, _PUBLICATION_S))
            await self._loop.kill(victim, self._draws.choice)
        finally:
            relay.release()


def _compare_steps(store: Path, told: list[int]) -> Difference:
    """Each step that was told is completed in the store, once, and no group was trained on twice."""
    difference = Difference()
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(
            "SELECT step, group_ids_json, completed_us FROM train_step WHERE run = ? ORDER BY step", (RUN,)
        ).fetchall()
    completed = {step for step, _, at in rows if at is not None}
    difference.lost += [f"step {step}" for step in told if step not in completed]
    difference.lost += [
        f"step {step}, passed over" for step in range(1, len(rows) + 1) if step != rows[step - 1][0]
    ]
    difference.doubled += [f"step {step}, told twice" for step, times in Counter(told).items() if times > 1]
    groups = Counter(group for _, text, _ in rows for group in json.loads(text or "[]"))
    difference.doubled += [f"group {group}, trained on twice" for group, times in groups.items() if times > 1]
    return difference


def _check_versions(store: Path, loop: TrainLoop) -> list[str]:
    """Every version that a turn was sampled by must be whole on disk."""
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(
            "SELECT policy_first FROM turn WHERE policy_first IS NOT NULL "
            "UNION SELECT policy_last FROM turn WHERE policy_last IS NOT NULL"
        ).fetchall()
    return [f"turns by {name!r}: {trouble}" for (name,) in rows if (trouble := loop.find_trouble(name))]
