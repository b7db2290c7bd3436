"""WebSockets under /v1 (the Responses API's mode, Realtime): frames are relayed as they are, both ways.

Nothing in them is perturbed or recorded; the session, where one is named, is labelled `ws_unperturbed`. Pings
are answered on each leg separately.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs

import structlog
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import (
    Authenticator,
    Caller,
    find_secrets,
    protocols_without_credentials,
)
from crosswind.gateway.http.headers import VIA, Headers
from crosswind.gateway.http.request import JSON, ClientGone, HttpRequest
from crosswind.gateway.http.websocket import WebSocketConnection
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.proxy.provider_objects import find_item_id
from crosswind.gateway.proxy.provider_ownership import ProviderOwnership
from crosswind.gateway.proxy.routes import MCP, TOOLS, Route, find_route, read_claim
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.inference import SessionHints
from crosswind.gateway.sessions.session import SessionClaim
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.telemetry.access import log_request
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.record import Row, SessionMarked
from crosswind.gateway.turn.recording import find_answer_ids
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.websockets")

LABEL = "ws_unperturbed"
_KIND = "websocket"
_HANDSHAKE = "sec-websocket-"
_UNSAID = (1005, 1006)
"""Codes for a missing code or a lost connection, which can't be sent."""
_GOING_AWAY, _BAD_GATEWAY = 1001, 1014


@dataclass(frozen=True, slots=True)
class WebSockets:
    """Relays WebSockets, or refuses them (`websockets: refuse`)."""

    settings: Settings
    upstreams: Upstreams
    sessions: Sessions
    authenticator: Authenticator
    redactor: Redactor
    recorder: Recorder
    metrics: Metrics
    ownership: ProviderOwnership | None = None
    """Where tenants share a provider's account."""

    async def serve(self, http: HttpRequest) -> None:
        """Answer a handshake, and relay what follows."""
        route = find_route(http)
        status, started = "101", time.monotonic()
        self.metrics.in_flight += 1
        try:
            await self._relay(http, route)
        except ServiceError as error:
            status = str(error.status)
            self.metrics.count_failure(error)
            secrets = find_secrets(http.headers, http.query)
            error.message = self.redactor.of_turn(secrets).mask_name(error.message)
            _log.info(
                "a WebSocket was refused", status=error.status, error_code=error.code, error=error.message
            )
            if not http.started:
                headers = [*JSON, *error.headers, (b"connection", b"close")]
                await http.answer(error.status, error.body(), headers)
        except ClientGone:
            status = "gone"
        finally:
            self.metrics.in_flight -= 1
            self.metrics.count_request(_KIND, status)
            if self.settings.log.access:
                log_request("data", http.method, _KIND, status, started)

    async def _relay(self, http: HttpRequest, route: Route) -> None:
        offered = _read_subprotocols(http)
        client = WebSocketConnection(http.head, self.settings.limits.body)
        if route.path is None:
            raise ServiceError(404, "no such route; the API is under /v1", code="not_found")
        if route.kind in (MCP, TOOLS):
            raise ServiceError(
                426,
                "servers of tools aren't reached by WebSocket; use HTTP",
                code="websockets_refused",
                headers=[(b"upgrade", b"HTTP/1.1")],
            )
        if self.settings.websockets == "refuse":
            raise ServiceError(
                426,
                "WebSockets are refused here (`websockets: refuse`); use HTTP",
                code="websockets_refused",
                headers=[(b"upgrade", b"HTTP/1.1")],
            )
        self.upstreams.refuse_own(http.first.get(VIA))
        query = http.query.decode("latin-1")
        caller = self.authenticator.identify(http.first, query, offered)
        claim = read_claim(http, route, caller, self.settings)
        session = await self._label_session(claim)
        upstream = self._upstream(route.path, query)
        outgoing = UpstreamRequest(
            "GET",
            upstream.path(route.path, query, caller),
            _without_handshake(upstream.headers(http.headers, caller, {})),
            None,
        )
        protocols = protocols_without_credentials(offered) if caller.own else offered
        limit = self.settings.limits.body
        async with upstream.open_websocket(outgoing, protocols, limit, session) as far:
            guarded = await self._guard(client, caller, session)
            http.accept_websocket(client, far.subprotocol)
            try:
                await _pump(far, guarded)
            finally:
                client.end()

    def _upstream(self, path: str, query: str) -> Upstream:
        """The upstream of the model in the query, as Realtime has it, else of the path."""
        models = parse_qs(query).get("model")
        return self.upstreams.for_model(models[0]) if models else self.upstreams.for_path(path)

    async def _label_session(self, claim: SessionClaim) -> str | None:
        """Label the session that the request names, in memory and on record. None where it names none."""
        if claim.session_id is None and claim.caller.session_key is None:
            return None
        session, _ = await self.sessions.find(claim, SessionHints())
        name = session.record.id
        if LABEL not in session.record.labels:
            rows: list[Row] = [SessionMarked(name, labels={LABEL: True})]
            session.mark(labels={**session.record.labels, LABEL: True})
            if session.unwritten:
                session.unwritten = False
                rows = [session.record]
            self.recorder.offer(rows)
        return name

    async def _guard(self, client: WebSocketConnection, caller: Caller, session_id: str | None) -> Client:
        """The client's side, with the tenant's objects kept apart from other tenants' where they share an
        account.
        """
        if self.ownership is None:
            return client
        tenant = caller.tenant
        if tenant is None:
            session = await self.sessions.get(session_id) if session_id is not None else None
            tenant = (session.record.tenant if session is not None else None) or ""
        return _TenantFrames(client, self.ownership, tenant)


