"""A run of many episodes: event loop, signals, progress lines and the exit code."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import click
import httpx

from crosswind.gateway.client import AsyncClient, GatewayError
from crosswind.simulators.environment import Environment
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.groups import GroupPlan, jobs, next_group
from crosswind.simulators.episodes.profile_files import send_profile
from crosswind.simulators.episodes.record import Job, ProgressTally, Record
from crosswind.simulators.episodes.runner import (
    LAG_WITHIN_S,
    EpisodeRunner,
    GatewayLostError,
    OpenTools,
    SessionRefusedError,
    run_all,
)
from crosswind.simulators.episodes.users import Users
from crosswind.simulators.errors import EnvironmentFailedError

PROGRESS_EVERY_S = 1.0
RETRY_EVERY_S = 0.2


ServeTools = Callable[[Environment], AbstractAsyncContextManager[OpenTools]]
"""Serves an environment's tools behind the gateway within a block. httpx.HTTPError where it refuses."""


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """Where and how a command's episodes are played."""

    control: str
    """URL of the gateway's control plane."""
    concurrency: int
    agent: AgentSettings
    users: Users | None
    """The model that plays the users; None: the episodes' own users."""
    json_progress: bool
    grace_s: float = 0.0
    """How long running episodes may go on after a signal."""
    count_noise: bool = False
    """Whether the records say what noise the sessions met."""
    retries: int = 0
    """How often an episode that the infrastructure failed is played again."""
    lag_within_s: float = LAG_WITHIN_S
    """How long an episode waits for a trainer that lags, before it is void."""
    serve_tools: ServeTools | None = None
    """Puts the agents' tools behind the gateway; None: they are in this process."""


def run_groups(
    environment: Environment,
    plan: GroupPlan,
    settings: CampaignSettings,
    *,
    start_within_s: float,
    curriculum_within_s: float,
    continue_numbering: bool,
) -> int:
    """Play the plan's groups, once a trainer has set a curriculum or `curriculum_within_s` are over.

    Returns the exit code: 0 for success, 1 if the gateway was lost or no episode came to its end, 2 if the
    gateway was never there.
    """
    tally = ProgressTally()

    async def main() -> int:
        numbered, stopping = plan, asyncio.Event()
        async with AsyncClient(settings.control) as control:
            there = await _wait_until_healthy(control, start_within_s)
            _stop_on_signals(stopping)
            if there and curriculum_within_s:
                await _wait_for_curriculum(control, curriculum_within_s, stopping)
            if there and plan.profile is not None:
                sent = await asyncio.to_thread(send_profile, settings.control, "--profile", plan.profile)
                numbered = replace(plan, profile=sent)
            if there and continue_numbering:
                try:
                    numbered = replace(numbered, first=await next_group(control, plan))
                except GatewayError as error:
                    click.echo(f"crosswind: --first-group: {error}; give the number", err=True)
                    return 1
        todo = jobs(environment, numbered)
        code = await play_campaign(environment, todo, settings, tally, tally.add, stopping)
        return code or (1 if tally.errors and not tally.episodes else 0)

    return run_loop(main())


