"""The gateway's side of the operators' process: questions have a deadline; a late process is restarted."""

from __future__ import annotations

import os
import select
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
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "crosswind.gateway.sandbox.worker", str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)

    def end(self) -> None:
        """Kill the process."""
        child, self._child, self._ready = self._child, None, False
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()

    def ask(self, question: bytes, deadline_s: float, start_s: float) -> bytes:
        """Ask a question. Raises NoAnswer after the deadline, and the process is restarted.

        The deadline starts once the process is ready, so that the noise doesn't depend on when it started.
        """
        self.start()
        try:
            if not self._ready:
                self._ready = self._read(time.monotonic() + start_s) == READY
        except (TimeoutError, EOFError):
            self.end()
            raise NoAnswer("starting", "third parties' operators can't be started") from None
        until = time.monotonic() + deadline_s
        try:
            self._write(len(question).to_bytes(4, "little") + question, until)
            return self._read(until)
        except TimeoutError:
            self._restart()
            raise NoAnswer("stalled", f"the operator gave no answer within {deadline_s:g} s") from None
        except (EOFError, BrokenPipeError):
            self._restart()
            raise NoAnswer("ended", "the operator ended its process") from None

    def _restart(self) -> None:
        self.end()
        self.start()

    def _write(self, raw: bytes, until: float) -> None:
        assert self._child is not None and self._child.stdin is not None
        at, descriptor = 0, self._child.stdin.fileno()
        while at < len(raw):
            _wait(descriptor, select.POLLOUT, until)
            try:
                at += os.write(descriptor, raw[at : at + 65536])
            except BlockingIOError:
                continue

    def _read(self, until: float) -> bytes:
        size = int.from_bytes(self._read_exactly(4, until), "little")
        return self._read_exactly(size, until)

    def _read_exactly(self, count: int, until: float) -> bytes:
        assert self._child is not None and self._child.stdout is not None
        raw, descriptor = bytearray(), self._child.stdout.fileno()
        while len(raw) < count:
            _wait(descriptor, select.POLLIN, until)
            piece = os.read(descriptor, count - len(raw))
            if not piece:
                raise EOFError
            raw += piece
        return bytes(raw)


def _wait(descriptor: int, event: int, until: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError
