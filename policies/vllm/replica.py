"""A supervised server: our own, which is restarted when it ends, or one that somebody else started."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any

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
from crosswind.policies.vllm.launch import Launch, ServerProcess, describe_memory

Say = Callable[[str], None]


LOOK_EVERY_S = 1.0
"""Between two looks at a server."""
_SILENT_LOOKS = 3
"""Looks in a row without an answer after which a server is held to be dead."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
"""Before the first restart, doubled each time, and at most."""
_MOST_STARTS = 5
"""Starts in a row that may fail."""
_SETTLED_AFTER_S = 300.0
"""After this long without a failure the row of failures is forgotten."""


@dataclass(slots=True)
class SupervisedServer(ABC):
    """A server that is started, checked and recovered."""

    url: str
    say: Say
    guard: CaptureGuard | None
    start_within_s: float
    """How long it may take until it answers for the first time, or again after a restart."""

    @abstractmethod
    def begin(self, stop: Event) -> None:
        """Wait until it is healthy and serves its version. Raises ServeError."""

    @abstractmethod
    def check(self, stop: Event) -> None:
        """Check it once and recover it if needed. Raises ServeError if it can't be recovered."""

    def confirm(self, directory: Path) -> None:
        if self.guard is not None:
            self.guard.confirm(self.url, directory)

    def report_lost(self, version: str, reason: str) -> None:
        if self.guard is not None:
            self.guard.report_lost(self.url, version, reason)


@dataclass(slots=True)
class OwnServer(SupervisedServer):
    """A server that we start, and restart with the version that it served last."""

    launch: Launch
    process: ServerProcess | None = None
    failures: int = 0
    silent: int = 0
    up_since: float = 0.0

    def begin(self, stop: Event) -> None:
        self.launch.state.unlink(missing_ok=True)
        self._start(self.launch.model, stop)
        if not stop.is_set():
            self.say(f"serving {self.launch.model.name} at {self.url}/v1")
            self.confirm(self.launch.model)

    def check(self, stop: Event) -> None:
        assert self.process is not None
        code = self.process.ended
        if code is not None:
            self._restart(diagnose(self.launch.log, code), stop)
        elif is_healthy(self.url):
            self.silent = 0
            if time.monotonic() - self.up_since > _SETTLED_AFTER_S:
                self.failures = 0
        else:
            self.silent += 1
            if self.silent >= _SILENT_LOOKS:
                self._restart("vLLM doesn't answer any more, or its engine is dead", stop)

    def end(self) -> None:
        """Stop what was started."""
        if self.process is not None:
            self.process.stop()

    def _restart(self, reason: str, stop: Event) -> None:
        """Restart with back-off until it is healthy. Raises ServeError after too many failures."""
        self.report_lost(self._last_served().version, reason)
        while not stop.is_set():
            self.end()
            self.failures += 1
            if self.failures > _MOST_STARTS:
                raise ServeError(f"{reason}; given up after {_MOST_STARTS} restarts", usage=False)
            pause = _pause(self.failures)
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
                self.confirm(good.adapter or good.under)
                return

    def _start(self, model: Path, stop: Event) -> None:
        """Start, wait until it is healthy, and say what it costs. Raises ServeError."""
        began, self.silent = time.monotonic(), 0
        self.process = ServerProcess(replace(self.launch, model=model))
        while not stop.is_set():
            code = self.process.ended
            if code is not None:
                raise ServeError(diagnose(self.launch.log, code), usage=False)
            answer = send(self.url, "/policy", timeout=5.0)
            if answer is not None and answer.status_code == 200:
                break
            if time.monotonic() - began > self.start_within_s:
                raise ServeError(
                    f"vLLM isn't healthy after {self.start_within_s:g} s (log: {self.launch.log}); give a "
                    "large model more time: --start-within",
                    usage=False,
                )
            stop.wait(LOOK_EVERY_S)
        if stop.is_set():
            return
        check_token_ids(self.url)
        self.up_since = time.monotonic()
        version = read_vllm_version(self.url)
        group = self.process.group
        self.say(
            f"vLLM {version} ({self.launch.environment.build}, process group {group}): up after "
            f"{self.up_since - began:.0f} s, {describe_memory(group)}; log: {self.launch.log}"
        )

    def _publish(self, directory: Path) -> None:
        try:
            with connect(self.url) as engine:
                engine.publish(read_version(directory))
        except (EngineError, VersionError) as error:
            raise ServeError(f"{directory} can't be published again: {error}", usage=False) from None

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
class AttachedServer(SupervisedServer):
    """A server that somebody else started: when it comes back with an old version, it is given the last."""

    directory: Path
    turn: Lock
    """Held while one of several is given a version: the others answer meanwhile."""
    version: PolicyVersion | None = None
    down: bool = False
    refusals: int = 0
    """In a row, of a server that is back, to be given its version."""
    next_try: float = 0.0

    def begin(self, stop: Event) -> None:
        began, said = time.monotonic(), False
        while not is_healthy(self.url):
            if not said:
                self.say(f"waiting up to {self.start_within_s:g} s for {self.url} to answer")
                said = True
            if time.monotonic() - began > self.start_within_s:
                raise ServeError(
                    f"--attach {self.url}: it didn't answer within {self.start_within_s:g} s; start it, or "
                    "wait longer with --start-within"
                )
            if stop.wait(LOOK_EVERY_S):
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
        self.confirm(self.version.path)

    def check(self, stop: Event) -> None:
        assert self.version is not None
        if not is_healthy(self.url):
            if not self.down:
                reason = f"{self.url} answers no more"
                self.say(f"{reason}; waiting for it to come back")
                self.report_lost(self.version.version, reason)
            self.down = True
            self.refusals, self.next_try = 0, 0.0
        elif self.down:
            self._take_back(self.version)
        else:
            self._follow(self.version)

    def _take_back(self, version: PolicyVersion) -> None:
        """Give a server that is back its version, and try that again where it refuses: nothing of it trains
        meanwhile.
        """
        if time.monotonic() < self.next_try:
            return
        try:
            self._restore(version)
        except ServeError as error:
            self.refusals += 1
            pause = _pause(self.refusals)
            self.next_try = time.monotonic() + pause
            self.say(f"{error}; {version.version} is given to it again in {pause:g} s")
            return
        self.down = False
        self.say(f"serving {version.version} at {self.url}/v1 again")
        self.confirm(version.path)

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


def _pause(failures: int) -> float:
    """Seconds before the next try, after so many failures in a row."""
    return min(_FIRST_PAUSE_S * 2.0 ** (failures - 1), _LONGEST_PAUSE_S)
