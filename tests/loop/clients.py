"""Agents that talk without end over kept-alive connections, and note what was acknowledged to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from crosswind.testing.replies import DONE, JSON, SSE, Part, ReceivedRequest, Reply
from tests.gateway.servers import answer, delta, event

TALKERS = 6
LOST = (httpx.TransportError,)
"""How a client sees the gateway's death."""


def unique_answers() -> Reply:
    """A reply that never gives one response id twice, plain or streamed as it is asked."""
    numbers = count(1)

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        name = {"id": f"resp-{next(numbers):06d}-end"}
        if seen.json.get("stream"):
            yield 200, [SSE]
            yield event([delta("hel")], **name)
            yield event([delta("lo", finish="stop")], **name)
            yield DONE
        else:
            body = json.dumps(answer(**name)).encode()
            yield 200, [JSON, (b"content-length", str(len(body)).encode())]
            yield body

    return reply


async def take_turn(
    http: httpx.AsyncClient,
    data: str,
    session: str,
    messages: list[dict[str, str]],
    acknowledge: Callable[[str], None],
    *,
    stream: bool,
    key: str = "any",
) -> None:
    """One turn of a session; `acknowledge` is called with the response's id once it is known to be whole."""
    body = {"model": "tiny", "messages": messages, "stream": stream}
    url, headers = f"{data}/s/{session}/v1/chat/completions", {"authorization": f"Bearer {key}"}
    async with http.stream("POST", url, json=body, headers=headers) as given:
        assert given.status_code == 200, await given.aread()
        if stream:
            async for line in given.aiter_lines():
                if '"finish_reason": "stop"' in line:
                    acknowledge(json.loads(line.removeprefix("data: "))["id"])
        else:
            acknowledge(json.loads(await given.aread())["id"])
    messages.append({"role": "assistant", "content": "hello"})


@dataclass
class Noted:
    """What clients were told is done. `enough` is set once `wanted` acknowledgements came."""

    sessions: set[str] = field(default_factory=set)
    turns: dict[str, str] = field(default_factory=dict)
    """Session by response id."""
    rewards: dict[float, str] = field(default_factory=dict)
    """Session by reward: none is posted twice."""
    closed: set[str] = field(default_factory=set)
    wanted: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    streamed: int = 0

    def count(self) -> int:
        return len(self.sessions) + len(self.turns) + len(self.rewards) + len(self.closed)

    def another(self) -> None:
        if self.count() >= self.wanted:
            self.enough.set()


class Talker:
    """One client. It outlives gateways: with the next one it goes on in its session."""

    def __init__(self, noted: Noted, number: int) -> None:
        self._noted = noted
        self._rewards = count(number, TALKERS)
        self._number = number
        self._session: dict[str, Any] | None = None
        self._messages: list[dict[str, str]] = []
        self._turns = 0

    async def talk(self, data: str, control: str) -> None:
        """Talk until the gateway is gone."""
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            try:
                while True:
                    await self._session_to_its_end(http, data, control)
            except LOST:
                return

    async def _session_to_its_end(self, http: httpx.AsyncClient, data: str, control: str) -> None:
        noted = self._noted
        if self._session is None:
            opened = await http.post(f"{control}/api/sessions", json={"task_id": f"talk-{self._number}"})
            assert opened.status_code == 201, opened.text
            self._session, self._messages = opened.json(), []
            noted.sessions.add(self._session["id"])
            noted.another()
        session = self._session["id"]
        while len(self._messages) < 8:
            self._messages.append({"role": "user", "content": f"question {self._turns} of {self._number}"})
            self._turns += 1
            stream = self._turns % 2 == 0
            key = self._session["api_key"]
            await take_turn(http, data, session, self._messages, self._acknowledged, stream=stream, key=key)
            noted.streamed += stream
        reward = float(next(self._rewards))
        given = await http.post(f"{control}/api/sessions/{session}/reward", json={"reward": reward})
        assert given.status_code == 200, given.text
        noted.rewards[reward] = session
        noted.another()
        closed = await http.post(f"{control}/api/sessions/{session}/close")
        assert closed.status_code == 200, closed.text
        noted.closed.add(session)
        noted.another()
        self._session = None

    def _acknowledged(self, response_id: str) -> None:
        assert self._session is not None and response_id not in self._noted.turns
        self._noted.turns[response_id] = self._session["id"]
        self._noted.another()
