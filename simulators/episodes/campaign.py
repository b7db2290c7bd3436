"""A run of many episodes from its first session to its last: event loop, signals, progress and the end."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any

import click

from crosswind.gateway.client import AsyncClient, GatewayError
from crosswind.simulators.environment import Environment
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.groups import GroupPlan, jobs, next_group
from crosswind.simulators.episodes.record import Job, Record
from crosswind.simulators.episodes.runner import GatewayLostError, SessionRefusedError, Stage, perform_all
from crosswind.simulators.episodes.tally import Tally
from crosswind.simulators.episodes.users import UserModel
from crosswind.simulators.errors import UsageError

PROGRESS_EVERY_S = 1.0
ASK_AGAIN_S = 0.2


def agent_for(environment: Environment, given: Mapping[str, Any]) -> ToolAgent:
    """The agent that the command's options describe."""
    settings = AgentSettings(
        given["model"],
        given["temperature"],
        given["max_tokens"],
        given["max_turns"],
        given["stream"],
        given["timeout"],
    )
    return ToolAgent(environment.instructions, environment.tools, settings)


def _users(given: Mapping[str, Any]) -> UserModel | None:
    """The model that plays the users, where the command's options name one."""
    name = given.get("user_model")
    if name is None and given.get("user_profile") is not None:
        raise UsageError("--user-profile: a model has to play the users: name it with --user-model")
    return None if name is None else UserModel(name, given["user_profile"], timeout_s=given["timeout"])


def run_groups(environment: Environment, plan: GroupPlan, given: Mapping[str, Any]) -> int:
    """Play the plan's groups; the exit code: 0 good, 1 the gateway was lost or no episode came to its end,
    2 the gateway was never there.
    """
    tally = Tally()

    async def main() -> int:
        numbered = plan
        async with AsyncClient(given["control"]) as control:
            if await _answers(control, given["start_within"]) and given["first_group"] is None:
                try:
                    numbered = replace(plan, first=await next_group(control, plan))
                except GatewayError as error:
                    click.echo(f"--first-group: {error}; give the number", err=True)
                    return 1
        code = await campaign(
            environment,
            jobs(environment, numbered),
            given,
            on_record=tally.add,
            progress=lambda event: say(tally, event, as_json=given["json_progress"]),
        )
        return code or (1 if tally.errors and not tally.episodes else 0)

    return run_loop(main())


def run_loop(main: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine to its exit code, on uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


async def campaign(
    environment: Environment,
    todo: Iterator[Job],
    given: Mapping[str, Any],
    *,
    on_record: Callable[[Record], None],
    progress: Callable[[str], None],
) -> int:
    """Play all jobs. `progress` is called with "progress" now and then, and with "end" or "lost" at last."""
    users = _users(given)
    async with AsyncClient(given["control"]) as control:
        if not await control.healthy():
            mend = "start `crosswind serve` or name its control port"
            click.echo(f"--control: nothing answers at {given['control']}; {mend}", err=True)
            return 2
        stage = Stage(environment, agent_for(environment, given), control, users=users)
        stopping = _stop_on_signals()
        ticker = asyncio.create_task(_tick(progress))
        try:
            await perform_all(
                stage,
                todo,
                concurrency=given["concurrency"],
                on_record=on_record,
                stopping=stopping,
                grace_s=given["grace"],
            )
        except SessionRefusedError as error:
            click.echo(str(error), err=True)
            return 2
        except GatewayLostError as error:
            progress("lost")
            click.echo(str(error), err=True)
            return 1
        finally:
            ticker.cancel()
            await stage.close()
    progress("end")
    return 0


async def _answers(control: AsyncClient, within_s: float) -> bool:
    """Whether the gateway answers; one that is started in the same moment is waited for."""
    deadline = time.monotonic() + within_s
    if not (healthy := await control.healthy()) and within_s:
        click.echo(f"waiting up to {within_s:g} s for the gateway at {control.url}", err=True)
    while not healthy and time.monotonic() < deadline:
        await asyncio.sleep(ASK_AGAIN_S)
        healthy = await control.healthy()
    return healthy


def _stop_on_signals() -> asyncio.Event:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    return stopping


async def _tick(progress: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        progress("progress")


def say(tally: Tally, event: str, *, as_json: bool) -> None:
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
