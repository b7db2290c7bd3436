"""Requests to servers of tools: find the server and the session, and hand over to its protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Literal

import msgspec
import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.headers import VIA, Changes, Headers
from crosswind.gateway.http.request import ClientGone, HttpRequest
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.proxy.routes import Entry, read_claim
from crosswind.gateway.proxy.tool_legs import SessionTools, ToolLegs
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.inference import SessionHints
from crosswind.gateway.sessions.session import LiveSession, SessionClaim
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.upstreams.request import Body, UpstreamRequest
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.tool_servers import NamedServer, ServerKind, ToolServers

_log = structlog.get_logger("crosswind.tools")
_JSON_RPC_ERRORS = {400: -32600, 404: -32600}
_INTERNAL_ERROR = -32603


@dataclass(slots=True, eq=False)
class ToolRequest:
    """A request to a server of tools, with what was found for it."""

    http: HttpRequest
    server: NamedServer
    path: str
    """Behind the server's name, with the query."""
    caller: Caller
    session: LiveSession
    tools: SessionTools
    redactor: Redactor
    spared: bool
    """The client asks for no noise."""
    legs: ToolLegs
    settings: Settings

    def allow_noise(self) -> None:
        self.legs.allow_noise(self.tools, self.session, spared=self.spared)

    async def record(self) -> None:
        """Write what the leg has done since the last time."""
        trace = self.http.header(b"traceparent")
        await self.legs.record(self.session, self.tools, self.redactor, self.settings.durability, trace)

    async def send(self, body: Body, changes: Changes) -> UpstreamResponse:
        """Send it on with this body, and wait for the response's head. Raises UpstreamError."""
        upstream, http = self.server.upstream, self.http
        headers = upstream.headers(http.headers, self.caller, changes)
        path = upstream.path(self.path, http.query.decode("latin-1"), self.caller)
        return await upstream.send(UpstreamRequest(http.method, path, headers, body), self.session.record.id)

    def stream_body(self) -> Body:
        """The request's body as it arrives, where it has one."""
        length, encoding = self.http.header(b"content-length"), self.http.header(b"transfer-encoding")
        return None if length in (None, "0") and encoding is None else self.http.chunks


