"""A supervised server: our own, which is restarted when it ends, or one that somebody else started."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any, Protocol

import orjson

from crosswind.policies.engine import EngineError
from crosswind.policies.publishers.registry import connect
from crosswind.policies.server import ServeError
from crosswind.policies.versions.version import PolicyVersion, VersionError, read_version
from crosswind.policies.vllm.capture_guard import CaptureGuard
from crosswind.policies.vllm.diagnosis import diagnose
from crosswind.policies.vllm.health import (
    check_token_ids,
    find_sampling_problems,
    is_healthy,
    read_vllm_version,
    send,
)
from crosswind.policies.vllm.launch import Launch, ServerProcess, measure_memory

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SupervisionTimes:
    """Intervals and limits of supervision, in seconds."""

    start: float = 900.0
    look: float = 1.0
    """Between two looks at a server."""
    silent: int = 3
    """Looks in a row without an answer after which a server is held to be dead."""
    first_pause: float = 1.0
    """Before the first restart; doubled each time."""
    longest_pause: float = 60.0
    attempts: int = 5
    """Starts in a row that may fail."""
    settled: float = 300.0
    """After this long without a failure the row of failures is forgotten."""


class SupervisedServer(Protocol):
    """A server that is started, checked and recovered."""

    def begin(self, stop: Event) -> None:
        """Wait until it is healthy and serves its version. Raises ServeError."""
        ...

    def check(self, stop: Event) -> None:
        """Check it once and recover it if needed. Raises ServeError if it can't be recovered."""
        ...

    def end(self) -> None:
        """Stop what was started."""
        ...


@dataclass(slots=True)
class OwnServer:
    """A server that we start, and restart with the version that it served last."""

    launch: Launch
    times: SupervisionTimes
    say: Say
    guard: CaptureGuard | None = None
    process: ServerProcess | None = None
    failures: int = 0
    silent: int = 0
    up_since: float = field(default=0.0)

    @property
    def url(self) -> str:
        return self.launch.url

    def begin(self, stop: Event) -> None:
        self.launch.state.unlink(missing_ok=True)
        self._start(self.launch.model, stop)
        if not stop.is_set():
            self.say(f"serving {self.launch.model.name} at {self.url}/v1")
            self._confirm(self.launch.model)

    def check(self, stop: Event) -> None:
        assert self.process is not None
        code = self.process.ended
        if code is not None:
            self._restart(diagnose(self.launch.log, code), stop)
        elif is_healthy(self.url):
            self.silent = 0
            if time.monotonic() - self.up_since > self.times.settled:
                self.failures = 0
        else:
            self.silent += 1
            if self.silent >= self.times.silent:
                self._restart("vLLM doesn't answer any more, or its engine is dead", stop)

    def end(self) -> None:
        if self.process is not None:
            self.process.stop()

    def _restart(self, reason: str, stop: Event) -> None:
        """Restart with back-off until it is healthy. Raises ServeError after too many failures."""
        if self.guard is not None:
            self.guard.report_lost(self.url, self._last_served().version, reason)
        while not stop.is_set():
            self.end()
            self.failures += 1
            if self.failures > self.times.attempts:
                raise ServeError(f"{reason}; given up after {self.times.attempts} restarts", usage=False)
            pause = min(self.times.first_pause * 2 ** (self.failures - 1), self.times.longest_pause)
            good = self._last_served()
            self.say(f"{reason}; restarting {good.version} in {pause:g} s")
            stop.wait(pause)
            if stop.is_set():
                return
            try:
                self._start(good.under, stop)
                if good.adapter is not None:
                    self._publish(good.adapter)
            except ServeError as error:
                reason = str(error)
            else:
                self.say(f"serving {good.version} at {self.url}/v1 again")
                self._confirm(good.adapter or good.under)
                return

    def _start(self, model: Path, stop: Event) -> None:
        """Start, wait until it is healthy, and say what it costs. Raises ServeError."""
        began, self.silent = time.monotonic(), 0
        self.process = ServerProcess(replace(self.launch, model=model))
        self.process.start()
        while not stop.is_set():
            code = self.process.ended
            if code is not None:
                raise ServeError(diagnose(self.launch.log, code), usage=False)
            answer = send(self.url, "/policy", timeout=5.0)
            if answer is not None and answer.status_code == 200:
                break
            if time.monotonic() - began > self.times.start:
                raise ServeError(
                    f"vLLM isn't healthy after {self.times.start:g} s (log: {self.launch.log})",
                    usage=False,
                )
            stop.wait(self.times.look)
        if stop.is_set():
            return
        check_token_ids(self.url)
        self.up_since = time.monotonic()
        version = read_vllm_version(self.url)
        group = self.process.group
        self.say(
            f"vLLM {version} ({self.launch.environment.build}, process group {group}): up after "
            f"{self.up_since - began:.0f} s, {measure_memory(group)}; log: {self.launch.log}"
        )

    def _publish(self, directory: Path) -> None:
        try:
            with connect(self.url) as engine:
                engine.publish(read_version(directory))
        except (EngineError, VersionError) as error:
            raise ServeError(f"{directory} can't be published again: {error}", usage=False) from None

    def _confirm(self, directory: Path) -> None:
        if self.guard is not None:
            self.guard.confirm(self.url, directory)

    def _last_served(self) -> LastServed:
        return read_last_served(self.launch.state, self.launch.model)


