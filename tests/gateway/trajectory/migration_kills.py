"""Kills migrations and looks at the store after each.

`python -m tests.gateway.trajectory.migration_kills STORE KILLS SEED` migrates a store again and again from
this small process: an import would take longer than a migration lives. It kills the first runs with SIGKILL
before each of their file operations, and KILLS more at random moments. After each kill one whole store must
be at the path: the old one, or the new one. The last run is left alone. Prints a JSON summary.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from crosswind.gateway.trajectory.sqlite.schema import VERSION, stored_version
from crosswind.gateway.trajectory.sqlite_blocks.migration import Migration

_OPERATIONS = {"os.link", "os.rename", "os.remove", "sqlite3.connect"}


def main(path: Path, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    original = Path(f"{path}.original")
    shutil.copyfile(path, original)
    expected = _turns(path)
    at, operation, begun_anew, gone_on = {"old": 0, "new": 0}, 1, 0, 0
    longest_s = 0.0
    while True:
        begun = time.monotonic()
        killed = _run(path, operation)
        longest_s = max(longest_s, time.monotonic() - begun)
        _count(path, expected, at)
        if not killed:
            break
        operation += 1
        _restore(path, original)
    for _ in range(kills):
        if stored_version(path) == VERSION:
            _restore(path, original)
            begun_anew += 1
        gone_on += Path(f"{path}.migrating").exists()
        _run(path, None, moments.uniform(0, longest_s))
        _count(path, expected, at)
    _run(path, 1 << 30)
    _count(path, expected, at)
    found = {"operations": operation, "seen": at, "begun_anew": begun_anew, "gone_on": gone_on}
    print(json.dumps(found | {"left": sorted(file.name for file in path.parent.iterdir())}))


def _run(path: Path, operation: int | None, after_s: float | None = None) -> bool:
    """Migrate in a child that is killed before a file operation, or after some time; whether it was."""
    child = os.fork()
    if child == 0:
        try:
            if operation is not None:
                _die_before(operation)
            migration = Migration(path)
            if migration.needed:
                migration.run(lambda done, total: None)
            else:
                migration.finish()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) != 0:
        sys.exit("a migration failed")
    return os.WIFSIGNALED(status)


def _die_before(operation: int) -> None:
    left = operation

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in _OPERATIONS:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def _restore(path: Path, original: Path) -> None:
    for file in path.parent.iterdir():
        if file != original:
            file.unlink()
    shutil.copyfile(original, path)


def _count(path: Path, expected: int, at: dict[str, int]) -> None:
    """Look at the store; it must have all turns, whichever it is."""
    version = stored_version(path)
    if (found := _turns(path)) != expected:
        sys.exit(f"{found} turns are at the path, in schema version {version}, and not {expected}")
    at["new" if version == VERSION else "old"] += 1


def _turns(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (state,) = connection.execute("PRAGMA quick_check").fetchone()
        if state != "ok":
            sys.exit(f"the store is damaged: {state}")
        return int(connection.execute("SELECT count(*) FROM turn").fetchone()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
