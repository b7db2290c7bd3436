"""Plays episodes: opens a session, has the agent play, settles what it was worth, repeats void ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crosswind.figures.attempts import Arm, Void
from crosswind.gateway.client import GatewayError, OpenedSession
from crosswind.gateway.client.calls import Calls
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.studies.chaos.agents import Agent
from crosswind.studies.chaos.episodes import OFF, Episode, name_session
from crosswind.studies.chaos.examination import Examined, examine
from crosswind.studies.chaos.prices import Price
from crosswind.studies.chaos.processes import Ended
from crosswind.studies.chaos.verdicts import Verdict, Verifier, decide

SOURCE = "chaos"
"""The source of the rewards."""
_LONGEST_PAUSE_S = 30.0
_MOST_NAMES = 1000


class RunStopped(Exception):
    """The run can't go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Played:
    """One attempt, settled."""

    episode: Episode
    session: str
    ended: Ended
    examined: Examined
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class RunSessions:
    """What the sessions of a run have in common: names, seed and user."""

    run: str
    """The label `run`."""
    names: str
    """What the ids of its sessions follow from, besides the episode."""
    seed: int
    price: Price | None = None
    user_answers: bool = False
    """Whether somebody answers the agent's questions; then the profile says whether the user can."""


class Player:
    """Plays episodes on one gateway. `on_played` gets each attempt, void ones too."""

    def __init__(
        self,
        control: Calls,
        store: Store,
        agent: Agent,
        verifier: Verifier | None,
        run: RunSessions,
        *,
        retries: int,
        pause_s: float,
        on_played: Callable[[Played], None],
        on_finished: Callable[[Episode], None] | None = None,
    ) -> None:
        self._control = control
        self._store = store
        self._agent = agent
        self._verifier = verifier
        self._run = run
        self._retries = retries
        self._pause_s = pause_s
        self._on_played = on_played
        self._on_finished = on_finished

    async def play_all(self, episodes: Iterator[Episode], concurrency: int) -> None:
        """Play them in their order, so many at once. Raises RunStopped, CommandNotRun."""

        async def work() -> None:
            for episode in episodes:
                await self.play(episode)
                if self._on_finished is not None:
                    await asyncio.to_thread(self._on_finished, episode)

        workers = [asyncio.create_task(work()) for _ in range(concurrency)]
        try:
            # The first problem is raised at once; a group would wrap it.
            await asyncio.gather(*workers)
        except GatewayError as error:
            raise RunStopped(
                f"the gateway refuses requests or is gone: {error}; fix that, and run again with --resume"
            ) from error
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def play(self, episode: Episode) -> None:
        """Play an episode; while it is void, again, after a pause that doubles."""
        for attempt in range(1 + self._retries):
            played = await self._attempt(episode)
            self._on_played(played)
            if played.verdict.void in (None, Void.NO_REQUEST):
                return
            if attempt < self._retries and played.verdict.void in (Void.UPSTREAM, Void.GATEWAY, Void.TIMEOUT):
                await asyncio.sleep(min(self._pause_s * 2**attempt, _LONGEST_PAUSE_S))

    async def _attempt(self, episode: Episode) -> Played:
        session = await self._open(episode)
        try:
            ended = await self._agent.play(episode, session)
            examined = await asyncio.to_thread(examine, self._store, session.id, ended)
            if examined.void is not None:
                verdict = Verdict(None, examined.note, examined.void)
            else:
                verdict = await decide(episode.task, ended, self._verifier)
                if verdict.success and examined.requests == 0:
                    # Such as by a cache that another attempt has filled: it tells nothing of noise.
                    verdict = Verdict(None, "no request came through the gateway", Void.NO_REQUEST)
            await self._settle(session.id, ended, examined, verdict)
        except StoreError as error:
            raise RunStopped(
                f"the store can't be read: {error}; fix that, and run again with --resume"
            ) from error
        return Played(episode, session.id, ended, examined, verdict)

    async def _open(self, episode: Episode) -> OpenedSession:
        noisy = episode.arm is Arm.NOISY
        for number in range(_MOST_NAMES):
            opening = asyncio.ensure_future(
                self._control.open_session(
                    id=name_session(self._run.names, episode, number),
                    task_id=episode.task.id,
                    rollout_index=episode.sample,
                    arm="noisy" if noisy else "clean",
                    profile=episode.profile if noisy else OFF,
                    seed=self._run.seed,
                    user_can_answer=None if self._run.user_answers else False,
                    labels={
                        "purpose": SOURCE,
                        "run": self._run.run,
                        "task": episode.task.id,
                        "sample": episode.sample,
                        "arm": episode.arm.value,
                    },
                )
            )
            try:
                return await asyncio.shield(opening)
            except asyncio.CancelledError:
                # So that the session is there when those without an outcome are deleted.
                await asyncio.wait([opening])
                raise
            except GatewayError as error:
                if error.code != "session_exists":
                    raise
        raise RunStopped(f"{_MOST_NAMES} attempts at {episode.task.id!r} are on record; begin another run")

    async def _settle(self, session: str, ended: Ended, examined: Examined, verdict: Verdict) -> None:
        """Post what it was worth and close its session."""
        if verdict.void is not None:
            said = f"{verdict.void}: {verdict.note}" if verdict.note else verdict.void.value
            await self._control.close(
                session, void="".join(c if c.isprintable() else " " for c in said)[:200]
            )
            return
        assert verdict.success is not None
        components: dict[str, str | float] = {
            "note": verdict.note,
            "seconds": round(ended.seconds, 3),
            "left_behind": ended.left_behind,
        }
        if self._run.price is not None:
            components["cost"] = self._run.price.of(examined.tokens_in, examined.tokens_out)
        await self._control.reward(session, verdict.success, components=components, source=SOURCE)
        await self._control.close(session)
