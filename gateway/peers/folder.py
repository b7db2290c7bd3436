"""A folder for what the processes of one run share and nobody needs afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only its owner may enter, gone afterwards.

    In memory where the system has such a place: the metrics' files are mapped, and a process that writes to a
    mapped page for which a full disk has no room is killed.
    """
    usable = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    with tempfile.TemporaryDirectory(
        prefix="crosswind-", dir=_IN_MEMORY if usable else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
