"""mitmproxy's process: started with an authority of its own in a folder of the run, and ended with us."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.forward.client_environment import child_paths, trusted, write_bundles
from crosswind.gateway.forward.settings import ProxySettings, Status, Tally
from crosswind.gateway.stdio.server_process import KEY_VARIABLE

GRACE_S = 10.0
"""How long mitmproxy may take to end when it is asked to."""
_MAIN = "import sys; from mitmproxy.tools.main import mitmdump; sys.exit(mitmdump())"
_OPTIONS = ("onboarding=false", "flow_detail=0", "validate_inbound_headers=false")


@contextlib.contextmanager
def run_folder(authority: Path | None = None) -> Iterator[Path]:
    """A folder that only its owner may read, with the run's authority in it; removed in the end. `authority`
    names one that stays."""
    folder = Path(tempfile.mkdtemp(prefix="crosswind-http-"))
    try:
        if authority is not None:
            authority.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / "authority").symlink_to(authority.resolve())
        else:
            (folder / "authority").mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class MitmProxy:
    """A running mitmproxy. Use it as a context; it is ready when the context begins."""

    def __init__(
        self,
        python: Path,
        folder: Path,
        make_settings: Callable[[int, int], ProxySettings],
        modes: Sequence[str],
        *,
        ready_within_s: float,
    ) -> None:
        """`make_settings` gets the descriptors of the status pipe and the lifeline. `modes` are mitmproxy's
        own way to say where and how it listens."""
        self._python = python
        self._folder = folder
        self._make_settings = make_settings
        self._modes = modes
        self._ready_within_s = ready_within_s
        self._ready = threading.Event()
        self._canaries = threading.Condition()
        self.ports: tuple[int, ...] = ()
        self.canaries: set[str] = set()
        """The clients that were seen to use it."""
        self.used = False
        """Whether a request came through."""
        self.tally: Tally | None = None
        """What came through; None before the end."""

    @property
    def authority(self) -> bytes:
        """The certificate of the run's authority."""
        return (self._folder / "authority" / "mitmproxy-ca-cert.pem").read_bytes()

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> MitmProxy:
        status_out, status_in = os.pipe()
        lifeline_out, self._lifeline = os.pipe()
        given = self._make_settings(status_in, lifeline_out)
        self.session = given.session
        settings = self._folder / "settings.json"
        settings.touch(mode=0o600)
        settings.write_bytes(msgspec.json.encode(given))
        upstream_trust = self._folder / "upstream.pem"
        upstream_trust.write_bytes(trusted(os.environ))
        self._log = (self._folder / "mitmproxy.log").open("w+b")
        options = [*_OPTIONS, f"confdir={self._folder / 'authority'}"]
        options.append(f"ssl_verify_upstream_trusted_ca={upstream_trust}")
        inside = Path(__file__).with_name("inside.py")
        command = [
            str(self._python),
            "-E",
            "-s",
            "-c",
            _MAIN,
            "--quiet",
            "--scripts",
            str(inside),
        ]
        command += [part for option in options for part in ("--set", option)]
        command += [part for mode in self._modes for part in ("--mode", mode)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(status_in, lifeline_out),
            start_new_session=True,  # Signals of the terminal are the client's command's.
            env=_environment(settings),
        )
        os.close(status_in)
        os.close(lifeline_out)
        self._reader = threading.Thread(target=self._read, args=(status_out,), daemon=True)
        self._reader.start()
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        try:
            if not self._ready.wait(self._ready_within_s):
                raise ConfigurationError(
                    f"mitmproxy was not ready within {self._ready_within_s:g} s: give --ready-within more"
                )
            if not self.ports:
                raise ConfigurationError(f"mitmproxy can't be started: {self._last_words()}")
            write_bundles(self._folder, self.authority, os.environ)
        except BaseException:
            self._stop()
            raise

    def __exit__(self, *_: object) -> None:
        self._stop()

    def wait(self) -> int:
        return self._process.wait()

    def await_canary(self, name: str, seconds: float) -> bool:
        """Whether the client with this name is seen."""
        with self._canaries:
            return self._canaries.wait_for(lambda: name in self.canaries, seconds)

    def _stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._lifeline)
        self._reader.join(GRACE_S)
        self._log.seek(0)
        if said := self._log.read().decode("utf-8", "replace").strip():
            print(said[-4000:], file=sys.stderr)
        self._log.close()

    def _read(self, pipe: int) -> None:
        """Read what the addon says, until it is gone."""
        with os.fdopen(pipe, "rb") as lines:
            for line in lines:
                status = msgspec.json.decode(line, type=Status)
                if status.ports is not None:
                    self.ports = status.ports
                    self._ready.set()
                self.used |= status.used
                if status.canary is not None:
                    with self._canaries:
                        self.canaries.add(status.canary)
                        self._canaries.notify_all()
                self.tally = status.tally or self.tally
        self._ready.set()

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._log.seek(0)
        words = self._log.read().decode("utf-8", "replace").strip().splitlines()
        self._log.truncate(0)
        return " ".join(words[-3:]) or f"it ended with {self._process.returncode}"


def _environment(settings: Path) -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name != KEY_VARIABLE
    }
    environment["CROSSWIND_FORWARD_PATHS"] = child_paths(sys.path)
    environment["CROSSWIND_FORWARD_SETTINGS"] = str(settings)
    return environment
