"""The episodes in play, and what a client does with them over HTTP: begin, talk to the user, judge, end."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from crosswind.simulators.environment import Environment, Episode, Task, equip, unblocked
from crosswind.simulators.errors import EnvironmentFailedError

MOST = 1000
"""Episodes that clients may have begun and not ended."""


class EpisodesInPlay:
    """Episodes by the key that their requests carry."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._episodes: dict[str, Episode] = {}
        self._tasks = environment.tasks("train", kinds="all", seed=0)
        self._one_at_a_time = threading.Lock()
        self.waits = getattr(environment, "waits", False)

    def find(self, key: str) -> Episode | None:
        return self._episodes.get(key)

    @contextmanager
    def serve(self, episode: Episode) -> Iterator[str]:
        """Have an episode in play within the block; gives its key."""
        key = self._add(episode)
        try:
            yield key
        finally:
            del self._episodes[key]

    async def answer(self, method: str, key: str, body: bytes) -> tuple[int, Any]:
        """The status and the value that a request gets; without a key it begins an episode."""
        try:
            given = json.loads(body or b"{}")
            if not isinstance(given, dict):
                raise ValueError("the body must be a JSON object")
            if not key:
                return await self._begin(given) if method == "POST" else (405, {"error": "send POST"})
            return await self._go_on(method, key, given)
        except ValueError as error:
            return 400, {"error": str(error)}
        except EnvironmentFailedError as error:
            return 502, {"error": f"environment: {error}"}

    def close(self) -> None:
        """End all of them."""
        for episode in self._episodes.values():
            with suppress(EnvironmentFailedError):
                episode.close()
        self._episodes.clear()

    async def _begin(self, given: dict[str, Any]) -> tuple[int, Any]:
        if len(self._episodes) >= MOST:
            return 429, {"error": f"{MOST} episodes are in play; end one with DELETE /episodes/EPISODE"}
        seed = given.get("seed", 0)
        if not isinstance(seed, int):
            raise ValueError("seed: give a whole number")
        task = await unblocked(self._choose_task, given.get("task"))
        if isinstance(task, str):
            raise ValueError(task)
        episode = await unblocked(self._environment.reset, task, seed)
        key = self._add(episode)
        instructions = equip(self._environment, episode).instructions
        said = {"instructions": instructions, "opening": episode.opening}
        return 201, {"episode": key, "task": task.id, **said}

    def _choose_task(self, wanted: object) -> Task | str:
        """The task of that id, or the next one; a text where there is none."""
        with self._one_at_a_time:
            try:
                return next(self._tasks) if wanted is None else self._environment.task(str(wanted))
            except ValueError as error:
                return str(error)

    async def _go_on(self, method: str, key: str, given: dict[str, Any]) -> tuple[int, Any]:
        episode = self._episodes.get(key)
        if episode is None:
            return 404, {"error": f"there is no episode {key!r}; begin one with POST /episodes"}
        match method:
            case "GET":
                verdict = await unblocked(episode.verify)
                return 200, {"reward": verdict.reward, "components": dict(verdict.components)}
            case "POST" if isinstance(given.get("text"), str):
                return 200, {"reply": await unblocked(episode.reply, given["text"])}
            case "POST":
                raise ValueError("text: give what the agent says to the user")
            case "DELETE":
                await unblocked(self._episodes.pop(key).close)
                return 200, {}
        return 405, {"error": "send GET, POST or DELETE"}

    def _add(self, episode: Episode) -> str:
        key = secrets.token_hex(8)
        self._episodes[key] = episode
        return key
