"""A client that keeps one connection. Where that breaks, it connects again and asks again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx

from tests.loop.clients import take_turn
from tests.loop.connections import local_port, server_of

TURNS = 4


@dataclass
class Steady:
    """Leads conversations of `TURNS` turns, plain and streamed by turns, until it is told to stop."""

    number: int
    data: str
    supervisor: int
    """The process whose children serve."""
    stop: asyncio.Event
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Session by the id of the response that was seen to be whole."""
    breaks: list[int] = field(default_factory=list)
    """The process that served, for each time that the connection broke."""
    served_by: int = 0

    async def talk(self) -> None:
        conversation = 0
        while not self.stop.is_set():
            try:
                async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
                    await self._connect(http)
                    while not self.stop.is_set():
                        await self._conversation(http, f"steady-{self.number}-{conversation}")
                        conversation += 1
            except httpx.TransportError:
                self.breaks.append(self.served_by)

    async def _connect(self, http: httpx.AsyncClient) -> None:
        answer = await http.get(f"{self.data}/healthz")
        port = httpx.URL(self.data).port
        assert port is not None
        self.served_by = await asyncio.to_thread(server_of, local_port(answer), port, self.supervisor)

    async def _conversation(self, http: httpx.AsyncClient, session: str) -> None:
        def acknowledge(response_id: str) -> None:
            self.acknowledged[response_id] = session

        messages: list[dict[str, str]] = []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"question {turn} of {session}"})
            await take_turn(http, self.data, session, messages, acknowledge, stream=turn % 2 == 1)
