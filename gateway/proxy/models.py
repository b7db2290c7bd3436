"""GET /v1/models over several upstreams: one list of the models that a client of this protocol can use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import structlog

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.listing")

_PAGE = 1000
"""The most that Anthropic's API lists at once."""


@dataclass(frozen=True, slots=True)
class ModelList:
    """Asks each upstream that speaks the client's protocol; an upstream that fails is left out."""

    upstreams: Upstreams
    limit: int
    """The largest list, in bytes."""

    def applies(self, http: HttpRequest, path: str | None) -> bool:
        """Whether the request is for the list of models, and several upstreams have one."""
        return http.method == "GET" and path == "/models" and len(self.upstreams) > 1

    async def answer(self, http: HttpRequest, caller: Caller) -> int:
        """Answer with the merged list, in the shape that `anthropic-version` decides; gives the status.

        UpstreamError where no upstream gave a list.
        """
        anthropic = http.header(b"anthropic-version") is not None
        asked = [one for one in self.upstreams if _serves(one, anthropic=anthropic)]
        lists = await asyncio.gather(
            *(self._models(http, caller, one, anthropic=anthropic) for one in asked), return_exceptions=True
        )
        models: list[dict[str, Any]] = []
        for upstream, found in zip(asked, lists, strict=True):
            if isinstance(found, UpstreamError):
                _log.warning("an upstream's models are left out", upstream=upstream.name, error=found.message)
            elif isinstance(found, BaseException):
                raise found
            else:
                models += found
        if asked and all(isinstance(one, UpstreamError) for one in lists):
            raise UpstreamError(
                502, "no upstream gave a list of its models; see the log", "upstream_models_unavailable"
            )
        await http.answer(200, encode(_merge(models, anthropic=anthropic)))
        return 200

    async def _models(
        self, http: HttpRequest, caller: Caller, upstream: Upstream, *, anthropic: bool
    ) -> list[dict[str, Any]]:
        """The models that this upstream serves, under the names that clients use."""
        query = f"limit={_PAGE}" if anthropic else ""
        headers = upstream.headers(http.headers, caller, {b"accept-encoding": b"identity"})
        answer = await upstream.send(
            UpstreamRequest("GET", upstream.path("/models", query, caller), headers, None)
        )
        try:
            body = await answer.read_all(self.limit)
        finally:
            answer.close()
        entries = _read_entries(body) if answer.status == 200 else None
        if entries is None:
            raise UpstreamError(
                502, f"status {answer.status}, and no list of models", "upstream_models_unreadable"
            )
        names = {entry["id"]: entry for entry in entries}
        renamed = {
            said: {**names[known], "id": said}
            for said, known in upstream.settings.model_map.items()
            if known in names
        }
        return [
            entry
            for name, entry in {**names, **renamed}.items()
            if self.upstreams.for_model(name) is upstream
        ]


def _serves(upstream: Upstream, *, anthropic: bool) -> bool:
    return any((one == "messages") == anthropic for one in upstream.dialect.protocols)


def _read_entries(body: bytes) -> list[dict[str, Any]] | None:
    try:
        data = decode(body)["data"]
        return [one for one in data if isinstance(one["id"], str)]
    except (ValueError, KeyError, TypeError):
        return None


def _merge(models: list[dict[str, Any]], *, anthropic: bool) -> dict[str, Any]:
    if not anthropic:
        return {"object": "list", "data": models}
    ends = (models[0]["id"], models[-1]["id"]) if models else (None, None)
    return {"data": models, "first_id": ends[0], "last_id": ends[1], "has_more": False}
