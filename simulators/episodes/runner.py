"""Episodes through the gateway: a session is opened, played, rewarded and closed; many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from openai import AsyncOpenAI

from crosswind.gateway.client import AsyncClient, GatewayError, OpenedSession
from crosswind.simulators.environment import Environment, Episode, Verdict, equip, unblocked
from crosswind.simulators.episodes.agent import ToolAgent
from crosswind.simulators.episodes.record import Job, Playthrough, Record
from crosswind.simulators.episodes.tools import Tools
from crosswind.simulators.episodes.users import ScriptedUsers, Users
from crosswind.simulators.errors import EnvironmentFailedError

REWARD_SOURCE = "verifier"
LAG_WITHIN_S = 3600.0
"""How long a rollout waits for a trainer that lags, as long as a group is waited for by default."""
_ASK_AGAIN_S = 1.0
"""After a 429 that doesn't say when."""


def model_client(**settings: Any) -> AsyncOpenAI:
    """A client of the data plane; base URL and key are given per session."""
    return AsyncOpenAI(base_url="http://127.0.0.1/v1", api_key="given-per-session", **settings)


OpenTools = Callable[[OpenedSession, Episode], AbstractAsyncContextManager[Tools]]
"""Gives a session's agent the tools of its episode, for as long as it plays."""


class EpisodeRunner:
    """Plays jobs in sessions of the gateway. It owns the pooled model client, but not the control client.

    `model` overrides the SDK's default client; `users` says who plays the users of the episodes, by default
    their own; `tools` where their tools are, by default in this process. With `count_noise` the records say
    what noise the sessions met. `lag_within_s` is for how long a trainer that lags is waited for.
    """

    def __init__(
        self,
        environment: Environment,
        agent: ToolAgent,
        control: AsyncClient,
        *,
        model: AsyncOpenAI | None = None,
        users: Users | None = None,
        tools: OpenTools | None = None,
        count_noise: bool = False,
        lag_within_s: float = LAG_WITHIN_S,
    ) -> None:
        self._lag_within_s = lag_within_s
        self._users = users or ScriptedUsers()
        self._tools = tools
        self._count_noise = count_noise
        self._environment = environment
        self._agent = agent
        self._control = control
        # Every session gets its own base URL and key; with_options keeps the one connection pool for all.
        self._model = model or model_client()
        self.waits: bool = getattr(environment, "waits", False)

    async def close(self) -> None:
        await self._model.close()

    async def run(self, job: Job) -> Record:
        """Open a session, play the job and close it. Failures of the infrastructure go into the record."""
        try:
            episode = await unblocked(self._environment.reset, job.task, job.episode_seed)
        except EnvironmentFailedError as error:
            return Record(job, str(job.session["arm"]), error=f"environment: {error}")
        try:
            return await self._run(job, episode)
        finally:
            with suppress(EnvironmentFailedError):
                await unblocked(episode.close)

    async def _run(self, job: Job, episode: Episode) -> Record:
        declared = dict(equip(self._environment, episode).tool_classes)
        try:
            opened = await self._open_session(job, declared)
        except _TrainerLagsError as error:
            return Record(job, str(job.session["arm"]), error=str(error))
        except GatewayError as error:
            _raise_if_refused(error)
            return Record(job, str(job.session["arm"]), error=f"open session: {_describe(error)}")
        client = self._model.with_options(base_url=opened.base_url, api_key=opened.api_key)
        try:
            played = await self._play(client, job, episode, opened)
            verdict, void = await _judge(episode, played)
            lost = await self._settle(opened.id, verdict, void=void)
        except asyncio.CancelledError:
            await self._settle(opened.id, None, void="cancelled")
            raise
        failure = void or lost
        kept = None if failure else verdict
        record = Record(job, opened.arm, opened.id, opened.plan, played, kept, failure)
        return await self._with_noise(record) if self._count_noise and kept is not None else record

    async def _open_session(self, job: Job, declared: dict[str, str]) -> OpenedSession:
        """Open the job's session, again and again while the gateway says that the trainer lags, each time
        when it said. Raises _TrainerLagsError where the next time would be too late.
        """
        until = time.monotonic() + self._lag_within_s
        while True:
            try:
                return await self._control.open_session(
                    task_id=job.task.id, tool_classes=declared, **job.session
                )
            except GatewayError as error:
                if error.status != 429:
                    raise
                seconds = _ASK_AGAIN_S if error.retry_after is None else error.retry_after
                if time.monotonic() + seconds > until:
                    why = f"open session: 429, the trainer lagged for {self._lag_within_s:g} s"
                    raise _TrainerLagsError(why) from error
                await asyncio.sleep(seconds)

    async def _with_noise(self, record: Record) -> Record:
        """The record with its session's dose: a session that was assigned noise may have met none."""
        assert record.session_id is not None
        try:
            return replace(record, dose=await self._control.dose(record.session_id))
        except GatewayError as error:
            return replace(record, verdict=None, error=f"dose: {_describe(error)}")

    async def _play(
        self, client: AsyncOpenAI, job: Job, episode: Episode, session: OpenedSession
    ) -> Playthrough:
        try:
            async with (
                self._users.open_user(self._control, client, job, episode, session.id) as user,
                self._tools(session, episode) if self._tools else nullcontext() as tools,
            ):
                return await self._agent.play(client, episode, job.seed_key, user, tools)
        except GatewayError as error:
            _raise_if_refused(error)
            return Playthrough(0, 0, 0, f"user's session: {_describe(error)}")
        except EnvironmentFailedError as error:
            return Playthrough(0, 0, 0, f"environment: {error}")

    async def _settle(self, session_id: str, verdict: Verdict | None, *, void: str | None) -> str | None:
        """Post the reward, where there is one, and close the session, as void where `void` says why; the
        failure's name if that fails.
        """
        try:
            if verdict is not None:
                await self._control.reward(
                    session_id, verdict.reward, components=dict(verdict.components), source=REWARD_SOURCE
                )
            await self._control.close(session_id, void=void)
        except GatewayError as error:
            return f"reward: {_describe(error)}"
        return None


