"""Speed of the store and its recorder: `python -m benchmarks.store`; prints its figures beside its settings.

A turn here is a realistic one: two chains that grow by a message each, a produced body, token ids, a ledger
row and an event; its rows are committed together.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.content import Chain, View, pack
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Completion, Event, Row, Session, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore

FRAME = (b'{"model":"policy","messages":[', None, b'],"tools":[' + b'{"type":"function"},' * 200 + b"]}")
KIND, WHY = ("user.typos", "user_text", "slot"), ("tolerate", "ids kept")
ROWS_PER_TURN = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made of."""

    turns: int
    sessions: int
    message_bytes: int
    prompt_tokens: int
    completion_tokens: int


def conversation(session_id: str, settings: Settings) -> Iterator[list[Row]]:
    """The rows of each turn of one session, as the gateway submits them."""
    received = sent = prompt = None
    text = os.urandom(settings.message_bytes // 2).hex()
    ids, logprobs = tuple(range(settings.completion_tokens)), (-0.1234567,) * settings.completion_tokens
    for index in range(settings.turns):
        received = Chain(received, f'{{"content":"{index} {text}"}}'.encode())
        sent = Chain(sent, f'{{"content":"~{index} {text}"}}'.encode())
        prompt = Chain(prompt, pack("i", range(index, index + settings.prompt_tokens)))
        yield [
            Turn(
                session_id,
                index,
                created_us=index,
                received=View(FRAME, received),
                sent=View(FRAME, sent),
                produced=View.plain(f'{{"choices":["{index}{text}"]}}'.encode()),
                prompt_ids=prompt,
                completions=(Completion(0, ids, logprobs, "stop"),),
                usage={"prompt_tokens": 1, "completion_tokens": settings.completion_tokens},
            ),
            Event(
                session_id,
                index,
                0,
                *KIND,
                f"text:{index}",
                None,
                0.5,
                {"swaps": [1]},
                "hash",
                text,
                text,
                *WHY,
            ),
            Shown(session_id, f"text:{index}", "user_text", index, index, "hash", ({"draw": {}},), text),
        ]


async def measure(settings: Settings, folder: Path) -> dict[str, float]:
    """Record all sessions at once through the recorder, then read them back."""
    path = folder / "benchmark.db"
    store = SqliteStore(path)
    recorder = Recorder(store)
    waits = list[float]()

    async def run(number: int) -> None:
        await recorder.ensure_durable(recorder.submit([Session(f"s{number}", 0, {})]))
        for rows in conversation(f"s{number}", settings):
            begun = time.perf_counter()
            await recorder.ensure_durable(recorder.submit(rows))
            waits.append(time.perf_counter() - begun)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(run, range(settings.sessions)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    commits = recorder.state().commits
    await recorder.aclose()
    reading = time.perf_counter()
    for number in range(settings.sessions):
        assert len(store.turns(f"s{number}")) == settings.turns
    reading = time.perf_counter() - reading
    store.close()
    turns = settings.turns * settings.sessions
    return {
        "turns_per_s": round(turns / wall),
        "rows_per_s": round(turns * ROWS_PER_TURN / wall),
        "turns_per_commit": round(turns / commits, 1),
        "wait_ms_median": round(1e3 * statistics.median(waits), 2),
        "wait_ms_p99": round(1e3 * statistics.quantiles(waits, n=100)[98], 2),
        "cpu_ms_per_turn": round(1e3 * cpu / turns, 3),
        "stored_bytes_per_turn": round(path.stat().st_size / turns),
        "read_ms_per_turn": round(1e3 * reading / turns, 3),
    }


@click.command()
@click.option("--turns", default=100, show_default=True, help="Turns of each session.")
@click.option("--sessions", default=[1, 8, 64], multiple=True, show_default=True, help="Sessions at once.")
@click.option("--message-bytes", default=1000, show_default=True)
@click.option("--prompt-tokens", default=200, show_default=True, help="New prompt tokens a turn.")
@click.option("--completion-tokens", default=100, show_default=True)
@click.option(
    "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where to write."
)
def main(sessions: tuple[int, ...], folder: Path | None, **sizes: Any) -> None:
    """Measure the recorder and the store; one JSON line for each number of concurrent sessions."""
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "cores": os.cpu_count()}
    for count in sessions:
        settings = Settings(sessions=count, **sizes)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            figures = asyncio.run(measure(settings, Path(place)))
        print(json.dumps({"settings": {"sessions": count, **sizes}, "machine": machine, "figures": figures}))


if __name__ == "__main__":
    main()
