"""The noise on one server's messages: the core of the tool leg, with a clock, a file for events, and care."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from crosswind.gateway.clock import now_us
from crosswind.gateway.tools.decision import PASS, Decision
from crosswind.gateway.tools.dry_run import DRY, DryRun
from crosswind.gateway.tools.events import ToolEvent
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.mcp import McpLink


class EventFile:
    """Events as JSON lines. Only the owner may read the file: events quote what tools say."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._encode = msgspec.json.Encoder().encode

    def add(self, events: Sequence[ToolEvent]) -> None:
        os.write(self._fd, b"".join(self._encode(one) + b"\n" for one in events))

    def close(self) -> None:
        os.close(self._fd)


class LinkNoise:
    """A `MessageNoise` that asks the core. It never raises: where it fails, the message is passed on."""

    def __init__(
        self,
        leg: ToolLeg,
        name: str,
        record: Callable[[Sequence[ToolEvent]], None],
        *,
        dry: bool = False,
        serve: Callable[[frozenset[str]], None] = lambda _: None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """`serve` is told the tools before a client knows them; `end` is called last."""
        self._leg = leg
        self._link = McpLink(leg, name)
        self._record = record
        self._dry = dry
        self._serve, self._served = serve, frozenset[str]()
        self._end = end
        self._would = DryRun()

    @property
    def waits(self) -> bool:
        return self._link.waits

    def from_client(self, line: bytes) -> Decision:
        return self._decide(lambda: self._link.from_client(line, now_us()))

    def from_server(self, line: bytes) -> Decision:
        return self._decide(lambda: self._link.from_server(line, now_us()))

    def cancel(self, line: bytes) -> object:
        try:
            return self._link.cancel(line, now_us())
        except Exception as error:
            _complain(error)
            return None

    def learn(self, line: bytes) -> None:
        self._link.learn(line)

    def notifications(self) -> list[bytes]:
        return [] if self._dry else [message + b"\n" for message in self._link.take_notifications()]

    def close(self) -> None:
        self._link.close(now_us())
        self._record(self._events())
        if self._dry and (table := self._would.write()):
            print(f"crosswind mcp: a dry run, nothing was done\n{table}", file=sys.stderr)
        self._end()

    def _decide(self, ask: Callable[[], Decision]) -> Decision:
        try:
            decision = ask()
            if (names := self._link.names) != self._served:
                self._served = names
                self._serve(names)
            if events := self._events():
                self._record(events)
        except Exception as error:
            # Noise must never break traffic.
            _complain(error)
            return PASS
        return PASS if self._dry else decision

    def _events(self) -> list[ToolEvent]:
        events = self._leg.drain()
        if not self._dry:
            return events
        self._would.count(events)
        return [msgspec.structs.replace(one, after=None, note=f"{DRY}{one.note}") for one in events]


def _complain(error: Exception) -> None:
    print(f"crosswind mcp: noise failed, the message is passed on: {error!r:.300}", file=sys.stderr)
