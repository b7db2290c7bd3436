"""Forward all other requests under /v1: raw bytes both ways, streamed, unrecorded. Sessions are checked."""

from __future__ import annotations

import asyncio
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
from crosswind.gateway.noise.events import no_operator_outside_turns
from crosswind.gateway.proxy.models import ModelList
from crosswind.gateway.proxy.routes import Route, read_claim
from crosswind.gateway.proxy.stored_responses import StoredResponses, StoredView
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.passing")

_MOST_PAGES = 100
"""How many pages are fetched in place of one."""
_PLACES = ("after", "before")
_BATCHES = ("POST", "/batches")
_MODEL = "/models/"
_PLAIN: dict[bytes, bytes | None] = {b"accept-encoding": b"identity"}
_READABLE = ("", "identity")


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Forwards requests that are not turns."""

    settings: Settings
    upstreams: Upstreams
    models: ModelList
    sessions: Sessions
    stored: StoredResponses
    metrics: Metrics
    recorder: Recorder

    async def forward(self, http: Http, route: Route, caller: Caller, body: bytes | None = None) -> int:
        """Forward a request and relay its answer; gives the status. `body`: where it was read already."""
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
        length, encoding = http.header(b"content-length"), http.header(b"transfer-encoding")
        bodiless = body is None and length in (None, "0") and encoding is None
        outgoing = UpstreamRequest(
            http.method,
            upstream.path(view.path if view else path, query, caller),
            upstream.headers(http.headers, caller, changes | (_PLAIN if view else {})),
            None if bodiless else (http.chunks if body is None else body),
        )
        http.cancel_when_gone()
        try:
            answer = await upstream.send(outgoing, session)
            try:
                if session is not None and answer.status < 300:
                    await self._note_batch(http.method, path, session)
                if view is None:
                    await self._relay(http, answer)
                else:
                    await self._answer_stored(http, upstream, caller, answer, view)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        return answer.status

    def _upstream(self, http: Http, path: str) -> Upstream:
        """The upstream of the model that the path names, else that of the path's protocol."""
        if http.method == "GET" and path.startswith(_MODEL):
            return self.upstreams.for_model(unquote(path.removeprefix(_MODEL)))
        return self.upstreams.for_path(path)

    async def _note_batch(self, method: str, path: str, session_id: str) -> None:
        """Record in a noisy session that its batch runs without noise: no answer could be mapped back."""
        session = await self.sessions.get(session_id) if (method, path.rstrip("/")) == _BATCHES else None
        if session is None or not session.plan.rules:
            return
        event = no_operator_outside_turns(session_id, now_us(), "Not injected: batches run without noise.")
        if session.unwritten:
            session.pending.append(event)
        else:
            self.recorder.offer([event])

    async def _answer_stored(
        self, http: Http, upstream: Upstream, caller: Caller, answer: UpstreamResponse, view: StoredView
    ) -> None:
        """Answer with something stored, in the client's view. If it was deleted, delete its inner rounds,
        too.
        """
        body, succeeded = await answer.read_all(self.settings.limits.answer), answer.status < 300
        if succeeded and http.method == "GET":
            body = await self._find_page(http, upstream, caller, view, body)
        for path in view.also if succeeded else ():
            try:
                (await self._ask(http, upstream, caller, "DELETE", path)).close()
            except UpstreamError as error:
                _log.warning("a round's response could not be deleted", path=path, error=error.message)
        if succeeded and answer.header("content-encoding") in _READABLE:
            body = view.mapped(body)
        # The answer's length is counted from its body.
        headers = [pair for pair in drop_hop_by_hop(answer.headers) if pair[0].lower() != b"content-length"]
        await http.answer(answer.status, body, headers)

    async def _ask(
        self, http: Http, upstream: Upstream, caller: Caller, method: str, path: str, query: str = ""
    ) -> UpstreamResponse:
        headers = upstream.headers(http.headers, caller, _PLAIN)
        return await upstream.send(
            UpstreamRequest(method, upstream.path(path, query, caller), headers, None), None
        )

    async def _find_page(
        self, http: Http, upstream: Upstream, caller: Caller, view: StoredView, body: bytes
    ) -> bytes:
        """The page, or the first one after it that has anything for the client."""
        if view.listed is not None:
            return await self.stored.completions(body, view.listed)
        query = http.query.decode("latin-1")
        seen: set[str] = set()
        while (after := view.after(body)) is not None and after not in seen and len(seen) < _MOST_PAGES:
            seen.add(after)
            others = [one for one in query.split("&") if one and one.partition("=")[0] not in _PLACES]
            following = "&".join([*others, "after=" + quote(after, safe="")])
            answer = await self._ask(http, upstream, caller, "GET", view.path, following)
            try:
                if answer.status >= 300 or answer.header("content-encoding") not in _READABLE:
                    break
                body = await answer.read_all(self.settings.limits.answer)
            finally:
                answer.close()
        return body

    async def _relay(self, http: Http, answer: UpstreamResponse) -> None:
        await http.start(answer.status, drop_hop_by_hop(answer.headers))
        try:
            async for chunk in answer.chunks():
                await http.chunk(chunk)
        except UpstreamError as error:
            # No end is sent, so that the client sees the break, too.
            self.metrics.count_failure(error)
            _log.warning("the upstream broke off an answer", error=error.message)
        else:
            await http.end()
