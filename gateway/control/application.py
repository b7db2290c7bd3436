"""The control plane: a FastAPI application on its own port, protected against web pages in a browser."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from crosswind.gateway.control import profiles, sessions, versions
from crosswind.gateway.control.models import Failed
from crosswind.gateway.errors import ConfigurationError, ServiceError, openai_error
from crosswind.gateway.telemetry.access import ControlAccessLog
from crosswind.gateway.trajectory.store import StoreError
from crosswind.injectors.profiles.load import ProfileError

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway


def create_control(gateway: Gateway) -> ASGIApp:
    app = FastAPI(
        title="Crosswind control plane",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        responses={
            "4XX": {"model": Failed, "description": "What was asked for can't be done as it was asked."},
            503: {"model": Failed, "description": "What was asked for isn't on disk; ask again."},
        },
    )
    app.include_router(sessions.router(gateway))
    app.include_router(sessions.group_router(gateway))
    app.include_router(profiles.router(gateway))
    _add_reload(app, gateway)
    app.include_router(versions.router(gateway))

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", responses={503: {"model": dict[str, Any], "description": "Not in order."}})
    async def readyz(response: Response) -> dict[str, Any]:
        """Whether every worker serves, what is recorded reaches the store, and how the upstreams' replicas
        fare. Traffic goes on either way.
        """
        down, problems = gateway.store_unavailable, gateway.problems()
        response.status_code = 503 if problems else 200
        status = "store_unavailable" if down else "workers_unavailable" if problems else "ok"
        return {
            "status": status,
            "error": "; ".join(problems) or None,
            "workers": gateway.peers.workers if gateway.peers else [],
            "upstreams": gateway.upstream_states(),
        }

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Prometheus' text format."""
        return Response(await gateway.metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    _add_error_handlers(app)
    settings = gateway.settings
    guarded = Guard(app, {settings.control_host, *settings.control_allowed_hosts})
    return ControlAccessLog(guarded, lambda: gateway.settings.log.access)


def _add_reload(app: FastAPI, gateway: Gateway) -> None:
    @app.put("/api/reload")
    @app.post("/api/reload")
    async def reload() -> dict[str, list[str]]:
        """Reload the configuration, as SIGHUP does, and list the settings that changed. 400 if it can't be
        used; then nothing changes.
        """
        try:
            return {"changed": list(await gateway.reload())}
        except ConfigurationError as error:
            raise ServiceError(400, str(error), code="configuration_refused") from None


def _add_error_handlers(app: FastAPI) -> None:
    """Answer every error in OpenAI's form."""

    @app.exception_handler(ServiceError)
    async def service(_: Request, error: ServiceError) -> Response:
        return _make_error_response(error.status, error.message, error.kind, error.code, error.param)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"] if part != "body")
        return _make_error_response(
            400, f"{where or 'body'}: {problem['msg']}", "invalid_request_error", "invalid", where or None
        )

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        return _make_error_response(
            error.status_code, str(error.detail), "invalid_request_error", "not_found"
        )

    @app.exception_handler(StoreError)
    async def store(_: Request, error: StoreError) -> Response:
        return _make_error_response(503, str(error), "server_error", "store_unavailable")

    @app.exception_handler(ValueError)
    async def value(_: Request, error: ValueError) -> Response:
        unknown = isinstance(error, ProfileError) and str(error).startswith("unknown profile")
        return _make_error_response(404 if unknown else 400, str(error), "invalid_request_error", "invalid")

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> Response:
        return _make_error_response(
            500, f"{type(error).__name__}; see the gateway's log", "server_error", "internal"
        )


def _make_error_response(
    status: int, message: str, kind: str, code: str | None, param: str | None = None
) -> Response:
    return Response(
        openai_error(message, kind=kind, code=code, param=param),
        status,
        media_type="application/json",
    )


class Guard:
    """Accepts only requests addressed to this host, and none from pages of other sites.

    IP addresses, localhost and the configured names are this host's. A page that rebinds its own name to our
    address (DNS rebinding) is refused.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = {"localhost", *hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reason = self._find_refusal(dict(scope["headers"])) if scope["type"] == "http" else None
        if reason is None:
            await self._app(scope, receive, send)
        else:
            await _make_error_response(403, reason, "permission_error", "forbidden")(scope, receive, send)

    def _find_refusal(self, headers: dict[bytes, bytes]) -> str | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_own_name(_split_url(f"//{host}").hostname or ""):
            return (
                f"Host {host!r} is not this control plane's; "
                "use its address, or add the name to control_allowed_hosts"
            )
        origin = headers.get(b"origin")
        if origin is not None and _split_url(origin.decode("latin-1")).netloc != host:
            return "requests from pages of other origins are refused"
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            return "requests from pages of other sites are refused"
        return None

    def _is_own_name(self, name: str) -> bool:
        if name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True


def _split_url(url: str) -> SplitResult:
    """Split a URL; an invalid one gives empty parts, which match no host."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
