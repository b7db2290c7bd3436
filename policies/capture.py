"""Telling a gateway which versions may be trained on, over its control plane."""

from __future__ import annotations

import httpx

from policies.confirmation import Confirmation
from policies.engine import EngineError
from policies.version import PolicyVersion


class CaptureWitness:
    """Tells the gateway whose control plane is at `url`. Raises EngineError where it can't be told that a
    version is doubted: then turns would be recorded as fit.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self._http = httpx.Client(base_url=url.rstrip("/"), timeout=timeout, trust_env=False)

    def publishing(self, version: str) -> None:
        """From now on an engine that names no versions may sample by either."""
        self._put(version, {"swapping": True})

    def refused(self, version: str) -> None:
        self._put(version, {"swapping": False})

    def published(self, version: PolicyVersion) -> None:
        """Nothing is known of it yet."""

    def confirmed(self, version: str, confirmation: Confirmation) -> None:
        self._put(version, {"trusted": True, "max_difference": confirmation.max_difference})

    def doubted(self, version: str, reason: str) -> None:
        self._put(version, {"trusted": False, "reason": reason})

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
