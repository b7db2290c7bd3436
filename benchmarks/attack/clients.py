"""Clients that talk without end, note what they were told, and outlive every process that they talk to."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from benchmarks.attack.connection import Broken, Connection, Response
from benchmarks.attack.ledger import Kind, Ledger
from benchmarks.attack.upstream import COMPLETING, RESPONSE_ID

PATIENCE_S = 60.0
"""An answer that takes longer is taken to hang."""
TRUTHFUL = {502, 503, 504}
"""Statuses that tell a client of an outage."""
_PAUSE_S = 0.05


@dataclass
class Load:
    """What all clients of one campaign share."""

    ledger: Ledger
    seed: int
    data: int = 0
    """The data plane's port; 0 while nothing serves."""
    control: int = 0
    deletions: float = 0.1
    """The share of sessions that are deleted in the end."""
    patience_s: float = PATIENCE_S
    turns: int = 5
    """Of a session, at most."""
    routes: tuple[str, ...] = tuple(COMPLETING)
    answer_id: re.Pattern[bytes] = RESPONSE_ID
    question_fields: Mapping[str, Any] = field(default_factory=lambda: {"model": "m"})
    """What each question carries beside its messages."""
    session_fields: Callable[[], dict[str, Any]] | None = None
    """What opens the next session. Without it half of the sessions are opened by their first turn."""
    question: Callable[[int], str] = lambda number: f"Where is order W{number}, please? I am waiting."
    pause_s: float = 0.0
    """Between two sessions of a client."""
    over: bool = False
    breaks: int = 0
    numbers: count[int] = field(default_factory=count)


@dataclass
class _Talk:
    """A session as its client knows it."""

    session: str
    route: str
    turns: int
    """The turns to come."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    rewarded: bool = False


class Client:
    """Opens sessions, takes turns, rewards, closes and deletes, one after the other."""

    def __init__(self, load: Load, number: int) -> None:
        self._load = load
        self._random = random.Random(f"{load.seed}-{number}")
        self._number = number
        self._sessions = 0
        self._talk: _Talk | None = None
        self._data = Connection(0)
        self._control = Connection(0)
        self._ports = (0, 0)

    async def talk(self) -> None:
        """Lead sessions until the load is over. A session that broke is gone on with."""
        while not self._load.over:
            try:
                await self._lead()
                await asyncio.sleep(self._load.pause_s)
            except Broken:
                self._load.breaks += 1
                await asyncio.sleep(_PAUSE_S)
        self._data.close()
        self._control.close()

    async def _lead(self) -> None:
        talk = self._talk = self._talk or await self._begin()
        if talk is None:
            return
        while talk.turns:
            if self._load.over:
                return
            if talk.messages[-1:] == [] or talk.messages[-1]["role"] == "assistant":
                question = self._load.question(next(self._load.numbers))
                talk.messages.append({"role": "user", "content": question})
            await self._turn(talk, stream=self._random.random() < 0.5)
            talk.messages.append({"role": "assistant", "content": "It is on its way."})
            talk.turns -= 1
        await self._end(talk)

    async def _end(self, talk: _Talk) -> None:
        """Reward, close, and now and then delete. A reward is never sent twice, nor a deletion."""
        ledger, session = self._load.ledger, talk.session
        if not talk.rewarded:
            talk.rewarded, value = True, float(next(self._load.numbers))
            if await self._tell("POST", f"/api/sessions/{session}/reward", {"reward": value}):
                ledger.note(Kind.REWARD, session, repr(value))
        if await self._tell("POST", f"/api/sessions/{session}/close"):
            ledger.note(Kind.CLOSED, session)
        self._talk = None
        if self._random.random() < self._load.deletions:
            ledger.note(Kind.DELETING, session)
            if await self._tell("DELETE", f"/api/sessions/{session}"):
                ledger.note(Kind.DELETED, session)

    async def _begin(self) -> _Talk | None:
        """Half of the sessions are opened by the control plane, half by their first turn."""
        self._sessions += 1
        talk = _Talk(
            f"attack-{self._load.seed}-{self._number}-{self._sessions}",
            self._random.choice(self._load.routes),
            self._random.randint(1, self._load.turns),
        )
        fields = self._load.session_fields
        if fields is None and self._random.random() < 0.5:
            return talk
        opening = {"task_id": f"task-{self._number}"} if fields is None else fields()
        answer = await self._ask(True, "POST", "/api/sessions", opening)
        if answer is None:
            return None
        talk.session = str(answer.json["id"])
        self._load.ledger.note(Kind.OPENED, talk.session)
        return talk

    async def _turn(self, talk: _Talk, *, stream: bool) -> None:
        session, route = talk.session, talk.route
        history = "input" if route == "responses" else "messages"
        body = {**self._load.question_fields, history: talk.messages, "stream": stream}
        if route == "messages":
            body["max_tokens"] = 100
        try:
            answer = await self._ask(False, "POST", f"/s/{session}/v1/{route}", body)
            got = b"" if answer is None else answer.body
        except Broken as broken:
            got = broken.got if stream else b""
            if (event := got.find(COMPLETING[route])) >= 0 and b"\n\n" in got[event:]:
                self._note_turn(session, got)
            raise
        if answer is None:
            return
        if stream and COMPLETING[route] not in got:
            self._load.ledger.problems.append(f"a stream without its completing event: {got[-300:]!r}")
        self._note_turn(session, got)

    def _note_turn(self, session: str, got: bytes) -> None:
        name = self._load.answer_id.search(got)
        if name is None:
            self._load.ledger.problems.append(f"an answer without its id: {got[:300]!r}")
        else:
            self._load.ledger.note(Kind.TURN, session, name[0].decode())

    async def _tell(self, method: str, path: str, body: Any = None) -> bool:
        """Send a request to the control plane; whether it was acknowledged."""
        return await self._ask(True, method, path, body) is not None

    async def _ask(self, control: bool, method: str, path: str, body: Any) -> Response | None:
        """The answer where it is good. A refusal that tells an outage is counted, any other is a problem."""
        ledger, connection = self._load.ledger, self._connection(control)
        try:
            answer = await asyncio.wait_for(
                connection.request(method, path, body), timeout=self._load.patience_s
            )
        except TimeoutError:
            ledger.problems.append(f"{method} {path} hung for {self._load.patience_s:.0f} s")
            raise Broken from None
        if 200 <= answer.status < 300:
            return answer
        if answer.status in TRUTHFUL:
            ledger.refusals[answer.status] += 1
            await asyncio.sleep(_PAUSE_S)
        elif not (answer.status == 404 and control):
            # A session whose first turn broke off before it was stored has never been there.
            ledger.problems.append(f"{method} {path} was answered {answer.status}: {answer.body[:300]!r}")
        return None

    def _connection(self, control: bool) -> Connection:
        load = self._load
        if self._ports != (load.data, load.control):
            self._data.close()
            self._control.close()
            self._ports = (load.data, load.control)
            self._data, self._control = Connection(load.data), Connection(load.control)
        if not load.data:
            raise Broken
        return self._control if control else self._data