def run_loop(main: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine to its exit code, on uvloop."""
    import uvloop  # not at the top: the commands' help needs none

    return uvloop.run(main)


async def play_campaign(
    environment: Environment,
    todo: Iterator[Job],
    settings: CampaignSettings,
    tally: ProgressTally,
    on_record: Callable[[Record], None],
    stopping: asyncio.Event | None = None,
) -> int:
    """Play all jobs, print the tally's progress lines, and return the exit code.

    `stopping` ends them early; SIGTERM and SIGINT set it.
    """

    def report(event: str) -> None:
        _print_progress(tally, event, as_json=settings.json_progress)

    async with AsyncClient(settings.control) as control:
        if not await control.healthy():
            fix = "start `crosswind serve` or name its control port"
            click.echo(f"crosswind: --control: nothing answers at {settings.control}; {fix}", err=True)
            return 2
        stopping = _stop_on_signals(stopping or asyncio.Event())
        ticker = asyncio.create_task(_tick(report))
        try:
            async with _open_runner(environment, settings, control) as runner:
                await run_all(
                    runner,
                    todo,
                    concurrency=settings.concurrency,
                    on_record=on_record,
                    stopping=stopping,
                    grace_s=settings.grace_s,
                    retries=settings.retries,
                )
        except SessionRefusedError as error:
            click.echo(f"crosswind: {error}", err=True)
            return 2
        except httpx.HTTPStatusError as error:
            click.echo(f"crosswind: the gateway takes no server of tools: {error.response.text}", err=True)
            return 2
        except EnvironmentFailedError as error:
            report("lost")
            click.echo(f"crosswind: environment: {error}", err=True)
            return 1
        except GatewayLostError as error:
            report("lost")
            click.echo(f"crosswind: {error}", err=True)
            return 1
        finally:
            ticker.cancel()
    report("end")
    return 0


@asynccontextmanager
async def _open_runner(
    environment: Environment, settings: CampaignSettings, control: AsyncClient
) -> AsyncIterator[EpisodeRunner]:
    serving = nullcontext() if settings.serve_tools is None else settings.serve_tools(environment)
    async with serving as tools:
        agent = ToolAgent(environment, settings.agent)
        runner = EpisodeRunner(
            environment,
            agent,
            control,
            users=settings.users,
            tools=tools,
            count_noise=settings.count_noise,
            lag_within_s=settings.lag_within_s,
        )
        try:
            yield runner
        finally:
            await runner.close()


async def _wait_until_healthy(control: AsyncClient, within_s: float) -> bool:
    """Whether the gateway answers. It may be started in the same moment as this command."""
    deadline = time.monotonic() + within_s
    if not (healthy := await control.healthy()) and within_s:
        click.echo(f"waiting up to {within_s:g} s for the gateway at {control.url}", err=True)
    while not healthy and time.monotonic() < deadline:
        await asyncio.sleep(RETRY_EVERY_S)
        healthy = await control.healthy()
    return healthy


async def _wait_for_curriculum(control: AsyncClient, within_s: float, stopping: asyncio.Event) -> None:
    """Wait until a trainer has set a curriculum: what is played before has no clean arm to learn from."""
    deadline = time.monotonic() + within_s
    if await _has_curriculum(control):
        return
    click.echo(
        f"waiting up to {within_s:g} s for a trainer to set its curriculum at {control.url} "
        "(--curriculum-within 0: play without one)",
        err=True,
    )
    while not stopping.is_set() and time.monotonic() < deadline:
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), RETRY_EVERY_S)
        if await _has_curriculum(control):
            return
    if not stopping.is_set():
        click.echo("no trainer has set a curriculum: the gateway's own profile decides", err=True)


async def _has_curriculum(control: AsyncClient) -> bool:
    with suppress(GatewayError):  # A gateway that is gone is found out by the first episode.
        return await control.get_curriculum() is not None
    return False


def _stop_on_signals(stopping: asyncio.Event) -> asyncio.Event:
    """Have SIGTERM and SIGINT set the event."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    return stopping


async def _tick(report: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        report("progress")


def _print_progress(tally: ProgressTally, event: str, *, as_json: bool) -> None:
    """Print one progress line: JSON on stdout, or words on stderr."""
    line = tally.line(event)
    if as_json:
        click.echo(json.dumps(line))
        return
    arms = ", ".join(
        f"{name} {arm['success']:.0%} of {arm['episodes']}" for name, arm in line["arms"].items()
    )
    kinds = ", ".join(f"{name} {number}" for name, number in line.get("error_kinds", {}).items())
    errors = f"{line['errors']} errors" + (f" ({kinds})" if kinds else "")
    click.echo(f"{line['seconds']:8.1f} s  {line['episodes']} episodes  {errors}  {arms}", err=True)
