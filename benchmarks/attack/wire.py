"""Hostile bytes to both planes, while well-behaved clients go on: answers, health, memory, log and store."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from itertools import count
from pathlib import Path

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.connection import Broken, Connection
from benchmarks.attack.grammar import KNOWN, Attempt, make_attempt, mutate_answer
from benchmarks.attack.ledger import Ledger, compare
from benchmarks.attack.report import Outcome
from benchmarks.attack.soak import growth
from benchmarks.attack.stack import PATIENT, Gateway, find_tracebacks, run_gateway
from benchmarks.attack.upstream import Upstream, find_ambiguities, run_upstream

_ATTACKERS = 8
_CLIENTS = 2
_ANSWERS_WITHIN_S = 1.0
"""How long an attacker waits for a first answer before it says that nothing more will come."""
_ENDS_WITHIN_S = 60.0
_PROBE_EVERY_S = 0.25
_HEALTHY_WITHIN_S = 5.0
_LIVE_MB = 32
_MOST_MEMORY_MB = 120.0 + 2 * _LIVE_MB
"""By the sizing rule of docs/operations.md."""
_MOST_GROWTH_MB = 32.0
_CHANGED_ANSWERS = 0.2
"""The share of the upstream's answers that are changed, too."""
_MOST_READ = 1 << 24
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


_SETTINGS = {
    "CROSSWIND_TIMEOUTS__FIRST_BYTE": "20",
    "CROSSWIND_TIMEOUTS__BETWEEN_CHUNKS": "2",
    "CROSSWIND_RETRY_GRACE": "0",
    "CROSSWIND_LIMITS__LIVE_BYTES": str(_LIVE_MB << 20),  # else sessions are kept up to 256 MB
}


async def attack(folder: Path, seconds: float, seed: int) -> Outcome:
    """Attempts by number until the time is over; then the gateway must start again on its store."""
    outcome, ledger, begun = Outcome("wire", skipped=list(KNOWN)), Ledger(), time.monotonic()
    store, options = folder / "store.db", ("--profile", "noisyagent")
    async with run_upstream() as upstream:
        draws = random.Random(seed)
        upstream.change = lambda answer: _change(draws, answer)
        environment = {**PATIENT, **_SETTINGS}
        async with run_gateway(folder, upstream.url, store, *options, environment=environment) as gateway:
            fuzz = _Fuzz(gateway, upstream, Load(ledger, seed), outcome, seed)
            await fuzz.run(begun + seconds)
        if code := gateway.process.root.returncode:
            outcome.problems.append(f"the gateway ended with exit code {code}")
        async with run_gateway(folder, upstream.url, store, *options):
            pass
    outcome.seconds = time.monotonic() - begun
    outcome.difference = await asyncio.to_thread(compare, store, ledger.facts)
    outcome.take(ledger)
    outcome.problems += [f"ambiguous, and yet forwarded: {one}" for one in upstream.ambiguous]
    outcome.problems += await asyncio.to_thread(find_tracebacks, folder)
    return outcome


def _change(draws: random.Random, answer: bytes) -> bytes:
    return mutate_answer(draws, answer) if draws.random() < _CHANGED_ANSWERS else answer


