"""Who the agent talks to: the episode's own user, a difficult one, or a model that plays the user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from openai import AsyncOpenAI

from crosswind.gateway.client import AsyncClient, OpenedSession
from crosswind.simulators.draws import Draws, stable_seed
from crosswind.simulators.environment import Episode, Message, unblocked
from crosswind.simulators.episodes.difficult_user import DifficultUser
from crosswind.simulators.episodes.record import Job

STOP = "###STOP###"
"""What a model that plays the user writes when the talk is over."""

GREETING = "Hello, how can I help you?"
"""What the model gets to answer with the user's first message."""

_ENDING = (
    "Write what the customer writes, and nothing else. When the assistant has answered your wish, or has "
    f"refused it for good, write {STOP} alone."
)


class User(Protocol):
    """One side of the talk."""

    async def opening(self) -> str:
        """The first message."""
        ...

    async def reply(self, text: str) -> str | None:
        """What the user says to the assistant's text; None: the conversation is over."""
        ...


class EpisodeUser:
    """The episode's own scripted user."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def opening(self) -> str:
        return self._episode.opening

    async def reply(self, text: str) -> str | None:
        return await unblocked(self._episode.reply, text)


class Users(Protocol):
    """Who plays the users of the episodes."""

    def open_user(
        self, control: AsyncClient, client: AsyncOpenAI, job: Job, episode: Episode, beside: str
    ) -> AbstractAsyncContextManager[User]:
        """The user of one episode, whose session stands beside the agent's. Raises GatewayError."""
        ...


class AskedUser:
    """A scripted user who, when asked, gives back what the noise on the agent's session has made vague in
    the user's messages: in the words that the gateway has drawn for it. Where these aren't on disk yet, since
    the turn was released late, the user gives the own answer.
    """

    def __init__(self, user: User, control: AsyncClient, session_id: str) -> None:
        self._user = user
        self._control = control
        self._session_id = session_id
        self._revealed: set[str] = set()
        """The slots of the events whose values were given back."""

    async def opening(self) -> str:
        return await self._user.opening()

    async def reply(self, text: str) -> str | None:
        """The answer to the assistant's text. Raises GatewayError."""
        own = await self._user.reply(text)
        if own is None and "?" not in text:
            return None
        said = []
        for event in await self._control.events(self._session_id):
            reveal = event["draw"].get("reveal")
            if reveal and event["after"] is not None and event["slot"] not in self._revealed:
                self._revealed.add(event["slot"])
                said.append(reveal)
                if own and any(value in own for value in _vague_values(event["draw"])):
                    own = None  # It would say the same.
        return "\n".join((*said, *([own] if own else ()))) or None


def _vague_values(draw: Mapping[str, Any]) -> list[str]:
    return [*draw.get("withheld", ()), *draw.get("coarse", ())]


class ScriptedUsers:
    """The episodes' own users."""

    @asynccontextmanager
    async def open_user(
        self, control: AsyncClient, client: AsyncOpenAI, job: Job, episode: Episode, beside: str
    ) -> AsyncIterator[User]:
        yield AskedUser(EpisodeUser(episode), control, beside)


@dataclass(frozen=True, slots=True)
class DifficultUsers:
    """The episodes' own users, who behave as a profile's interaction pattern says."""

    profile: str

    @asynccontextmanager
    async def open_user(
        self, control: AsyncClient, client: AsyncOpenAI, job: Job, episode: Episode, beside: str
    ) -> AsyncIterator[User]:
        """Open a session for the user, which draws the behaviours, and close it at the end."""
        opened = await _open_beside(control, job, self.profile, beside)
        try:
            draws = Draws("difficult-user", job.task.id, job.episode_seed)
            yield AskedUser(DifficultUser(episode, opened.behaviours, draws), control, beside)
        finally:
            await control.close(opened.id)


async def _open_beside(control: AsyncClient, job: Job, profile: str | None, beside: str) -> OpenedSession:
    """Open a user's session. Its noise is drawn by the task and the job's seed: all rollouts of a group meet
    the same user."""
    labels = {"role": "simulated_user", "beside": beside}
    return await control.open_session(
        task_id=job.task.id, seed=job.session.get("seed"), profile=profile, labels=labels
    )


@dataclass(frozen=True, slots=True)
class UserModel:
    """Settings of the model that plays the users. It is behind the gateway, as the agent's policy is."""

    model: str
    """Its name in requests."""
    profile: str | None = None
    """The noise profile of its sessions; None: the gateway's own."""
    temperature: float = 1.0
    max_tokens: int = 256
    timeout_s: float = 120.0

    @asynccontextmanager
    async def open_user(
        self, control: AsyncClient, client: AsyncOpenAI, job: Job, episode: Episode, beside: str
    ) -> AsyncIterator[User]:
        """Open a session for the user of one episode beside the agent's, and close it at the end. Raises
        GatewayError.
        """
        opened = await _open_beside(control, job, self.profile, beside)
        own = client.with_options(base_url=opened.base_url, api_key=opened.api_key)
        try:
            yield _ModelUser(self, own, episode, job.seed_key)
        finally:
            await control.close(opened.id)


class _ModelUser:
    """A model that is given the episode's scenario, speaks as the user and hears the agent."""

    def __init__(
        self, settings: UserModel, client: AsyncOpenAI, episode: Episode, seed_key: tuple[object, ...]
    ) -> None:
        self._settings = settings
        self._client = client
        self._episode = episode
        self._seed_key = seed_key
        self._messages: list[Message] = [{"role": "system", "content": f"{episode.scenario}\n{_ENDING}"}]

    async def opening(self) -> str:
        return await self._answer(GREETING)

    async def reply(self, text: str) -> str | None:
        await unblocked(
            self._episode.reply, text
        )  # The episode hears what its own user would have heard, too.
        said = await self._answer(text)
        return None if STOP in said else said

    async def _answer(self, heard: str) -> str:
        self._messages.append({"role": "user", "content": heard})
        completion = await self._client.chat.completions.create(
            model=self._settings.model,
            messages=[],
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            seed=stable_seed("user", *self._seed_key, len(self._messages)),
            extra_body={"messages": self._messages},
            timeout=self._settings.timeout_s,
        )
        said = completion.choices[0].message.content or STOP
        self._messages.append({"role": "assistant", "content": said})
        return said
