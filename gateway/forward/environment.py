"""mitmproxy's own environment, since it pins the versions of what it needs: made on first use, from a lock.

    python -m crosswind.gateway.forward.environment [--into FOLDER]

Ends with 69 where mitmproxy can't be installed, so that nobody takes that for a failed test. Needs the
standard library only.
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

NOT_INSTALLED = 69
"""The exit code: sysexits' EX_UNAVAILABLE."""

_LOCK = Path(__file__).parent / "locks" / "mitmproxy.lock"
_STAMP = ".crosswind-lock"


class NotInstalled(Exception):
    """There is no usable mitmproxy. The message says what to do."""


@dataclass(frozen=True, slots=True)
class MitmproxyEnvironment:
    """A virtual environment that holds mitmproxy."""

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
    """In the user's cache, one for each Python and lock. CROSSWIND_MITMPROXY_ENV names another place."""
    if named := os.environ.get("CROSSWIND_MITMPROXY_ENV"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "crosswind" / f"mitmproxy-{_stamp().replace(' ', '-')}"


def install(root: Path | None = None, say: Callable[[str], None] = lambda _: None) -> MitmproxyEnvironment:
    """The environment; it is made unless it is there. `say` is told when that takes a while. Raises
    NotInstalled with the installer's last words."""
    environment = MitmproxyEnvironment(root or default_root())
    if environment.current:
        return environment
    try:
        environment.root.parent.mkdir(parents=True, exist_ok=True)
        guard = environment.root.with_name(f"{environment.root.name}.lock").open("w")
    except OSError as error:
        raise NotInstalled(
            f"mitmproxy can't be installed into {environment.root}: {error.strerror}; name another folder "
            "in CROSSWIND_MITMPROXY_ENV"
        ) from error
    with guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # Others wait, and find it made.
        if not environment.current:
            say(f"installing mitmproxy into {environment.root} (about 130 MB), once")
            _make(environment)
    return environment


def _make(environment: MitmproxyEnvironment) -> None:
    _run("make the environment", [sys.executable, "-m", "venv", "--clear", str(environment.root)])
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run("install it", [*pip, "--require-hashes", "--no-deps", "--requirement", str(_LOCK)])
    _run("import it", [str(environment.python), "-I", "-c", "import mitmproxy.tools.main"])
    (environment.root / _STAMP).write_text(_stamp())


def _run(what: str, command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as error:
        raise NotInstalled(f"mitmproxy can't be installed: can't {what}: {error}") from None
    except subprocess.CalledProcessError as error:
        words = (error.stderr or error.stdout or "").strip().splitlines()[-3:]
        raise NotInstalled(f"mitmproxy can't be installed: can't {what}: {' '.join(words)}") from None


def _stamp() -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{python} {hashlib.blake2b(_LOCK.read_bytes(), digest_size=8).hexdigest()}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m crosswind.gateway.forward.environment")
    parser.add_argument("--into", type=Path, default=None)
    try:
        install(parser.parse_args(arguments).into, lambda text: print(text, file=sys.stderr, flush=True))
    except NotInstalled as error:
        print(error, file=sys.stderr)
        return NOT_INSTALLED
    return 0


if __name__ == "__main__":
    sys.exit(main())
