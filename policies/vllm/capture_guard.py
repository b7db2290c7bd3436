"""Stop a gateway's capture for training when a server goes away, until its return is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from crosswind.policies.deployment.confirmation import Probe
from crosswind.policies.deployment.deployment import Deployment, ProbeOf, describe_difference
from crosswind.policies.deployment.gateway_observer import GatewayObserver
from crosswind.policies.deployment.reference import load_probe
from crosswind.policies.engine import EngineError
from crosswind.policies.publishers.registry import connect
from crosswind.policies.server import ServeError
from crosswind.policies.versions.version import PolicyVersion, VersionError, read_version


class CaptureGuard:
    """Nothing that a server samples may train between its loss and its confirmed return."""

    def __init__(self, control: str, tolerance: float, say: Callable[[str], None]) -> None:
        """`control` is the URL of the gateway's control plane. Raises ServeError where torch is missing."""
        self._control = control
        self._observers: dict[str, GatewayObserver] = {}
        self._tolerance = tolerance
        self._say = say
        self._reference, self._computing = _reference(), Lock()

    def report_lost(self, url: str, version: str, reason: str) -> None:
        """The server at this URL, which serves this version, is away."""
        try:
            self._observer(url).on_lost(version, reason)
        except EngineError as error:
            self._say(str(error))
        else:
            self._say(f"capture for training is stopped: {reason}")

    def confirm(self, url: str, directory: Path) -> None:
        """Compare what serves at this URL with what transformers makes of the version's files, and tell."""
        try:
            version = read_version(directory)
            with connect(url) as engine:
                deployment = Deployment(engine, [self._observer(url)], self._tolerance)
                found = deployment.confirm(version, self._probe)
        except (EngineError, VersionError) as error:
            self._say(f"{url}: what it serves can't be confirmed, and is not trained on: {error}")
            return
        for trouble in deployment.unreported:
            self._say(trouble)
        if not found.difference.is_rounding(self._tolerance):
            told = describe_difference(found, self._tolerance)
            self._say(f"{url}: {told}; capture for training is stopped")
        else:
            self._say(f"{version.version} is confirmed at {url} ({found.difference.describe_agreement()})")

    def _probe(self, version: PolicyVersion) -> Probe:
        """For one server at a time: torch is to take one core, not one for each."""
        with self._computing:
            return self._reference(version)

    def close(self) -> None:
        for observer in self._observers.values():
            observer.close()

    def _observer(self, url: str) -> GatewayObserver:
        if url not in self._observers:
            self._observers[url] = GatewayObserver(self._control, url)
        return self._observers[url]


def _reference() -> ProbeOf:
    try:
        return load_probe()
    except ModuleNotFoundError as error:
        raise ServeError(
            f"--control: {error.name} isn't installed, so that nothing can be confirmed: install "
            "crosswind[train], or leave --control out"
        ) from None
