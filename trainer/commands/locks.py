"""Locks against a second trainer at the same work: each is a file that its process holds, and that is free
again once the process is gone, however it went.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from crosswind.trainer.commands.connections import refuse


def alone(stack: ExitStack, out: Path) -> None:
    """Make the folder and hold it against a second trainer."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        holder = _hold(stack, out / ".lock", out)
    except OSError as error:
        refuse(f"--out: {out} can't be written ({error.strerror}); name a folder that can")
    if holder is not None:
        refuse(f"--out: another trainer is at work in {out} ({holder}); name another folder")


def alone_in_store(stack: ExitStack, store: Path, run: str, engines: str | None, out: Path) -> None:
    """Hold the run's name, and the engine's URLs (commas between them), against a second trainer on the
    store whose file this is: two would share the rows of their steps, or publish over each other.
    """
    urls = (one.strip().rstrip("/").removesuffix("/v1") for one in (engines or "").split(","))
    wanted = [
        ("--run", f"run {run!r}", f"train-{quote(run, safe='')}"),
        *(("--engine", f"the engine at {url}", f"engine-{quote(url, safe='')}") for url in urls if url),
    ]
    file = store.resolve()
    for flag, what, name in dict.fromkeys(wanted):
        path = file.with_name(f"{file.name}.{name}.lock")
        try:
            holder = _hold(stack, path, out)
        except OSError as error:
            refuse(f"{flag}: {what} can't be held against a second trainer: {path}: {error.strerror}")
        if holder is not None:
            refuse(
                f"{flag}: another trainer has {what} on this store ({holder}); end that one, or name another"
            )


def _hold(stack: ExitStack, path: Path, out: Path) -> str | None:
    """Take the lock until the stack closes; who has it, in words, where somebody else does."""
    lock = stack.enter_context(path.open("a+"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip() or "it doesn't say which"
    lock.truncate(0)
    lock.write(f"process {os.getpid()}, --out {out.resolve()}\n")
    lock.flush()
    return None
