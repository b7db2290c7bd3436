"""A run from its beginning to its figures."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from crosswind.figures.gate import Gate, GateResult
from crosswind.gateway.client import GatewayError
from crosswind.gateway.client.calls import Calls
from crosswind.gateway.trajectory.record import Arm, RewardState, Session
from crosswind.gateway.trajectory.store import Store, StoreError, iterate_sessions, open_existing
from crosswind.simulators.episodes.profile_files import send_profile
from crosswind.studies.chaos.agents import Agent, CommandAgent
from crosswind.studies.chaos.control import open_control
from crosswind.studies.chaos.episodes import OFF, order, plan_episodes
from crosswind.studies.chaos.gate import GateWatch
from crosswind.studies.chaos.gateways import (
    GatewayChoice,
    check_profile,
    find_key,
    name_servers,
    open_gateway,
    watch_over,
)
from crosswind.studies.chaos.player import Played, Player, RunSessions
from crosswind.studies.chaos.prices import Price
from crosswind.studies.chaos.progress import Progress
from crosswind.studies.chaos.run_folder import keep_output
from crosswind.studies.chaos.tasks import Task
from crosswind.studies.chaos.verdicts import Checker, JudgeVerifier, Verifier
from crosswind.verdicts.judge import Judge

_JUDGE_S = 120.0


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    url: str
    model: str
    key: str | None
    rubric: str
    samples: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What is played, with what, and how it is judged."""

    command: Sequence[str]
    tasks: Sequence[Task]
    profiles: Sequence[str]
    """Names, or files."""
    gateway: GatewayChoice
    folder: Path
    run: str
    names: str
    samples: int = 1
    seed: int = 0
    concurrency: int = 4
    retries: int = 2
    pause_s: float = 1.0
    timeout_s: float = 300.0
    most_bytes: int = 64 << 20
    checker: Sequence[str] | None = None
    checker_timeout_s: float = 60.0
    judge: JudgeSettings | None = None
    mcp: Mapping[str, str] | None = None
    price: Price | None = None
    gate: Gate | None = None
    user_answers: bool = False
    """Whether somebody answers the agent's questions."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that came to its end."""

    store: str
    """The URL of the store that holds it."""
    gate: GateResult | None


MakeAgent = Callable[[str, Sequence[Mapping[str, Any]]], Agent]
"""Gives the agent for a run's token and the gateway's servers of tools."""


async def run(settings: RunSettings, make_agent: MakeAgent | None = None) -> RunResult:
    """Play what is left of a run. With a gate, until its verdict stands.

    Raises RunStopped, CommandNotRun, GatewayError and ChildFailed.
    """
    token = secrets.token_hex(8)
    async with AsyncExitStack() as stack:
        stack.enter_context(watch_over(token))
        gateway = await stack.enter_async_context(open_gateway(settings.gateway, settings.folder, token))
        control = open_control(gateway.control)
        stack.push_async_callback(control.close)
        legs = await name_servers(gateway.control, settings.mcp or {})
        profiles = [await _give_profile(gateway.control, name) for name in settings.profiles]
        store = stack.enter_context(closing(await asyncio.to_thread(open_existing, gateway.store)))
        done = await _find_finished(control, store, settings.run)
        tasks = order(settings.tasks, settings.seed) if settings.gate else settings.tasks
        planned = list(plan_episodes(tasks, profiles, settings.samples))
        left = [one for one in planned if one.key not in done]
        watch = None
        if settings.gate is not None:
            names = [task.id for task in tasks]
            watch = await asyncio.to_thread(
                GateWatch, settings.gate, names, left, store, settings.run, settings.seed
            )
        progress = Progress(len(planned), len(done), settings.concurrency, settings.price)
        stack.callback(progress.close)

        def add(played: Played) -> None:
            keep_output(settings.folder, played)
            progress.add(played)

        player = Player(
            control,
            store,
            make_agent(token, legs) if make_agent else _make_agent(settings, token, legs),
            await _make_verifier(settings, token, stack),
            RunSessions(settings.run, settings.names, settings.seed, settings.price, settings.user_answers),
            retries=settings.retries,
            pause_s=settings.pause_s,
            on_played=add,
            on_finished=watch.finish if watch else None,
        )
        try:
            episodes = watch.until_decided(left) if watch else iter(left)
            await player.play_all(episodes, settings.concurrency)
        finally:
            with suppress(GatewayError, StoreError):
                await _delete_open(control, store, settings.run)
        return RunResult(gateway.store, await asyncio.to_thread(watch.judge) if watch else None)


def _make_agent(settings: RunSettings, token: str, legs: Sequence[Mapping[str, Any]]) -> Agent:
    key = find_key(settings.gateway)
    return CommandAgent(settings.command, token, settings.timeout_s, settings.most_bytes, legs, key)


async def _make_verifier(settings: RunSettings, token: str, stack: AsyncExitStack) -> Verifier | None:
    if settings.checker is not None:
        return Checker(settings.checker, token, settings.checker_timeout_s)
    if settings.judge is not None:
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=_JUDGE_S))
        judge = settings.judge
        return JudgeVerifier(
            Judge(http, judge.url, judge.model, judge.key, judge.rubric, judge.samples, _JUDGE_S)
        )
    return None


async def _give_profile(control: str, name: str) -> str:
    """The name by which the gateway knows a profile. Raises GatewayError, and UsageError for a file."""
    known = await asyncio.to_thread(send_profile, control, "--profile", name)
    await check_profile(control, known)
    return known


async def _find_finished(control: Calls, store: Store, run: str) -> set[tuple[str, int, str]]:
    """The keys of the episodes that are finished. Sessions that a killed run left open are deleted."""
    await _delete_open(control, store, run)
    return {
        (
            str(session.task_id),
            session.rollout_index or 0,
            OFF if session.arm is Arm.CLEAN else str(session.plan.get("profile")),
        )
        for session in await _read_sessions(store, run)
        if session.reward_state is RewardState.GIVEN
    }


async def _delete_open(control: Calls, store: Store, run: str) -> None:
    """Delete the sessions without an outcome: nothing is known of them, as if they had not been."""
    for session in await _read_sessions(store, run):
        if session.reward_state is RewardState.PENDING:
            await control.delete(session.id)


async def _read_sessions(store: Store, run: str) -> list[Session]:
    return await asyncio.to_thread(lambda: list(iterate_sessions(store, label={"run": run})))
