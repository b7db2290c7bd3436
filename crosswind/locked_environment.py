"""A virtual environment of its own for a package whose pins fit nobody else: made on first use, from a lock
with hashes, in the user's cache.
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

_STAMP = ".crosswind-lock"
_UNREACHED = ("Retrying (", "from versions: none")
"""What pip says where no index answers."""


class NotInstalled(Exception):
    """The package can't be used. The message says what to do."""

    exit_code = 69
    """sysexits' EX_UNAVAILABLE, so that nobody takes it for a failed test."""

    def __init__(self, message: str, *, unreached: bool = False) -> None:
        super().__init__(message)
        self.unreached = unreached
        """Whether no package index could be reached."""


@dataclass(frozen=True, slots=True)
class LockedEnvironment:
    """What is installed, and where. The environment is one for each Python and lock."""

    name: str
    """As people know it, and in lower case the folder's."""
    lock: Path
    probe: str
    """What Python runs to see that it works."""
    megabytes: int
    """What is said to be downloaded."""

    @property
    def variable(self) -> str:
        """The variable that names another place."""
        return f"CROSSWIND_{self.name.upper()}_ENV"

    @property
    def root(self) -> Path:
        if named := os.environ.get(self.variable):
            return Path(named)
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return Path(cache) / "crosswind" / f"{self.name.lower()}-{self._stamp().replace(' ', '-')}"

    def install(self, say: Callable[[str], None] = lambda _: None) -> Path:
        """Its Python; the environment is made unless it is there. `say` is told when that takes a while.
        Raises NotInstalled with the installer's last words.
        """
        root = self.root
        python = root / "bin" / "python"
        if self._is_current(root):
            return python
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            guard = root.with_name(f"{root.name}.lock").open("w")
        except OSError as error:
            raise NotInstalled(
                f"{self.name} can't be installed into {root}: {error.strerror}; name another folder in "
                f"{self.variable}"
            ) from error
        with guard:
            fcntl.flock(guard, fcntl.LOCK_EX)  # Others wait, and find it made.
            if not self._is_current(root):
                say(f"installing {self.name} into {root} (about {self.megabytes} MB), once")
                self._make(root, python)
        return python

    def main(self, module: str) -> int:
        """`python -m MODULE [--into FOLDER]`: install it beforehand."""
        parser = argparse.ArgumentParser(prog=f"python -m {module}")
        parser.add_argument("--into", help="The folder, instead of one in the user's cache.")
        into = parser.parse_args().into
        if into is not None:
            os.environ[self.variable] = into
        try:
            self.install(lambda text: print(text, file=sys.stderr, flush=True))
        except NotInstalled as error:
            print(error, file=sys.stderr)
            return error.exit_code
        return 0

    def _is_current(self, root: Path) -> bool:
        """Whether it was installed from this very lock, for this Python."""
        try:
            return (root / _STAMP).read_text() == self._stamp() and (root / "bin" / "python").exists()
        except OSError:
            return False

    def _stamp(self) -> str:
        python = ".".join(map(str, sys.version_info[:2]))
        return f"{python} {hashlib.blake2b(self.lock.read_bytes(), digest_size=8).hexdigest()}"

    def _make(self, root: Path, python: Path) -> None:
        self._run("make the environment", [sys.executable, "-m", "venv", "--clear", str(root)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        locked = ["--require-hashes", "--no-deps", "--requirement", str(self.lock)]
        self._run("download it", [*pip, "--retries", "1", *locked])
        self._run("import it", [str(python), "-I", "-c", self.probe])
        (root / _STAMP).write_text(self._stamp())

    def _run(self, what: str, command: Sequence[str]) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except OSError as error:
            raise NotInstalled(f"{self.name} can't be installed: can't {what}: {error}") from None
        except subprocess.CalledProcessError as error:
            said = error.stderr or error.stdout or ""
            if any(mark in said for mark in _UNREACHED):
                raise NotInstalled(
                    f"{self.name} can't be installed: no package index that has it can be reached; it is "
                    "downloaded once, so go online or name an index with PIP_INDEX_URL, and run this again",
                    unreached=True,
                ) from None
            words = " ".join(said.strip().splitlines()[-3:])
            raise NotInstalled(f"{self.name} can't be installed: can't {what}: {words}") from None
