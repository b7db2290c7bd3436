"""The gateway's side of the operators' process: questions have a deadline; a late process is restarted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

from crosswind.gateway.sandbox.worker import READY


class NoAnswer(Exception):
    """The process gave no answer; `kind` is stalled, ended or starting."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Process:
    """A process limited to `memory` bytes of data. Not thread-safe."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._child: subprocess.Popen[bytes] | None = None
        self._ready = False

    def start(self) -> None:
        """Start the process if it isn't running. It is ready a moment later."""
        if self._child is not None and self._child.poll() is None:
            return
        self.end()
        self._end, theirs = socket.socketpair()
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "crosswind.gateway.sandbox.worker", str(self._memory)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )

    def end(self) -> None:
        child, self._child, self._ready = self._child, None, False
        if child is not None:
            child.kill()
            child.wait()
            self._end.close()

    def ask(self, question: bytes, deadline_s: float, start_s: float) -> bytes:
        """Ask a question. Raises NoAnswer after the deadline, and the process is restarted.

        The deadline starts once the process is ready, so that the noise doesn't depend on when it started.
        """
        self.start()
        try:
            if not self._ready:
                self._ready = self._read(time.monotonic() + start_s) == READY
        except (TimeoutError, ConnectionError):
            self.end()
            raise NoAnswer("starting", "third parties' operators can't be started") from None
        until = time.monotonic() + deadline_s
        try:
            self._set_deadline(until)
            self._end.sendall(len(question).to_bytes(4, "little") + question)
            return self._read(until)
        except TimeoutError:
            self._restart()
            raise NoAnswer("stalled", f"the operator gave no answer within {deadline_s:g} s") from None
        except ConnectionError:
            self._restart()
            raise NoAnswer("ended", "the operator ended its process") from None

    def _restart(self) -> None:
        self.end()
        self.start()

    def _read(self, until: float) -> bytes:
        return self._read_exactly(int.from_bytes(self._read_exactly(4, until), "little"), until)

    def _read_exactly(self, count: int, until: float) -> bytes:
        raw = bytearray()
        while len(raw) < count:
            self._set_deadline(until)
            piece = self._end.recv(count - len(raw))
            if not piece:
                raise ConnectionResetError
            raw += piece
        return bytes(raw)

    def _set_deadline(self, until: float) -> None:
        """Let the next operation raise TimeoutError at `until`."""
        if (left_s := until - time.monotonic()) <= 0:
            raise TimeoutError
        self._end.settimeout(left_s)
