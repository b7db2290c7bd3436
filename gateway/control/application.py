"""The control plane: a FastAPI application on its own port, protected against web pages in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from crosswind.gateway.config.sections import Role
from crosswind.gateway.control import drills, profiles, sessions, tool_events, tools, versions
from crosswind.gateway.control.access import Access, Visiting
from crosswind.gateway.control.body_limit import BodyLimit
from crosswind.gateway.control.errors import make_error_response
from crosswind.gateway.control.models import Failed
from crosswind.gateway.errors import ConfigurationError, ServiceError
from crosswind.gateway.http.pages import PageGuard
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
        # For the description only: `Access` checks the key.
        dependencies=[Depends(HTTPBearer(auto_error=False, description="A key of the control plane."))],
        responses={
            "4XX": {"model": Failed, "description": "What was asked for can't be done as it was asked."},
            503: {"model": Failed, "description": "What was asked for isn't on disk; ask again."},
        },
    )
    app.include_router(sessions.router(gateway))
    app.include_router(sessions.group_router(gateway))
    app.include_router(tool_events.router(gateway))
    app.include_router(profiles.router(gateway))
    app.include_router(drills.router(gateway))
    _add_reload(app, gateway)
    app.include_router(versions.router(gateway))
    app.include_router(tools.router(gateway))

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", responses={503: {"model": dict[str, Any], "description": "Not in order."}})
    async def readyz(response: Response, visitor: Visiting) -> dict[str, Any]:
        """Whether every worker serves and what is recorded reaches the store. The upstreams' replicas are
        listed, but a dead upstream doesn't make the gateway unready. Without a key, where one is needed, only
        the status is told.
        """
        down, problems = gateway.store_unavailable, gateway.problems()
        response.status_code = 503 if problems else 200
        status = "store_unavailable" if down else "workers_unavailable" if problems else "ok"
        if visitor.tenant is not None or not visitor.may(Role.READ):
            return {"status": status}
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
    limited = BodyLimit(app, lambda: gateway.settings.limits.control_body)
    access = Access(limited, lambda: gateway.settings)
    guarded = Guard(access, {settings.control_host, *settings.control_allowed_hosts})
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
        return make_error_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        no_json = problem["type"] == "json_invalid" or problem["loc"] == ("body",)
        where = "" if no_json else ".".join(str(part) for part in problem["loc"] if part != "body")
        message = _describe_body(request) if no_json else f"{where or 'body'}: {problem['msg']}"
        return make_error_response(ServiceError(400, message, code="invalid", param=where or None))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        return make_error_response(ServiceError(error.status_code, str(error.detail), code="not_found"))

    @app.exception_handler(StoreError)
    async def store(_: Request, error: StoreError) -> Response:
        return make_error_response(
            ServiceError(503, str(error), kind="server_error", code="store_unavailable")
        )

    @app.exception_handler(ValueError)
    async def value(_: Request, error: ValueError) -> Response:
        unknown = isinstance(error, ProfileError) and str(error).startswith("unknown profile")
        return make_error_response(ServiceError(404 if unknown else 400, str(error), code="invalid"))

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> Response:
        message = f"{type(error).__name__}; see the gateway's log"
        return make_error_response(ServiceError(500, message, kind="server_error", code="internal"))


class Guard:
    """Accepts only requests addressed to this host, and none from pages of other sites."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._pages = PageGuard(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reason = self._find_refusal(dict(scope["headers"])) if scope["type"] == "http" else None
        if reason is None:
            await self._app(scope, receive, send)
        else:
            refused = ServiceError(403, reason, kind="permission_error", code="forbidden")
            await make_error_response(refused)(scope, receive, send)

    def _find_refusal(self, headers: dict[bytes, bytes]) -> str | None:
        if (host := self._pages.find_foreign_host(headers)) is not None:
            return (
                f"Host {host!r} is not this control plane's; "
                "use its address, or add the name to control_allowed_hosts"
            )
        if self._pages.comes_from_elsewhere(headers):
            return "requests from pages of other origins are refused"
        return None


def _describe_body(request: Request) -> str:
    """What to send to a route that got no body, or one that isn't JSON."""
    message = "body: send a JSON object, with `content-type: application/json`"
    field = getattr(request.scope.get("route"), "body_field", None)
    model = field.field_info.annotation if field is not None else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return message
    schema = model.model_json_schema()
    examples = schema.get("examples")
    return message + (f", such as {json.dumps(examples[0])}" if examples else "")
