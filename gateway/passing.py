"""Everything else under /v1: raw bytes both ways, streamed. Sessions are checked, nothing is recorded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from gateway.asgi import ClientGone, Http
from gateway.auth import Authenticator, Caller
from gateway.config import Settings
from gateway.errors import UpstreamError
from gateway.metrics import Metrics
from gateway.routes import Route, claim_of, upstream_path
from gateway.sessions import Sessions
from gateway.upstream import Answer, Upstream, end_to_end, forwarded

_log = structlog.get_logger("crosswind.passing")


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Forwards requests that it doesn't look into."""

    settings: Settings
    upstream: Upstream
    sessions: Sessions
    authenticator: Authenticator
    metrics: Metrics

    async def forward(self, http: Http, route: Route, caller: Caller, body: bytes | None = None) -> int:
        """Forward a request and relay its answer; gives the status. `body` where it was read already."""
        claim = claim_of(http, route, caller, self.settings)
        if claim.session_id is not None or caller.session_key is not None:
            await self.sessions.check(claim)
        bodiless = body is None and _bodiless(http)
        headers = forwarded(http.headers, self.authenticator.upstream_headers(caller))
        sent = None if bodiless else (http.chunks() if body is None else body)
        try:
            answer = await self.upstream.send(http.method, upstream_path(http, route), headers, sent)
        except UpstreamError as error:
            self.metrics.upstream_errors.labels(error.code).inc()
            raise
        if bodiless or http.read:
            http.cancel_when_gone()
        try:
            await self._relay(http, answer)
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        finally:
            answer.close()
        return answer.status

    async def _relay(self, http: Http, answer: Answer) -> None:
        await http.start(answer.status, end_to_end(answer.headers))
        try:
            async for chunk in answer.chunks():
                await http.chunk(chunk)
        except UpstreamError as error:
            # No end is sent: the client sees the break too.
            self.metrics.upstream_errors.labels(error.code).inc()
            _log.warning("the upstream broke off an answer", error=error.message)
        else:
            await http.end()


def _bodiless(http: Http) -> bool:
    return http.header(b"content-length") in (None, "0") and http.header(b"transfer-encoding") is None
