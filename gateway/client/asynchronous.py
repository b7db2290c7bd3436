"""The asynchronous client of the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from crosswind.gateway.client.calls import DEFAULT_TIMEOUT_S, Calls, authorization


class AsyncClient(Calls):
    """The client for asyncio, with the methods of `Client`."""

    def __init__(
        self, url: str, *, control_key: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        super().__init__(url)
        self._http = httpx.AsyncClient(
            base_url=self.url, headers=authorization(control_key), timeout=timeout_s, trust_env=False
        )

    async def _send(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
        return await self._http.request(method, path, json=body, params=query)

    async def _disconnect(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._disconnect()