async def _judge(episode: Episode, played: Playthrough) -> tuple[Verdict | None, str | None]:
    """The verdict, or why there is none."""
    if played.error is not None:
        return None, played.error
    try:
        return await unblocked(episode.verify), None
    except EnvironmentFailedError as error:
        return None, f"environment: {error}"


def _describe(error: GatewayError) -> str:
    return "unreachable" if error.status is None else str(error.status)


class SessionRefusedError(ValueError):
    """The gateway refuses to open such a session: what was asked for is wrong, asking again won't help."""


class _TrainerLagsError(Exception):
    """A session was refused for as long as it may be."""


class GatewayLostError(RuntimeError):
    """Too many episodes in a row failed for the infrastructure's reasons; the text names the last."""


def _raise_if_refused(error: GatewayError) -> None:
    if error.status is not None and error.status < 500:
        raise SessionRefusedError(str(error)) from error


class _Jobs:
    """The jobs that are left. Drawing one may ask an environment in another process for its tasks."""

    def __init__(self, jobs: Iterator[Job], waits: bool) -> None:
        self._jobs, self.waits = jobs, waits
        self._drawing = asyncio.Lock()

    async def take(self) -> Job | None:
        """The next one; None where none is left. Raises EnvironmentFailedError."""
        async with self._drawing:
            return await unblocked(self._draw)

    def _draw(self) -> Job | None:
        return next(self._jobs, None)


async def run_all(
    runner: EpisodeRunner,
    jobs: Iterator[Job],
    *,
    concurrency: int,
    on_record: Callable[[Record], None],
    stopping: asyncio.Event,
    grace_s: float,
    retries: int = 0,
) -> None:
    """Play the jobs, `concurrency` at once, in their order. Once `stopping` is set none is begun.

    One that the infrastructure failed is played again, in a new session, `retries` times at most.
    Episodes that are then still on after `grace_s` seconds are cancelled: their sessions get no reward.
    Raises GatewayLostError after twice `concurrency` failures of the infrastructure in a row, and
    SessionRefusedError and EnvironmentFailedError at once.
    """
    failures = 0

    left = _Jobs(jobs, runner.waits)

    async def work() -> None:
        nonlocal failures
        while (job := await left.take()) is not None:
            for _ in range(1 + retries):
                if stopping.is_set():
                    return
                record = await runner.run(job)
                on_record(record)
                # A dead gateway ends the run instead of being asked again for every job that is left.
                failures = failures + 1 if record.error else 0
                if failures >= 2 * concurrency:
                    raise GatewayLostError(f"{failures} episodes in a row failed; the last: {record.error}")
                if not record.error:
                    break

    workers = [asyncio.create_task(work()) for _ in range(concurrency)]
    stop = asyncio.create_task(stopping.wait())
    everyone: asyncio.Future[Any] = asyncio.gather(*workers)
    try:
        await asyncio.wait([everyone, stop], return_when=asyncio.FIRST_COMPLETED)
        if not everyone.done():
            await asyncio.wait({everyone}, timeout=grace_s)
        if everyone.done():
            await everyone
    finally:
        for task in (stop, *workers):
            task.cancel()
        # Await `everyone` too, or asyncio logs its cancellation with a traceback.
        await asyncio.gather(stop, everyone, *workers, return_exceptions=True)
