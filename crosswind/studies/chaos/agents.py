"""Agents: a command that is run for each attempt, or anything else that plays a task in a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from crosswind.gateway.client import OpenedSession
from crosswind.studies.chaos.episodes import Episode
from crosswind.studies.chaos.processes import Ended, run_command
from crosswind.studies.chaos.variables import fill_command, make_variables


class Agent(Protocol):
    """Plays tasks."""

    async def play(self, episode: Episode, session: OpenedSession) -> Ended: ...


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """A command, run once for each attempt; it reads the task from its standard input, unless it has the
    placeholder `{task}`."""

    command: Sequence[str]
    run: str
    """A token that all processes of the run have in their environment."""
    timeout_s: float
    most_bytes: int
    legs: Sequence[Mapping[str, Any]] = ()
    key: str | None = field(default=None, repr=False)
    """The provider's, which agents aren't given."""

    async def play(self, episode: Episode, session: OpenedSession) -> Ended:
        task = episode.task
        command, has_task = fill_command(self.command, task, session)
        return await run_command(
            command,
            None if has_task else task.prompt,
            make_variables(task, session, episode.sample, self.legs, self.run, self.key),
            timeout_s=self.timeout_s,
            most_bytes=self.most_bytes,
            mark=f"CROSSWIND_SESSION={session.id}",
        )