class _Fuzz:
    """One run of attackers, honest clients, and a probe of both planes."""

    def __init__(self, gateway: Gateway, upstream: Upstream, load: Load, outcome: Outcome, seed: int) -> None:
        self._gateway = gateway
        self._upstream = upstream
        self._load = load
        self._outcome = outcome
        self._seed = seed
        self._numbers = count()
        self._counted: Counter[str] = Counter()
        self._memory_mb: list[float] = []
        self._health_s: list[float] = []
        self._changed_status = False

    async def run(self, until: float) -> None:
        self._load.data, self._load.control = self._gateway.data, self._gateway.control
        talking = [asyncio.create_task(Client(self._load, number).talk()) for number in range(_CLIENTS)]
        probing = asyncio.create_task(self._probe(until))
        try:
            await asyncio.gather(*(self._attack(until) for _ in range(_ATTACKERS)))
            await probing
        finally:
            self._load.over = True
            await asyncio.gather(*talking)
        self._report()

    async def _attack(self, until: float) -> None:
        while time.monotonic() < until:
            attempt = make_attempt(self._seed, next(self._numbers))
            try:
                answer = await asyncio.wait_for(self._send(attempt), _ENDS_WITHIN_S)
            except TimeoutError:
                self._problem(attempt, f"no end within {_ENDS_WITHIN_S:.0f} s")
                continue
            except OSError:
                answer = b""
            self._judge(attempt, answer)

    async def _send(self, attempt: Attempt) -> bytes:
        """Send the pieces, say that no more will come, and read to the end."""
        port = self._gateway.control if attempt.control else self._gateway.data
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for piece in attempt.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if attempt.reset:
                writer.transport.abort()
                return b""
            got = await _read_some(reader)
            if writer.can_write_eof():
                writer.write_eof()
            return got + await reader.read(_MOST_READ)
        finally:
            writer.close()

    def _judge(self, attempt: Attempt, answer: bytes) -> None:
        """No answer of ours has status 500; where there were two framings nothing went upstream."""
        statuses = [found.decode() for found in _STATUS.findall(answer)]
        self._counted.update(f"answers {one}" for one in statuses)
        self._counted["attempts without an answer"] += not statuses
        if "500" in statuses:
            self._problem(attempt, f"answered 500: {answer[:600]!r}")
        ambiguities = find_ambiguities(b"".join(attempt.pieces).partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        if ambiguities:
            self._counted["ambiguous attempts"] += 1
            if "two framings" in ambiguities and attempt.mark in self._upstream.seen:
                self._problem(attempt, "two framings, and yet forwarded")
        self._upstream.seen.discard(attempt.mark)

    def _problem(self, attempt: Attempt, what: str) -> None:
        plane = "control" if attempt.control else "data"
        sent = b"".join(attempt.pieces)
        self._outcome.problems.append(
            f"attempt {attempt.mark} on the {plane} plane: {what}; sent {sent[:600]!r}"
        )

    async def _probe(self, until: float) -> None:
        """Both planes answer at once, whatever others send; memory is sampled beside."""
        planes = [Connection(self._gateway.data), Connection(self._gateway.control)]
        while time.monotonic() < until:
            for plane in planes:
                begun = time.monotonic()
                try:
                    healthy = (await plane.request("GET", "/healthz")).status == 200
                except Broken:
                    healthy = False
                took = time.monotonic() - begun
                self._health_s.append(took)
                if not healthy or took > _HEALTHY_WITHIN_S:
                    self._outcome.problems.append(f"healthz: {healthy} after {took:.1f} s")
            self._memory_mb.append(self._gateway.process.rss_mb())
            await asyncio.sleep(_PROBE_EVERY_S)

    def _report(self) -> None:
        outcome, memory, health = self._outcome, self._memory_mb, sorted(self._health_s)
        outcome.tries = next(self._numbers)
        outcome.figures |= dict(sorted(self._counted.items()))
        outcome.figures["healthz, median and slowest, ms"] = [
            round(1000 * one, 1) for one in (health[len(health) // 2], health[-1])
        ]
        grown = growth(memory[len(memory) // 2 :])
        outcome.figures["memory, first, most, last, MB"] = [
            round(one) for one in (memory[0], max(memory), memory[-1])
        ]
        if max(memory) > _MOST_MEMORY_MB or grown > _MOST_GROWTH_MB:
            outcome.problems.append(f"memory: {max(memory):.0f} MB at most, +{grown:.0f} in the second half")


async def _read_some(reader: asyncio.StreamReader) -> bytes:
    """The first bytes of an answer, where they come soon."""
    try:
        return await asyncio.wait_for(reader.read(1 << 16), _ANSWERS_WITHIN_S)
    except TimeoutError:
        return b""
