"""Events on their way to the gateway: in a file until the control plane has stored them.

An event is in the file before its message is passed on, so that none is lost when the relay is killed. It is
sent again until it was stored; its id keeps it from being stored twice. A file whose relay ended before all
was sent is taken over by the next relay for the same gateway.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from crosswind.gateway.stdio.control_plane import ControlPlane, Refused, Unreachable
from crosswind.gateway.tools.events import ToolEvent

MOST_BYTES = 64 << 20
"""Of one file. A full one takes no more events, and its relay adds no more noise."""
BATCH_EVENTS, BATCH_BYTES = 200, 2 << 20
REQUEST_S, RETRY_S = 5.0, 1.0


def default_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "crosswind" / "tool-events"


class Spool:
    """The file of one relay, and the thread that sends what stands in it."""

    def __init__(
        self,
        folder: Path,
        leg: str,
        control: ControlPlane,
        session: str,
        *,
        on_noise: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`on_noise` is told whether noise is switched on in the gateway. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            raise OSError(f"{folder} belongs to another user; name a folder of yours in XDG_STATE_HOME")
        self.full = False
        self._path = folder / f"{leg}.jsonl"
        self._control = control
        self._on_noise = on_noise
        # Each leg draws a new id: a file of that name, or a link, isn't ours.
        self._fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self._size = os.write(self._fd, _head(control.url, session))
        self._news = threading.Condition()
        self._ended = False
        self._sent = threading.Event()
        self._thread = threading.Thread(target=self._send, args=(session,), daemon=True)
        self._thread.start()
        self._old = threading.Thread(target=_send_leftovers, args=(folder, control), daemon=True)
        self._old.start()

    def add(self, events: Sequence[ToolEvent]) -> None:
        """Write events to the file. They are sent at once, or as soon as the gateway is there."""
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in events)
        if not lines or self.full:
            return
        if self._size + len(lines) > MOST_BYTES:
            self.full = True
            print(f"crosswind: {self._path} is full; no more noise, no more events", file=sys.stderr)
            return
        with self._news:
            self._size += os.write(self._fd, lines)
            self._news.notify()

    def close(self, wait_s: float) -> None:
        """Wait until all is sent, but no longer; what is left stays in the file."""
        with self._news:
            self._ended = True
            self._news.notify()
        until = time.monotonic() + wait_s
        self._sent.wait(wait_s)
        self._old.join(max(0.0, until - time.monotonic()))

    def _send(self, session: str) -> None:
        at = len(_head(self._control.url, session))
        while True:
            with self._news:
                if at == self._size and not self._ended:
                    self._news.wait()
                if at == self._size and self._ended:
                    break
            try:
                at = self._send_batch(session, at)
            except Unreachable:
                with self._news:
                    self._news.wait(RETRY_S)
            except Refused as error:
                print(f"crosswind: events aren't stored: {error}; they are in {self._path}", file=sys.stderr)
                self._sent.set()
                return
        with contextlib.suppress(Unreachable, Refused):
            self._control.deliver(session, [], REQUEST_S, ended=self._path.stem)
            self._path.unlink(missing_ok=True)
        self._sent.set()

    def _send_batch(self, session: str, at: int) -> int:
        """Send what stands at a place of the file, or some of it. Gives the place behind."""
        raw = os.pread(self._fd, BATCH_BYTES, at)
        if b"\n" not in raw:
            raw = os.pread(self._fd, MOST_BYTES, at)
        lines = raw[: raw.rfind(b"\n") + 1].splitlines(keepends=True)[:BATCH_EVENTS]
        told = self._control.deliver(session, [json.loads(line) for line in lines], REQUEST_S)
        self._on_noise(bool(told.get("noise", True)))
        return at + sum(map(len, lines))


def _head(url: str, session: str) -> bytes:
    return json.dumps({"control": url, "session": session}).encode() + b"\n"


def _send_leftovers(folder: Path, control: ControlPlane) -> None:
    """Send what relays that have ended left for this gateway."""
    for path in sorted(folder.glob("*.jsonl")):
        with (
            contextlib.suppress(OSError, ValueError, KeyError, TypeError, Unreachable, Refused),
            _open_own(path) as file,
        ):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            head = json.loads(file.readline())
            if head["control"] == control.url:
                for events in _batches(file):
                    control.deliver(head["session"], events, REQUEST_S)
                control.deliver(head["session"], [], REQUEST_S, ended=path.stem)
                path.unlink()


def _open_own(path: Path) -> BinaryIO:
    """A file that a relay of this user wrote. Raises OSError for a link, a pipe, and what others put there:
    its events would be told to the gateway as ours.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        os.close(fd)
        raise OSError(f"{path} is no spool of this user's")
    return os.fdopen(fd, "rb")


def _batches(lines: Iterable[bytes]) -> Iterator[list[Any]]:
    """The events of a file, in requests that the control plane takes; the last line may have been cut by the
    end of its relay."""
    batch: list[Any] = []
    size = 0
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if batch and (len(batch) == BATCH_EVENTS // 4 or size + len(line) > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(event)
            size += len(line)
    if batch:
        yield batch
