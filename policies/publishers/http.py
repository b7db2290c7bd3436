"""What engines that are reached over HTTP have in common."""

from __future__ import annotations

from typing import Any

import httpx

from crosswind.policies.engine import REQUEST_TIMEOUT_S, ClosingEngine, EngineAway, root_of

ANSWERED_WITHIN_S = 15.0
"""How long a question may take that an engine answers without computing."""


class HttpEngine(ClosingEngine):
    """The connection to a server, given by its root URL or its `/v1`."""

    def __init__(self, url: str, *, timeout: float = REQUEST_TIMEOUT_S) -> None:
        self._timeout_s = timeout
        self._http = httpx.Client(base_url=root_of(url), timeout=timeout, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer, whatever its status. Raises EngineAway where there is none."""
        # GET requests are answered at once. Others change weights or compute, and may take long.
        within_s = min(self._timeout_s, ANSWERED_WITHIN_S) if method == "GET" else self._timeout_s
        try:
            return self._http.request(method, path, timeout=within_s, **options)
        except httpx.TimeoutException as error:
            raise EngineAway(
                f"{self._http.base_url}: no answer to {method} {path} within {within_s:g} s; it hangs or is "
                "busy: look at its log, or give it more time (--engine-timeout)"
            ) from error
        except httpx.HTTPError as error:
            raise EngineAway(
                f"{self._http.base_url}: no answer to {method} {path} ({error}); is the engine up?"
            ) from error
