"""The client's command: gets the signals that we get, and its exit status becomes ours."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_GUARD = 'read -r ended; [ -n "$ended" ] || kill -TERM "$0"'
"""Waits until we say that the command has ended, or are gone: a process that is killed can't end others."""


def run_client(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command to its end; gives the exit status as a shell does. Raises OSError.

    It stays in our process group, so that it owns the terminal as it would without us: there the terminal
    itself sends it SIGINT and SIGQUIT. Elsewhere we pass them on.
    """
    waiting: list[int] = []
    started: list[subprocess.Popen[bytes]] = []
    on_terminal = sys.stdin is not None and sys.stdin.isatty()

    def forward(number: int, _: FrameType | None) -> None:
        if not started:
            waiting.append(number)
        elif not (on_terminal and number in (signal.SIGINT, signal.SIGQUIT)):
            started[0].send_signal(number)

    numbers = (*_FORWARDED, signal.SIGINT, signal.SIGQUIT)
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        process = subprocess.Popen(list(command), env=dict(environment))
        started.append(process)
        for number in waiting:
            process.send_signal(number)
        with _guard(process):
            status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


@contextlib.contextmanager
def _guard(process: subprocess.Popen[bytes]) -> Iterator[None]:
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(process.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            guard.communicate(b"ended\n")
