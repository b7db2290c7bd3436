"""Telling a gateway which versions may be trained on, over its control plane."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import httpx

from crosswind.policies.deployment.confirmation import Confirmation
from crosswind.policies.deployment.deployment import DeploymentObserver
from crosswind.policies.engine import EngineError

_REASON = 2000
"""Characters of a reason that the gateway takes."""


class GatewayObserver(DeploymentObserver):
    """Tells the gateway whose control plane is at `url` of the engine at `engine`: a URL, or those of
    several replicas with commas between. Raises EngineError where it can't be told that a version is doubted:
    then turns would be recorded as fit. Without a `control_key` the variable CROSSWIND_CONTROL_KEY is used.
    """

    def __init__(
        self, url: str, engine: str, *, control_key: str | None = None, timeout: float = 10.0
    ) -> None:
        self._engines = [one.strip() for one in engine.split(",") if one.strip()]
        key = control_key or os.environ.get("CROSSWIND_CONTROL_KEY")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout, trust_env=False)

    def on_publish(self, version: str) -> None:
        """From now on an engine that names no versions may sample by either."""
        self._put(version, {"swapping": True})

    def on_refused(self, version: str) -> None:
        self._put(version, {"swapping": False})

    def on_confirmed(self, version: str, confirmation: Confirmation) -> None:
        there = [one for one in self._engines if one not in confirmation.away]
        said = {"trusted": True, "max_difference": confirmation.difference.largest}
        self._put(version, said | {"engines": there})

    def on_missed(self, version: str, away: Mapping[str, str]) -> None:
        """What these servers sample when they are back must not train, whatever they serve."""
        for url, reason in away.items():
            self._put_away(version, reason, [url])

    def on_doubted(self, version: str, reason: str) -> None:
        self._put(version, {"trusted": False, "reason": reason[:_REASON], "engines": self._engines})

    def on_lost(self, version: str, reason: str) -> None:
        """The engine is away. What other servers sample as this version may still train."""
        self._put_away(version, reason, self._engines)

    def _put_away(self, version: str, reason: str, engines: Sequence[str]) -> None:
        said = {"trusted": False, "reason": reason[:_REASON], "engines": engines, "away": True}
        self._put(version, said)

    def _put(self, version: str, body: object) -> None:
        try:
            response = self._http.put(f"/api/versions/{version}", json=body)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise EngineError(
                f"{self._http.base_url}: the gateway can't be told about version {version!r} ({error}); is "
                "its control plane up?"
            ) from error

    def close(self) -> None:
        self._http.close()