class Client(Protocol):
    """The client's side of a relayed WebSocket."""

    @property
    def close_code(self) -> int:
        """The code with which it was closed."""

    @property
    def close_reason(self) -> str:
        """The reason for which it was closed."""

    async def receive(self) -> str | bytes | None:
        """The next message; None once it is closed."""

    async def send(self, message: str | bytes) -> None:
        """Send a message."""

    async def close(self, code: int, reason: str = "") -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class _TenantFrames:
    """A client's frames: one that names another tenant's object is answered with an error event."""

    _client: WebSocketConnection
    ownership: ProviderOwnership
    tenant: str
    _seen: set[str] = field(default_factory=set)
    _items: set[str] = field(default_factory=set)
    """Those of this connection's own conversation, which no other can name."""

    @property
    def close_code(self) -> int:
        return self._client.close_code

    @property
    def close_reason(self) -> str:
        return self._client.close_reason

    async def receive(self) -> str | bytes | None:
        while (message := await self._client.receive()) is not None:
            try:
                await self.ownership.check_body(message, self.tenant, self._items)
            except ServiceError as error:
                event = {**decode(error.body()), "type": "error", "status": error.status}
                await self._client.send(encode(event).decode())
            else:
                break
        return message

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, str):
            event = message.encode("utf-8", "surrogatepass")
            if (item := find_item_id(event)) is not None:
                self._items.add(item)
            new = find_answer_ids(event) - self._seen
            self._seen.update(new)
            await self.ownership.keep(new, self.tenant)
        await self._client.send(message)

    async def close(self, code: int, reason: str = "") -> None:
        await self._client.close(code, reason)


async def _pump(far: ClientConnection, client: Client) -> None:
    """Relay until one side closes, then close the other in the same way."""
    up, down = asyncio.create_task(_up(far, client)), asyncio.create_task(_down(far, client))
    try:
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _up(far: ClientConnection, client: Client) -> None:
    while (message := await client.receive()) is not None:
        await far.send(message)
    code = _GOING_AWAY if client.close_code in _UNSAID else client.close_code
    await far.close(code, client.close_reason)


async def _down(far: ClientConnection, client: Client) -> None:
    try:
        while True:
            await client.send(await far.recv())
    except ConnectionClosed as closed:
        if closed.rcvd is None:
            await client.close(_BAD_GATEWAY)
        else:
            code = 1000 if closed.rcvd.code in _UNSAID else closed.rcvd.code
            await client.close(code, closed.rcvd.reason)


def _read_subprotocols(http: HttpRequest) -> list[str]:
    """The subprotocols that a WebSocket's handshake offers."""
    values = [value for name, value in http.headers if name == b"sec-websocket-protocol"]
    return [one.strip() for value in values for one in value.decode("latin-1").split(",")]


def _without_handshake(headers: Headers) -> Headers:
    return [(name, value) for name, value in headers if not name.decode("latin-1").startswith(_HANDSHAKE)]
