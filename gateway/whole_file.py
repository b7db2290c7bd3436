"""Files that a command writes as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """A file that takes this one's place, and its mode, at the end of the block.

    Where the block raises, the old file stays. What isn't a file, such as a pipe or /dev/stdout, is written
    to at once. Raises OSError.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as out:
            yield out
        return
    # A link stays a link: what it names is replaced.
    target = path.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            if target.exists():
                part.chmod(target.stat().st_mode)
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text so, in a folder that is created. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_whole(path) as out:
        out.write(text.encode("utf-8", "replace"))


class OutFile(click.Path):
    """A file that can be written. It is checked before the work whose outcome goes there."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and not path.is_file():
            return path
        folder = next(one for one in path.resolve().parents if one.exists())
        if not folder.is_dir():
            self.fail(f"{folder} is no folder; name another file", param, ctx)
        if not os.access(folder, os.W_OK | os.X_OK):
            self.fail(f"{folder} can't be written; name another file", param, ctx)
        return path
