"""A run's folder: what was asked for, the gateway's store and logs, and the agents' outputs."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crosswind.gateway.whole_file import write_whole
from crosswind.studies.chaos.player import Played

SETTINGS = "run.json"
OUTPUTS = "outputs"
STORE = "crosswind.db"
LOCK = "run.lock"
ROOT = Path("runs")
PREFIX = "chaos-"


class UnusableFolder(ValueError):
    """The folder can't be used for this run; the message says why and what to do."""


def choose_folder(given: Path | None, *, resume: bool) -> Path:
    """The folder of a new run, or of the one that goes on: as given, else the next or the newest of
    `runs/chaos-N`. Raises UnusableFolder."""
    if given is not None:
        return given
    numbers = [
        int(one.name.removeprefix(PREFIX))
        for one in ROOT.glob(f"{PREFIX}*")
        if one.name.removeprefix(PREFIX).isdigit() and (one / SETTINGS).exists()
    ]
    if resume and not numbers:
        raise UnusableFolder(f"--resume: there is no run in {ROOT}/; name its folder with --out")
    return ROOT / f"{PREFIX}{max(numbers, default=0) + (0 if resume else 1)}"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Nobody else plays in this folder within the block. Raises UnusableFolder.

    A run that goes on deletes the sessions that have no outcome: those of a run that is alive, too. The lock
    ends with the process, however it ends; what it starts doesn't inherit it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("w")
    except OSError as error:
        raise UnusableFolder(f"--out: {folder} can't be written ({error}); name another folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UnusableFolder(
                f"--out: a run in {folder} is under way; wait for its end, or name another folder"
            ) from None
        yield


def claim_folder(folder: Path, settings: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
    """Begin a run there, or go on with the one that was begun with the same settings; gives its settings.

    Keys that begin with "_" may differ: then those of the first beginning count. Raises UnusableFolder.
    """
    file = folder / SETTINGS
    try:
        before = json.loads(file.read_text("utf-8")) if file.exists() else None
    except (OSError, ValueError) as error:
        raise UnusableFolder(f"--out: {file} can't be read ({error}); give another folder") from None
    if before is not None and not resume:
        raise UnusableFolder(f"--out: {folder} has a run; go on with it by --resume, or name another folder")
    if before is not None:
        wanted = json.loads(json.dumps(settings))
        wrong = [name for name, value in wanted.items() if name[0] != "_" and before.get(name) != value]
        if wrong:
            raise UnusableFolder(
                f"--resume: {wrong[0]} isn't what it was when {folder} was begun; "
                "give the same, or another --out"
            )
        return dict(before)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTPUTS).mkdir(mode=0o700, exist_ok=True)
        if any(folder.glob(f"{STORE}*")):
            raise UnusableFolder(f"--out: {folder} has a store of something else; name another folder")
        write_whole(file, json.dumps(settings, indent=1) + "\n")
    except OSError as error:
        raise UnusableFolder(f"--out: {folder} can't be written ({error}); name another folder") from None
    return dict(settings)


def keep_output(folder: Path, played: Played) -> None:
    """Keep the ends of what an agent wrote, under its session's name."""
    ended, parts = played.ended, []
    if ended.output:
        parts.append(ended.output)
    if ended.errors:
        parts.append(f"--- standard error\n{ended.errors}")
    if said := played.verdict.note or ended.describe():
        parts.append(f"--- {said}\n")
    if parts:
        file = folder / OUTPUTS / f"{played.session}.txt"
        file.write_text("\n".join(parts), "utf-8", errors="backslashreplace")