@dataclass(frozen=True, slots=True)
class LastServed:
    """What a server served last: a full version, and the adapter on top of it."""

    version: str
    under: Path
    adapter: Path | None = None


def read_last_served(state: Path, first: Path) -> LastServed:
    """What a server left word of; the first directory where that is gone since."""
    try:
        told: dict[str, Any] = orjson.loads(state.read_bytes())
        path, under = Path(told["path"]), Path(told["under"])
    except (OSError, ValueError, KeyError):
        return LastServed(first.name, first)
    if not path.is_dir() or not under.is_dir():
        return LastServed(first.name, first)
    return LastServed(told["version"], under, path if path != under else None)


@dataclass(slots=True)
class AttachedServer:
    """A server that somebody else started: when it comes back with an old version, it is given the last."""

    url: str
    directory: Path
    times: SupervisionTimes
    say: Say
    turn: Lock
    """Held while one of several is given a version: the others answer meanwhile."""
    guard: CaptureGuard | None = None
    version: PolicyVersion | None = None
    down: bool = False
    refusals: int = 0
    """In a row, of a server that is back, to be given its version."""
    next_try: float = 0.0

    def begin(self, stop: Event) -> None:
        began, said = time.monotonic(), False
        while not is_healthy(self.url):
            if not said:
                self.say(f"waiting up to {self.times.start:g} s for {self.url} to answer")
                said = True
            if time.monotonic() - began > self.times.start:
                raise ServeError(f"--attach {self.url}: not healthy after {self.times.start:g} s")
            if stop.wait(self.times.look):
                return
        version = read_vllm_version(self.url)
        check_token_ids(self.url)
        self.say(f"attached to {self.url}: vLLM {version}")
        for trouble in find_sampling_problems(self.url):
            self.say(trouble)
        try:
            self.version = read_version(self.directory)
        except VersionError as error:
            raise ServeError(str(error)) from None
        self._restore(self.version)
        self.say(f"serving {self.version.version} at {self.url}/v1")
        self._confirm(self.version)

    def check(self, stop: Event) -> None:
        assert self.version is not None
        if not is_healthy(self.url):
            if not self.down:
                reason = f"{self.url} answers no more"
                self.say(f"{reason}; waiting for it to come back")
                if self.guard is not None:
                    self.guard.report_lost(self.url, self.version.version, reason)
            self.down = True
            self.refusals, self.next_try = 0, 0.0
        elif self.down:
            self._take_back(self.version)
        else:
            self._follow(self.version)

    def end(self) -> None:
        """Nothing to stop: somebody else started it."""

    def _confirm(self, version: PolicyVersion) -> None:
        if self.guard is not None:
            self.guard.confirm(self.url, version.path)

    def _take_back(self, version: PolicyVersion) -> None:
        """Give a server that is back its version, and try that again where it refuses: nothing of it trains
        meanwhile.
        """
        if time.monotonic() < self.next_try:
            return
        try:
            self._restore(version)
        except ServeError as error:
            pause = min(self.times.first_pause * 2**self.refusals, self.times.longest_pause)
            self.refusals, self.next_try = self.refusals + 1, time.monotonic() + pause
            self.say(f"{error}; {version.version} is given to it again in {pause:g} s")
            return
        self.down = False
        self.say(f"serving {version.version} at {self.url}/v1 again")
        self._confirm(version)

    def _restore(self, version: PolicyVersion) -> None:
        try:
            with connect(self.url) as engine:
                if engine.health().version != version.version:
                    with self.turn:
                        engine.publish(version)
        except EngineError as error:
            raise ServeError(f"{self.url}: {error}", usage=False) from None

    def _follow(self, known: PolicyVersion) -> None:
        """Remember what others publish to it, to give it that again when it comes back."""
        try:
            with connect(self.url) as engine:
                health = engine.health()
            if health.version == known.version:
                return
            # vLLM without our extension knows no path: versions of one registry lie side by side.
            path = Path(health.path) if health.path else known.path.parent / health.version
            self.version = read_version(path)
            self.say(f"{self.url} was given {health.version}")
        except (EngineError, VersionError):
            return
