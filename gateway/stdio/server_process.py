"""The server's process: started in a group of its own, and ended with us, however we end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence

KEY_VARIABLE = "CROSSWIND_CONTROL_KEY"
GRACE_S = 2.0
"""How long the server may take to end when it is asked to."""

_GUARD = (
    'read -r ended; [ -n "$ended" ] || { kill -s TERM -- -$0; sleep 2; kill -s KILL -- -$0; } 2>/dev/null'
)
"""Waits until we say that the server has ended, or are gone."""


class ServerProcess:
    """The server and whatever it starts.

    A process that is killed can't end its children: a shell waits on a pipe to us, and ends the server's
    group when it breaks. It is in a session of its own, since clients kill our group.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Raises OSError where the command can't be started."""
        # Our key for the gateway is none of the server's business.
        environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,
            env=environment,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # Their users close descriptors by themselves: no file object may do so, too.
        self.stdin, self.stdout = (
            os.dup(one.fileno()) for one in (self._process.stdin, self._process.stdout)
        )
        self._process.stdin.close()
        self._process.stdout.close()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait(self) -> int:
        """The exit status; that of a signal is negative."""
        return self._process.wait()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, number: int) -> None:
        """Send a signal to the server's group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Ask the server to end, and end it."""
        if not self.ended:
            self.send(signal.SIGTERM)
            until = time.monotonic() + GRACE_S
            while not self.ended and time.monotonic() < until:
                time.sleep(0.02)
        self.send(signal.SIGKILL)

    def release(self) -> None:
        """Kill what is left of the server's group, and end the guard."""
        self.send(signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._guard.communicate(b"ended\n")
