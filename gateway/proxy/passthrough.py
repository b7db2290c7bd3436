"""Forward all other requests under /v1: raw bytes both ways, streamed, unrecorded. Sessions are checked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import quote, unquote

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError, UpstreamError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.body import RequestBody, read_body
from crosswind.gateway.http.headers import drop_hop_by_hop
from crosswind.gateway.http.request import ClientGone, HttpRequest
from crosswind.gateway.noise.events import no_operator_outside_turns
from crosswind.gateway.proxy.models import ModelList
from crosswind.gateway.proxy.provider_objects import find_object_route
from crosswind.gateway.proxy.provider_ownership import ProviderOwnership, TenantShare
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
    ownership: ProviderOwnership | None = None
    """Where tenants share a provider's account."""

    async def forward(
        self, http: HttpRequest, route: Route, caller: Caller, body: RequestBody | None = None
    ) -> int:
        """Forward a request and relay its answer; gives the status. `body`: where it was read already."""
        claim = read_claim(http, route, caller, self.settings)
        session = await self.sessions.check(claim)
        path = str(route.path)
        if http.method == "TRACE":
            told = "TRACE isn't passed on: its answer would show the upstream's key"
            raise ServiceError(405, told, code="method_not_allowed")
        if self.models.applies(http, path):
            return await self.models.answer(http, caller)
        upstream = self._upstream(http, path)
        query = http.query.decode("latin-1")
        continues = self.stored.continues(http.method, path)
        if body is None and (continues or (self.ownership is not None and _has_json(http))):
            body = await read_body(http, self.settings.limits.body)
        share = await self._find_share(http.method, path, body, session, caller)
        changes: dict[bytes, bytes | None] = {}
        sent = None if body is None else body.raw
        if body is not None and continues:
            changed, view = await self.stored.continue_from(path, body.body, session, caller)
            sent, changes = body.to_send(changed)
        else:
            view = await self.stored.find(http.method, path, query, session, caller)
        length, encoding = http.header(b"content-length"), http.header(b"transfer-encoding")
        bodiless = sent is None and length in (None, "0") and encoding is None
        outgoing = UpstreamRequest(
            http.method,
            upstream.path(view.path if view else path, query, caller),
            upstream.headers(http.headers, caller, changes | (_PLAIN if view or share else {})),
            None if bodiless else (http.chunks if sent is None else sent),
        )
        http.cancel_when_gone()
        try:
            answer = await upstream.send(outgoing, session)
            upstream.note_refusal(answer.status, caller)
            try:
                if session is not None and answer.status < 300:
                    await self._note_batch(http.method, path, session)
                if view is None and share is None:
                    await self._relay(http, answer)
                else:
                    await self._answer_stored(http, upstream, caller, answer, view or StoredView(path), share)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        return answer.status

    async def _find_share(
        self, method: str, path: str, body: RequestBody | None, session_id: str | None, caller: Caller
    ) -> TenantShare | None:
        """What the answer holds of the tenant's objects, where tenants share an account and it holds any.

        ServiceError 404 for a path or a body that names an object which isn't the tenant's.
        """
        if self.ownership is None:
            return None
        tenant = caller.tenant
        if tenant is None:
            session = await self.sessions.get(session_id) if session_id is not None else None
            tenant = (session.record.tenant if session is not None else None) or ""
        route = find_object_route(path)
        if route is not None and route.object_id is not None:
            await self.ownership.check([route.object_id], tenant)
        if body is not None:
            await self.ownership.check_request(body, tenant)
        if route is None or not (route.lists(method) or route.describes(method)):
            return None
        return TenantShare(self.ownership, tenant, lists=route.lists(method))

    def _upstream(self, http: HttpRequest, path: str) -> Upstream:
        """The upstream of the model that the path names, else that of the path's protocol."""
        if http.method == "GET" and path.startswith(_MODEL):
            return self.upstreams.for_model(unquote(path.removeprefix(_MODEL)))
        return self.upstreams.for_path(path)

    async def _note_batch(self, method: str, path: str, session_id: str) -> None:
        """Record in a noisy session that its batch runs without noise: no answer could be mapped back."""
        session = await self.sessions.get(session_id) if (method, path.rstrip("/")) == _BATCHES else None
        if session is None or not session.plan.rules:
            return
        event = no_operator_outside_turns(session_id, now_us(), "No noise: batches run without it.")
        if session.unwritten:
            session.pending.append(event)
        else:
            self.recorder.offer([event])

    async def _answer_stored(
        self,
        http: HttpRequest,
        upstream: Upstream,
        caller: Caller,
        answer: UpstreamResponse,
        view: StoredView,
        share: TenantShare | None,
    ) -> None:
        """Answer with something stored, in the client's view. If it was deleted, delete its inner rounds,
        too.
        """
        body, succeeded = await answer.read_all(self.settings.limits.answer), answer.status < 300
        if succeeded and share is not None and not share.lists:
            await share.keep(body)
        if succeeded and http.method == "GET":
            body = await self._find_page(http, upstream, caller, view, body, share)
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
        self, http: HttpRequest, upstream: Upstream, caller: Caller, method: str, path: str, query: str = ""
    ) -> UpstreamResponse:
        headers = upstream.headers(http.headers, caller, _PLAIN)
        return await upstream.send(
            UpstreamRequest(method, upstream.path(path, query, caller), headers, None), None
        )

    async def _find_page(
        self,
        http: HttpRequest,
        upstream: Upstream,
        caller: Caller,
        view: StoredView,
        body: bytes,
        share: TenantShare | None,
    ) -> bytes:
        """The page, or the first one after it that has anything for the client."""
        query = http.query.decode("latin-1")
        seen: set[str] = set()
        while True:
            own, after = (body, None) if share is None or not share.lists else await share.select(body)
            if view.listed is not None:
                own = await self.stored.completions(own, view.listed)
            after = after or view.after(own)
            if after is None or after in seen or len(seen) >= _MOST_PAGES:
                return own
            seen.add(after)
            others = [one for one in query.split("&") if one and one.partition("=")[0] not in _PLACES]
            following = "&".join([*others, "after=" + quote(after, safe="")])
            answer = await self._ask(http, upstream, caller, "GET", view.path, following)
            try:
                if answer.status >= 300 or answer.header("content-encoding") not in _READABLE:
                    return own
                body = await answer.read_all(self.settings.limits.answer)
            finally:
                answer.close()

    async def _relay(self, http: HttpRequest, answer: UpstreamResponse) -> None:
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


def _has_json(http: HttpRequest) -> bool:
    """Whether a body may name objects. Anything but an upload or a form may be read as JSON by a provider."""
    kind = (http.header(b"content-type") or "").lower()
    return http.method in ("POST", "PUT", "PATCH") and not kind.startswith(
        ("multipart/", "application/octet")
    )
