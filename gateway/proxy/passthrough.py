"""Everything else under /v1: raw bytes both ways, streamed. Sessions are checked, nothing is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.asgi import ClientGone, Http
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.body import read_body
from crosswind.gateway.http.headers import drop_hop_by_hop
from crosswind.gateway.noise.events import outside_of_turns
from crosswind.gateway.proxy.models import ModelList
from crosswind.gateway.proxy.routes import Route, read_claim
from crosswind.gateway.proxy.stored_responses import StoredResponses, StoredView
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.upstreams.answer import Answer
from crosswind.gateway.upstreams.request import Outgoing
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.passing")

_MOST_PAGES = 100
"""Pages that are asked for in place of one."""
_PLACES = ("after", "before")
_BATCHES = ("POST", "/batches")
_MODEL = "/models/"
_PLAIN: dict[bytes, bytes | None] = {b"accept-encoding": b"identity"}


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Forwards requests that it doesn't look into."""

    settings: Settings
    upstreams: Upstreams
    models: ModelList
    sessions: Sessions
    stored: StoredResponses
    metrics: Metrics
    recorder: Recorder

    async def forward(self, http: Http, route: Route, caller: Caller, body: bytes | None = None) -> int:
        """Forward a request and relay its answer; gives the status. `body` where it was read already."""
        claim = read_claim(http, route, caller, self.settings)
        session = await self.sessions.check(claim)
        path = str(route.path)
        if self.models.applies(http, path):
            return await self.models.answer(http, caller)
        upstream = self._upstream(http, path)
        query = http.query.decode("latin-1")
        changes: dict[bytes, bytes | None] = {}
        if body is None and self.stored.continues(http.method, path):
            came = await read_body(http, self.settings.limits.body)
            body, view = await self.stored.continue_from(path, came.body, session, caller)
            body, changes = came.to_send(body)
        else:
            view = await self.stored.find(http.method, path, query, session, caller)
        bodiless = body is None and _bodiless(http)
        outgoing = Outgoing(
            http.method,
            upstream.path(view.path if view else path, query, caller),
            upstream.headers(http.headers, caller, changes | (_PLAIN if view else {})),
            None if bodiless else (http.chunks if body is None else body),
        )
        http.cancel_when_gone(unread=not (bodiless or http.read))
        try:
            answer = await self._send(upstream, outgoing, session)
            try:
                if session is not None and answer.status < 300:
                    await self._without_noise(http.method, path, session)
                if view is None:
                    await self._relay(http, answer)
                else:
                    await self._answer_viewed(http, upstream, caller, answer, view)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        return answer.status

    async def _send(self, upstream: Upstream, outgoing: Outgoing, session: str | None) -> Answer:
        try:
            return await upstream.send(outgoing, session)
        except UpstreamError as error:
            self.metrics.upstream_errors.labels(error.code).inc()
            raise

    def _upstream(self, http: Http, path: str) -> Upstream:
        """One model's page is its upstream's; everything else goes by the protocol whose path it is."""
        if http.method == "GET" and path.startswith(_MODEL):
            return self.upstreams.of_model(unquote(path.removeprefix(_MODEL)))
        return self.upstreams.of_path(path)

    async def _without_noise(self, method: str, path: str, session_id: str) -> None:
        """Say so in a noisy session where it has a batch run, whose requests nobody can be mapped back to."""
        session = await self.sessions.get(session_id) if (method, path.rstrip("/")) == _BATCHES else None
        if session is None or not session.plan.rules:
            return
        event = outside_of_turns(session_id, now_us(), "Not injected: batches run without noise.")
        if session.unwritten:
            session.pending.append(event)
        else:
            self.recorder.offer([event])

    async def _answer_viewed(
        self, http: Http, upstream: Upstream, caller: Caller, answer: Answer, view: StoredView
    ) -> None:
        """Answer with what a provider keeps, and delete what belongs to it where it was deleted."""
        body = await answer.body(self.settings.limits.answer)
        if answer.status < 300 and http.method == "GET":
            body = await self._page(http, upstream, caller, view, body)
        await self._delete(http, upstream, caller, view.also if answer.status < 300 else ())
        await _answer_mapped(http, answer, body, view)

    async def _page(
        self, http: Http, upstream: Upstream, caller: Caller, view: StoredView, body: bytes
    ) -> bytes:
        """The page, or the first one behind it that has anything for the client."""
        if view.listed is not None:
            return await self.stored.completions(body, view.listed)
        query = http.query.decode("latin-1")
        seen: set[str] = set()
        while (after := view.after(body)) is not None and after not in seen and len(seen) < _MOST_PAGES:
            seen.add(after)
            others = [one for one in query.split("&") if one and one.partition("=")[0] not in _PLACES]
            asked = "&".join([*others, "after=" + quote(after, safe="")])
            headers = upstream.headers(http.headers, caller, _PLAIN)
            path = upstream.path(view.path, asked, caller)
            answer = await upstream.send(Outgoing("GET", path, headers, None), None)
            try:
                if answer.status >= 300 or answer.header("content-encoding") not in ("", "identity"):
                    break
                body = await answer.body(self.settings.limits.answer)
            finally:
                answer.close()
        return body

    async def _delete(self, http: Http, upstream: Upstream, caller: Caller, paths: Sequence[str]) -> None:
        """Delete what belongs to something that was deleted."""
        for path in paths:
            headers = upstream.headers(http.headers, caller, _PLAIN)
            outgoing = Outgoing("DELETE", upstream.path(path, "", caller), headers, None)
            try:
                (await upstream.send(outgoing, None)).close()
            except UpstreamError as error:
                _log.warning("a round's response could not be deleted", path=path, error=error.message)

    async def _relay(self, http: Http, answer: Answer) -> None:
        await http.start(answer.status, drop_hop_by_hop(answer.headers))
        try:
            async for chunk in answer.chunks():
                await http.chunk(chunk)
        except UpstreamError as error:
            # No end is sent: the client sees the break too.
            self.metrics.upstream_errors.labels(error.code).inc()
            _log.warning("the upstream broke off an answer", error=error.message)
        else:
            await http.end()


async def _answer_mapped(http: Http, answer: Answer, body: bytes, view: StoredView) -> None:
    """Answer with what a provider keeps, in the client's view."""
    plain = answer.header("content-encoding") in ("", "identity")
    mapped = view.mapped(body) if plain and answer.status < 300 else body
    # Whoever answers counts the length.
    headers = [pair for pair in drop_hop_by_hop(answer.headers) if pair[0].lower() != b"content-length"]
    await http.answer(answer.status, mapped, headers)


def _bodiless(http: Http) -> bool:
    return http.header(b"content-length") in (None, "0") and http.header(b"transfer-encoding") is None
