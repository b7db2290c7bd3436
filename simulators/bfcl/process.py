"""BFCL's worker: a process in its own environment that speaks the environment protocol."""

from __future__ import annotations

import atexit
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from crosswind.simulators.bfcl.installation import install
from crosswind.simulators.errors import EnvironmentFailedError

_START = "import sys; sys.path.append(sys.argv[1]); from inside.worker import main; main()"


class Worker:
    """A running worker. It ends with this process: its standard input ends then."""

    def __init__(self) -> None:
        python = install(say=lambda text: print(text, file=sys.stderr, flush=True)).python
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
