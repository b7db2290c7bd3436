"""`crosswind serve --workers N` as processes: spread, switched, counted and drained."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import DONE, SSE, Part, ReceivedRequest
from tests.gateway.dialogue import PROFILE, body, history
from tests.gateway.servers import delta, event, upstream
from tests.gateway.servers import gateway as one_process
from tests.loop.children import Children, Gateway
from tests.loop.connections import children as children_of
from tests.loop.connections import local_port, server_of
from tests.loop.polling import WAIT_S, wait_for


async def serve(children: Children, app: ScriptedProvider, store: Path, *options: str, **how: Any) -> Gateway:
    return await asyncio.to_thread(children.gateway, app.url, store, "--workers", "2", *options, **how)


async def workers(gateway: Gateway) -> list[int]:
    """The workers' process ids, by number."""
    async with httpx.AsyncClient(trust_env=False) as http:
        ready = await until(http, f"{gateway.control}/readyz", lambda given: given.status_code == 200)
        return [worker["pid"] for worker in ready.json()["workers"]]


async def until(http: httpx.AsyncClient, url: str, right: Callable[[httpx.Response], bool]) -> httpx.Response:
    """Ask again and again until the answer is right."""

    async def ask() -> httpx.Response | None:
        given = await http.get(url)
        return given if right(given) else None

    return await wait_for(ask)  # type: ignore[return-value]


@asynccontextmanager
async def clients(count: int) -> AsyncIterator[list[httpx.AsyncClient]]:
    """So many clients, each with a connection of its own."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=WAIT_S))
            for _ in range(count)
        ]


async def chat(http: httpx.AsyncClient, gateway: Gateway, session: str, turns: int = 1) -> httpx.Response:
    given = await http.post(f"{gateway.data}/s/{session}/v1/chat/completions", json=body(*history(turns)))
    assert given.status_code == 200, given.text
    return given


def metric(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"{name} is not in {text}"
    return float(found[1])


@pytest.fixture
def flaky(tmp_path: Path) -> str:
    (tmp_path / "flaky.yaml").write_text(PROFILE)
    return str(tmp_path / "flaky.yaml")


async def test_connections_go_round_and_figures_and_noise_are_those_of_one(
    children: Children, tmp_path: Path, flaky: str
) -> None:
    turns = [min(turn, 5) for turn in range(1, 9)]
    async with upstream() as app, clients(8) as several:
        alone = tmp_path / "alone"
        alone.mkdir()
        async with one_process(alone, app, profile=flaky) as running:
            for turn in turns:
                await running.chat(body(*history(turn)), "s")
        expected, app.requests = [seen.texts() for seen in app.requests], []

        gateway = await serve(children, app, tmp_path / "store.db", "--profile", flaky, "--seed", "7")
        pids, port = await workers(gateway), httpx.URL(gateway.data).port
        assert port is not None
        served = []
        for turn, http in zip(turns, several, strict=True):
            given = await chat(http, gateway, "s", turn)
            served.append(server_of(local_port(given), port, gateway.child.process.pid))
        assert Counter(served) == dict.fromkeys(pids, 4)
        assert [seen.texts() for seen in app.requests] == expected

        def counted(given: httpx.Response) -> bool:
            requests = 'crosswind_requests_total{route="chat",status="200"} 8.0'
            at_rest = metric(given.text, "crosswind_requests_in_flight") == 0
            return (
                metric(given.text, "crosswind_turn_seconds_count") == 8 and requests in given.text and at_rest
            )

        text = (await until(several[0], f"{gateway.control}/metrics", counted)).text
        assert metric(text, "crosswind_workers_ready") == 2
        stored = (await several[0].get(f"{gateway.control}/api/sessions/s/trajectory")).json()
        assert [turn["index"] for turn in stored["turns"]] == list(range(8))


CLEAN = history(2)[-1]["content"]
"""A tool result: the profile's time-out takes its place wherever there is noise."""


async def test_the_kill_switch_reaches_every_worker_although_nothing_can_be_written(
    children: Children, tmp_path: Path, flaky: str
) -> None:
    async with upstream() as app, clients(5) as (operator, *several):
        nowhere = {"CROSSWIND_NOISE_OFF_FILE": str(tmp_path / "no such folder" / "off")}
        options = ("--profile", flaky)
        gateway = await serve(children, app, tmp_path / "store.db", *options, environment=nowhere)

        async def shown(name: str) -> list[bool]:
            """For each connection, two to a worker: whether the policy is shown the clean result."""
            for number, http in enumerate(several):
                await chat(http, gateway, f"{name}-{number}", 2)
            return [seen.texts()[-1] == CLEAN for seen in app.requests[-4:]]

        assert await shown("noisy") == [False] * 4
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else can write now
            put = await operator.put(f"{gateway.control}/api/noise", json={"enabled": False})
            assert (put.status_code, put.json()) == (200, {"enabled": False})
            assert await shown("off") == [True] * 4
            other.execute("ROLLBACK")
        gateway.child.process.send_signal(signal.SIGUSR2)
        for number, http in enumerate(several):
            await until_shown(http, gateway, app, f"on-{number}", clean=False)


