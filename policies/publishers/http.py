"""What engines that are reached over HTTP have in common."""

from __future__ import annotations

from typing import Any

import httpx

from crosswind.policies.engine import ClosingEngine, EngineAway, root_of


class HttpEngine(ClosingEngine):
    """The connection to a server, given by its root URL or its `/v1`."""

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        self._http = httpx.Client(base_url=root_of(url), timeout=timeout, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer, whatever its status. Raises EngineAway where there is none."""
        try:
            return self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise EngineAway(
                f"{self._http.base_url}: no answer to {method} {path} ({error}); is the engine up?"
            ) from error
