"""Messages between the supervisor and a child: JSON lines over a socket pair.

Messages keep their order, unlike signals, and need no disk. Either end can send messages and ask questions.
When one process dies, the other reads the end of the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

Message = Mapping[str, Any]
Hear = Callable[[Message], Awaitable[Message | None]]

_LONGEST = 16 << 20
"""The most bytes of a message: a configuration with all its keys."""
_ASK, _ANSWER = "ask", "answer"


class Channel:
    """One end of the channel. Create it with `open`; `listen` starts the handling of messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Message]] = {}
        self.ended = False
        """Whether the other end has closed."""

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Take over one end of a socket pair."""
        end.setblocking(False)
        return cls(*await asyncio.open_unix_connection(sock=end, limit=_LONGEST))

    async def receive(self) -> Message | None:
        """The next message; None if the other end has closed."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):
            line = b""
        if not line.endswith(b"\n"):
            self.ended = True
            return None
        message: Message = json.loads(line)
        return message

    def tell(self, message: Message) -> None:
        """Send a message. It is dropped if the other end has closed."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def ask(self, message: Message, timeout_s: float) -> Message | None:
        """Send a message and wait for its answer; None after the timeout."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.tell({**message, _ASK: number})
        try:
            return await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            return None
        finally:
            del self._asked[number]

    async def listen(self, hear: Hear) -> None:
        """Call `hear` with each message, one at a time, until the other end has closed.

        The result of `hear` is sent back as the answer to a question.
        """
        with contextlib.suppress(ConnectionError):
            while (message := await self.receive()) is not None:
                if _ANSWER in message:
                    waiting = self._asked.get(message[_ANSWER])
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message)
                    continue
                answer = await hear(message)
                if _ASK in message:
                    self.tell({**(answer or {}), _ANSWER: message[_ASK]})

    def close(self) -> None:
        self._writer.close()
