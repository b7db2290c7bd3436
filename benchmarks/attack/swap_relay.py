"""Between the trainer and the engine: passes everything on, and stops a publication where it is told to.

A swap lasts 0.2 ms. Here it lasts as long as a kill needs: the trainer has asked and has no answer yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

from crosswind.studies.stack import free_port

_PUBLISH, _SCORE = b"POST /policy/publish ", b"POST /policy/score "
_CHUNK = 1 << 16


class Moment(StrEnum):
    """Where a publication is stopped."""

    ASKED = "asked"
    """The trainer has asked, the engine knows nothing of it."""
    PASSED_ON = "passed on"
    """The engine has it: it reads, checks and swaps."""
    DONE = "done"
    """The engine has answered, the trainer has not heard it."""
    TO_CONFIRM = "to confirm"
    """The trainer has heard it, and asks for the log-probabilities that confirm it."""


class SwapRelay:
    """All connections to one engine. Only one moment is waited for at a time."""

    def __init__(self, engine_port: int) -> None:
        self.port = free_port()
        self._engine_port = engine_port
        self._moment: Moment | None = None
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    def stop_at(self, moment: Moment) -> None:
        """Stop the next publication there."""
        self._moment = moment
        self._reached.clear()
        self._released.clear()

    async def wait_until_reached(self, within_s: float) -> bool:
        try:
            await asyncio.wait_for(self._reached.wait(), within_s)
        except TimeoutError:
            return False
        return True

    def release(self) -> None:
        """Pass on what was held, to whoever is still there."""
        self._moment = None
        self._released.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", self._engine_port)
        except OSError:
            writer.close()
            return
        held = asyncio.Event()
        both = [
            asyncio.create_task(self._pass_requests(reader, requests, held)),
            asyncio.create_task(self._pass_answers(answers, writer, held)),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        requests.close()
        writer.close()

    async def _pass_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, held: asyncio.Event
    ) -> None:
        """`held` is set where this connection's answer is to be held."""
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                wanted = _SCORE if self._moment is Moment.TO_CONFIRM else _PUBLISH
                stopped = data.startswith(wanted) and self._moment is not None and not self._reached.is_set()
                if stopped and self._moment in {Moment.ASKED, Moment.TO_CONFIRM}:
                    self._reached.set()
                    await self._released.wait()
                elif stopped:
                    held.set()
                writer.write(data)
                await writer.drain()
                if stopped and self._moment is Moment.PASSED_ON:
                    self._reached.set()

    async def _pass_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, held: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                if held.is_set():
                    self._reached.set()
                    await self._released.wait()
                    held.clear()
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def run_relay(engine_port: int) -> AsyncIterator[SwapRelay]:
    relay = SwapRelay(engine_port)
    server = await asyncio.start_server(relay.carry, "127.0.0.1", relay.port)
    try:
        yield relay
    finally:
        relay.release()
        server.close()
