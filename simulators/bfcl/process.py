"""BFCL's worker: a process in its own environment that speaks the environment protocol."""

from __future__ import annotations

import atexit
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from crosswind.locked_environment import NotInstalled
from crosswind.simulators.bfcl.installation import BFCL
from crosswind.simulators.errors import EnvironmentFailedError, UsageError

_START = "import sys; sys.path.append(sys.argv[1]); from inside.worker import main; main()"


class NoPackageError(UsageError):
    """BFCL's package can't be installed. The message says what to do."""

    exit_code = NotInstalled.exit_code


class Worker:
    """A running worker. It ends with this process: its standard input ends then."""

    def __init__(self) -> None:
        python = _install()
        self._process = subprocess.Popen(
            [str(python), "-I", "-c", _START, str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.stop)
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        if not port:
            raise EnvironmentFailedError(
                f"bfcl's worker ended with exit code {self._process.wait()}; delete {python.parents[1]} and "
                "run this again"
            )
        self.url = f"http://127.0.0.1:{port}"

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        atexit.unregister(self.stop)


def _install() -> Path:
    try:
        return BFCL.install(lambda text: print(text, file=sys.stderr, flush=True))
    except NotInstalled as error:
        raise NoPackageError(str(error)) from None
