"""BFCL's own environment, since its package pins old versions of much: made on first use, from a lock.

    python -m crosswind.simulators.bfcl.installation [--into FOLDER]

Ends with 69 where BFCL can't be installed, so that nobody takes that for a failed test.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswind.simulators.errors import UsageError

_LOCK = Path(__file__).parent / "locks" / "bfcl.lock"
_STAMP = ".crosswind-lock"
_UNREACHED = ("Retrying (", "from versions: none")
"""What pip says where no index answers."""


class NotInstalled(UsageError):
    """There is no usable BFCL. The message says what to do."""

    exit_code = 69
    """sysexits' EX_UNAVAILABLE."""

    def __init__(self, message: str, *, unreached: bool = False) -> None:
        super().__init__(message)
        self.unreached = unreached
        """Whether no package index could be reached."""


@dataclass(frozen=True, slots=True)
class BfclEnvironment:
    """A virtual environment that holds BFCL's package."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def current(self) -> bool:
        """Whether it was installed from this very lock, for this Python."""
        try:
            return (self.root / _STAMP).read_text() == _stamp() and self.python.exists()
        except OSError:
            return False


def default_root() -> Path:
    """In the user's cache, one for each Python and lock. CROSSWIND_BFCL_ENV names another place."""
    if named := os.environ.get("CROSSWIND_BFCL_ENV"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "crosswind" / f"bfcl-{_stamp().replace(' ', '-')}"


def install(root: Path | None = None, say: Callable[[str], None] = lambda _: None) -> BfclEnvironment:
    """The environment; it is made unless it is there. `say` is told when that takes a while. Raises
    NotInstalled with the installer's last words."""
    environment = BfclEnvironment(root or default_root())
    if environment.current:
        return environment
    try:
        environment.root.parent.mkdir(parents=True, exist_ok=True)
        guard = environment.root.with_name(f"{environment.root.name}.lock").open("w")
    except OSError as error:
        raise NotInstalled(
            f"bfcl can't be installed into {environment.root}: {error.strerror}; name another folder in "
            "CROSSWIND_BFCL_ENV"
        ) from error
    with guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # Others wait, and find it made.
        if not environment.current:
            say(f"installing BFCL's package into {environment.root} (about 40 MB), once")
            _make(environment)
    return environment


def _make(environment: BfclEnvironment) -> None:
    _run("make the environment", [sys.executable, "-m", "venv", "--clear", str(environment.root)])
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = ["--require-hashes", "--no-deps", "--requirement", str(_LOCK)]
    _run("download its package", [*pip, "--retries", "1", *locked])
    _run("import it", [str(environment.python), "-I", "-c", "import bfcl_eval, mpmath"])
    (environment.root / _STAMP).write_text(_stamp())


def _run(what: str, command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as error:
        raise NotInstalled(f"bfcl can't be installed: can't {what}: {error}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr or error.stdout or ""
        if any(mark in said for mark in _UNREACHED):
            raise NotInstalled(
                "bfcl can't be installed: no package index that has bfcl_eval can be reached; its package is "
                "downloaded once, so go online or name an index with PIP_INDEX_URL, and run this again",
                unreached=True,
            ) from None
        words = " ".join(said.strip().splitlines()[-3:])
        raise NotInstalled(f"bfcl can't be installed: can't {what}: {words}") from None


def _stamp() -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{python} {hashlib.blake2b(_LOCK.read_bytes(), digest_size=8).hexdigest()}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m crosswind.simulators.bfcl.installation")
    parser.add_argument("--into", type=Path, default=None)
    try:
        install(parser.parse_args(arguments).into, lambda text: print(text, file=sys.stderr, flush=True))
    except NotInstalled as error:
        error.show()
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
