"""The relay: lines from the client to the server and back, as the bytes they were. The standard library only.

A thread for each direction. Calls of tools and lists of tools wait until the noise is loaded; a message that
noise delays waits in a timer, and holds nothing else back.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from crosswind.gateway.stdio.pipes import Sink, has_lost_reader, read_lines
from crosswind.gateway.stdio.server_process import GRACE_S, ServerProcess
from crosswind.gateway.tools.gate import may_cancel, may_concern_client, may_declare

if TYPE_CHECKING:
    from crosswind.gateway.tools.decision import Decision

_SWITCH_S = 0.0005
_LAST_WORDS_S = 1.0
"""How long a process that outlives the server may keep its standard output open."""


class MessageNoise(Protocol):
    """The noise on the messages of one server. Its functions are called by one thread at a time."""

    @property
    def waits(self) -> bool:
        """Whether a message of the server may concern noise."""

    def from_client(self, line: bytes) -> Decision: ...

    def from_server(self, line: bytes) -> Decision: ...

    def cancel(self, line: bytes) -> object:
        """The key of the call that the client gives up."""

    def learn(self, line: bytes) -> None:
        """The server's answer to `initialize`."""

    def notifications(self) -> list[bytes]:
        """Lines of ours that are due to the client."""

    def close(self) -> None:
        """The link has ended."""


class Relay:
    """One server between a client and its standard streams."""

    def __init__(self, command: Sequence[str], load: Callable[[], MessageNoise] | None) -> None:
        """`load` makes the noise, while the server starts; None: there is none, and nothing is read."""
        self._command = command
        self._load = load
        self._noise: MessageNoise | None = None
        self._failure: Exception | None = None
        self._loaded = threading.Event()
        self._deciding = threading.Lock()
        self._client = Sink(1)
        self._waiting: dict[int, tuple[threading.Timer, object, Callable[[], None]]] = {}
        """Messages that wait: the timer, the key of the call, and what is done then."""
        self._numbered = 0
        self._delivering = False
        """Whether a message of the server is on its way to the client."""
        self._declaration: bytes | None = None
        """The server's answer to `initialize`, until the noise has learned it."""

    def run(self) -> int:
        """Relay until the server has ended. Gives its exit status; that of a signal is negative.

        Raises OSError where the server can't be started, and what `load` raises.
        """
        self._server = ServerProcess(self._command)
        self._to_server = Sink(self._server.stdin)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._pass_signal)
        if self._load is not None:
            threading.Thread(target=self._load_noise, args=(self._load,), daemon=True).start()
        threading.Thread(target=self._pass_up, daemon=True).start()
        down = threading.Thread(target=self._pass_down, daemon=True)
        down.start()
        try:
            status = self._server.wait()
            written = -1
            while down.is_alive() and (self._delivering or written != self._client.written):
                written = self._client.written
                down.join(_LAST_WORDS_S)
            self._flush()
        finally:
            self._server.release()
            with self._deciding:
                if self._noise is not None:
                    self._noise.close()
        if self._failure is not None:
            raise self._failure
        return status

    def _load_noise(self, load: Callable[[], MessageNoise]) -> None:
        sys.setswitchinterval(_SWITCH_S)  # Messages go first.
        try:
            noise = load()
        except Exception as error:
            self._failure = error
            self._loaded.set()
            self._server.end()
            return
        self._noise = noise
        self._loaded.set()

    def _pass_up(self) -> None:
        for line in read_lines(0):
            if self._load is not None and may_concern_client(line):
                self._loaded.wait()
                if self._noise is None:
                    return
                with self._deciding:
                    if self._declaration is not None:
                        self._noise.learn(self._declaration)
                        self._declaration = None
                    decision = self._noise.from_client(line)
                    told = self._noise.notifications()
                self._schedule(decision, partial(self._answer_client, decision, line))
                for one in told:
                    self._client.write(one)
                continue
            if may_cancel(line) and self._noise is not None:
                with self._deciding:
                    key = self._noise.cancel(line)
                self._drop_waiting(key)
            self._to_server.write(line)
        self._flush()
        self._to_server.close()
        self._watch_client()

    def _pass_down(self) -> None:
        for line in read_lines(self._server.stdout):
            self._delivering = True
            noise = self._noise
            if self._load is not None and may_declare(line):
                self._declaration = line
            if noise is None or not noise.waits:
                self._client.write(line)
            else:
                with self._deciding:
                    decision = noise.from_server(line)
                    told = noise.notifications()
                self._schedule(decision, partial(self._deliver, decision, line))
                for one in told:
                    self._client.write(one)
            self._delivering = False
            if self._client.gone.is_set():
                self._server.end()
                return

    def _answer_client(self, decision: Decision, line: bytes) -> None:
        """Carry out what was decided about a message of the client."""
        if decision.act in ("answer", "close"):
            self._client.write(decision.body)
        elif decision.act != "drop":
            self._to_server.write(decision.body or line)
        if decision.copy:
            self._to_server.write(decision.copy)

    def _deliver(self, decision: Decision, line: bytes) -> None:
        """Carry out what was decided about a message of the server. A link that carries one call only would
        be closed; this one carries all, so that the client gets an error in place of that.
        """
        if decision.act != "drop":
            self._client.write(decision.body or line)

    def _schedule(self, decision: Decision, act: Callable[[], None]) -> None:
        """Do it after the wait that was decided."""
        if decision.wait_s <= 0:
            act()
            return
        self._numbered += 1
        number = self._numbered

        timer = threading.Timer(decision.wait_s, self._ring, (number,))
        timer.daemon = True
        self._waiting[number] = timer, decision.key, act
        timer.start()

    def _ring(self, number: int) -> None:
        if (waiting := self._waiting.pop(number, None)) is not None:
            waiting[2]()

    def _drop_waiting(self, key: object) -> None:
        """The client gave a call up: nothing of it is sent any more."""
        for number, (timer, of, _) in list(self._waiting.items()):
            if key is not None and of == key:
                timer.cancel()
                self._waiting.pop(number, None)

    def _flush(self) -> None:
        """One side has ended: what waits is done now."""
        for number, (timer, _, _) in list(self._waiting.items()):
            timer.cancel()
            self._ring(number)

    def _watch_client(self) -> None:
        """The client sends nothing more. If it doesn't read any more either, the server has to end."""
        while not self._server.ended:
            if self._client.gone.is_set() or has_lost_reader(1):
                threading.Event().wait(GRACE_S)
                self._server.end()
                return
            threading.Event().wait(0.2)

    def _pass_signal(self, number: int, _: object) -> None:
        self._server.send(number)
        if number != signal.SIGINT:
            threading.Thread(target=self._end_late, daemon=True).start()

    def _end_late(self) -> None:
        """A server that was asked to end, and doesn't, is ended."""
        threading.Event().wait(GRACE_S)
        self._server.end()


def leave(status: int) -> None:
    """End as the server did, at once: a thread may still wait for the client's next line."""
    sys.stderr.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 128 - status)