class ToolProtocol:
    """One of the protocols that servers of tools speak."""

    async def exchange(self, request: ToolRequest) -> int:
        """Send the request on, and relay the answer; gives the status."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ToolRoutes:
    """Serves the routes of tool traffic."""

    settings: Settings
    servers: ToolServers
    sessions: Sessions
    redactor: Redactor
    metrics: Metrics
    legs: ToolLegs
    protocols: dict[ServerKind, ToolProtocol]
    peers: Peers | None = None

    async def serve(
        self, http: HttpRequest, entry: Entry, admit: Callable[[HttpRequest, Entry], Caller]
    ) -> int | None:
        """Answer a request; gives the status, or None where another process answers. An error has the form of
        the server's protocol.
        """
        kind = ServerKind(entry.route.kind)
        try:
            caller = admit(http, entry)
            name, slash, path = str(entry.route.path).removeprefix("/").partition("/")
            server = self.servers.find(kind, name, await self.sessions.tenant_of(caller))
            self._refuse_own(http, server)
            path = self._check_path(kind, name, path)
            claim = read_claim(http, entry.route, caller, self.settings)
            owner = await self._find_owner(claim)
            if owner is not None and self._hand_on(http, owner):
                return None
            session, _ = await self.sessions.find(claim, SessionHints())
        except ServiceError as error:
            return await self._answer_error(http, kind, error, self.redactor.of_turn(entry.secrets))
        redactor = self.redactor.of_turn(entry.secrets, session.remains)
        session.busy += 1
        try:
            tools = await self.legs.find(session, self.settings.limits.live_sessions, owned=owner is None)
            tools.leg.may_repeat[name] = server.settings.may_repeat
            request = ToolRequest(
                http=http,
                server=server,
                path=f"/{path}" if slash and (path or kind is ServerKind.API) else "",
                caller=caller,
                session=session,
                tools=tools,
                redactor=redactor,
                spared=self.settings.steering and entry.spared,
                legs=self.legs,
                settings=self.settings,
            )
            return await self._exchange(kind, request)
        finally:
            self.sessions.release(session)

    async def _exchange(self, kind: ServerKind, request: ToolRequest) -> int:
        http = request.http
        try:
            return await self.protocols[kind].exchange(request)
        except ServiceError as error:
            self.metrics.count_failure(error)
            if http.started:
                # Without an end the server cuts the connection, as the client would have seen it.
                _log.warning(
                    "a server of tools broke off its answer", error=request.redactor.mask_name(error.message)
                )
                http.cut()
                return error.status
            return await self._answer_error(http, kind, error, request.redactor)
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        finally:
            await asyncio.shield(request.record())

    def _refuse_own(self, http: HttpRequest, server: NamedServer) -> None:
        """Refuse what goes in a circle, and what would show the client the server's key."""
        if http.method == "TRACE":
            told = "TRACE isn't passed on: its answer would show the server's key"
            raise ServiceError(405, told, code="method_not_allowed")
        if server.upstream.mark in http.first.get(VIA, b""):
            raise ServiceError(
                508,
                f"{server.name!r} ({server.settings.url}) leads back to this gateway; give its own URL",
                code="upstream_loop",
            )

    @staticmethod
    def _check_path(kind: ServerKind, name: str, path: str) -> str:
        """The path behind the server's own. An MCP server is one address: what lies below it would be reached
        with the server's key, and nobody named it. ServiceError 404 for that.
        """
        if kind is ServerKind.MCP and path:
            raise ServiceError(
                404,
                f"an MCP server is one address, /mcp/{name}; leave out what follows it",
                code="not_found",
            )
        return path

    async def _find_owner(self, claim: SessionClaim) -> int | None:
        """The other worker that serves the session's tool traffic; None: this one does."""
        session_id = await self.sessions.named(claim)
        if session_id is None:
            raise ServiceError(
                400,
                "this request names no session; put /s/SESSION before its path, send X-Crosswind-Session, "
                "or use a session's key",
                code="session_missing",
            )
        owner = None if self.peers is None else self.peers.owner(session_id)
        return None if self.peers is None or owner == self.peers.number else owner

    def _hand_on(self, http: HttpRequest, owner: int) -> bool:
        """Give the request to the worker that knows the session's calls; False where that can't be."""
        send = None if self.peers is None else self.peers.hand_on
        return send is not None and http.hand_on(partial(send, owner))

    async def _answer_error(
        self, http: HttpRequest, kind: ServerKind, error: ServiceError, redactor: Redactor
    ) -> int:
        message = redactor.mask_name(error.message)
        _log.info("answered with an error", status=error.status, error_code=error.code, error=message)
        if kind is ServerKind.MCP:
            code = _JSON_RPC_ERRORS.get(error.status, _INTERNAL_ERROR)
            said = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
            body, media = msgspec.json.encode(said), b"application/json"
        else:
            body, media = problem(error.status, message), b"application/problem+json"
        marker = [(b"x-crosswind-error", error.code.encode())] if self.settings.markers else []
        if not http.started:
            await http.answer(error.status, body, [(b"content-type", media), *marker, *error.headers])
        return error.status


def problem(status: int, detail: str) -> bytes:
    """A problem's body (RFC 9457)."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    said = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return json.dumps(said, ensure_ascii=False).encode()


async def close_early(
    http: HttpRequest, how: Literal["cut", "reset", "end"], sent: bytes, headers: Headers
) -> None:
    """Close the client's connection as a fault says, after these bytes of the body. `headers`: of the whole
    answer, if none was begun.
    """
    if how == "end":
        if http.started:
            return await http.end(sent)
        counted = [field for field in headers if field[0].lower() != b"content-length"]
        return await http.answer(200, sent, counted)
    if sent:
        if not http.started:
            await http.start(200, headers)
        await http.chunk(sent)
    http.cut(reset=how == "reset")