async def test_a_file_switches_noise_off_in_every_worker(
    children: Children, tmp_path: Path, flaky: str
) -> None:
    async with upstream() as app, clients(2) as several:
        gateway = await serve(children, app, tmp_path / "store.db", "--profile", flaky)
        for http in several:
            await until_shown(http, gateway, app, "before", clean=False)
        (tmp_path / "store.db.noise-off").touch()
        for number, http in enumerate(several):
            await until_shown(http, gateway, app, f"after-{number}", clean=True)


async def until_shown(
    http: httpx.AsyncClient, gateway: Gateway, app: ScriptedProvider, name: str, *, clean: bool
) -> None:
    """Open sessions until the policy is shown the clean result in one, or the noisy one."""
    attempts = count()

    async def is_shown() -> bool:
        await chat(http, gateway, f"{name}-{next(attempts)}", 2)
        return (app.requests[-1].texts()[-1] == CLEAN) is clean

    await wait_for(is_shown)


def held_stream(
    go_on: asyncio.Event, begun: asyncio.Semaphore
) -> Callable[[ReceivedRequest], AsyncIterator[Part]]:
    """A stream whose end waits for `go_on`."""

    async def reply(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [SSE]
        yield event([delta("hel")])
        begun.release()
        await go_on.wait()
        yield event([delta("lo", finish="stop")])
        yield DONE

    return reply


async def read(http: httpx.AsyncClient, gateway: Gateway) -> bytes:
    """The body of a streamed turn, as far as it came."""
    url, got = f"{gateway.data}/v1/chat/completions", b""
    with suppress(httpx.TransportError):
        async with http.stream("POST", url, json=body(*history(1), stream=True)) as given:
            async for part in given.aiter_bytes():
                got += part
    return got


async def refuses(gateway: Gateway) -> bool:
    """Whether no new connection is taken."""
    try:
        async with httpx.AsyncClient(trust_env=False) as http:
            await http.get(f"{gateway.data}/healthz")
    except httpx.TransportError:
        return True
    return False


@asynccontextmanager
async def terminating(
    children: Children, store: Path, number: str, go_on: asyncio.Event
) -> AsyncIterator[tuple[Gateway, list[asyncio.Task[bytes]]]]:
    """A gateway that was told to end while four streams, whose ends wait for `go_on`, are in flight."""
    begun = asyncio.Semaphore(0)
    async with upstream(held_stream(go_on, begun)) as app, clients(4) as several:
        gateway = await asyncio.to_thread(children.gateway, app.url, store, "--workers", number)
        reading = [asyncio.create_task(read(http, gateway)) for http in several]
        for _ in reading:
            await begun.acquire()
        gateway.child.process.terminate()
        await wait_for(lambda: refuses(gateway))
        yield gateway, reading
        assert await asyncio.to_thread(gateway.child.process.wait, WAIT_S) == 0, gateway.child.said


@pytest.mark.parametrize("number", ["1", "2"])
async def test_sigterm_lets_streams_end_and_records_them(
    children: Children, tmp_path: Path, number: str
) -> None:
    go_on, store = asyncio.Event(), tmp_path / "store.db"
    async with terminating(children, store, number, go_on) as (gateway, reading):
        go_on.set()
        assert all(got.endswith(DONE) for got in await asyncio.gather(*reading))
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT delivered, total_us > 0 FROM delivery").fetchall()
    assert rows == [("yes", 1)] * 4
    assert "Traceback" not in gateway.child.said


@pytest.mark.parametrize("number", ["1", "2"])
async def test_a_second_signal_cuts_what_is_in_flight(
    children: Children, tmp_path: Path, number: str
) -> None:
    async with terminating(children, tmp_path / "store.db", number, asyncio.Event()) as (gateway, reading):
        gateway.child.process.terminate()
        assert not any(DONE in got for got in await asyncio.gather(*reading))


async def test_what_cannot_start_says_so_and_fails(children: Children, tmp_path: Path) -> None:
    start = (
        *("serve", "--upstream", "http://127.0.0.1:9/v1", "--workers", "2"),
        *("--port", "0", "--control-port", "0"),
    )
    relaxed = children.start(*start, "--durability", "relaxed", "--store", f"sqlite:///{tmp_path}/s.db")
    nowhere = children.start(*start, "--store", f"sqlite:///{tmp_path}/no/folder/s.db")
    for child, said in ((relaxed, "durability 'relaxed' with workers 2"), (nowhere, "can't be opened")):
        assert await asyncio.to_thread(child.process.wait, WAIT_S) == 2, child.said
        assert said in child.said and "Traceback" not in child.said and "data plane" not in child.said


async def test_workers_end_with_their_supervisor(children: Children, tmp_path: Path) -> None:
    async with upstream() as app:
        gateway = await serve(children, app, tmp_path / "store.db")
        pids = [*await workers(gateway), *children_of(gateway.child.process.pid)]
        folders = {folder for pid in pids for folder in run_folders(pid)}
        assert len(folders) == 1
        gateway.child.kill()
        await wait_for(lambda: asyncio.to_thread(lambda: not any(map(alive, pids))))
        assert not any(map(os.path.exists, folders))


def run_folders(pid: int) -> set[str]:
    """The run's folder, by the files that a process has open in it."""
    opened = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # It was closed in between.
            opened.append(str(link.readlink()))
    return {name.rpartition("/")[0] for name in opened if "/crosswind-" in name}


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
