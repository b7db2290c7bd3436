"""Who may do what on the control plane: keys with roles, each for all sessions or for one tenant's."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from crosswind.gateway.config.sections import Role
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.control.errors import make_error_response
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import key_digest
from crosswind.gateway.trajectory.record import Session

_OPEN_PATHS = ("/healthz", "/readyz")
"""For probes, which have no key."""
_FOR_ADMINS = ("/api/reload", "/api/tools")
"""To change."""
_ROLES = tuple(Role)


class Visitor(msgspec.Struct, frozen=True):
    """Who makes a request: a role, None without a valid key, and the tenant that it is for; None: all."""

    role: Role | None
    tenant: str | None = None

    def may(self, role: Role) -> bool:
        return self.role is not None and _ROLES.index(self.role) >= _ROLES.index(role)

    def sees(self, session: Session) -> bool:
        return self.tenant is None or session.tenant == self.tenant

    def of_tenant(self, named: str | None) -> str | None:
        """The tenant that a request is about. ServiceError 403 if it isn't the visitor's."""
        if self.tenant is not None and named not in (None, self.tenant):
            raise ServiceError(
                403,
                f"this key is for the tenant {self.tenant!r}; leave `tenant` out, or use another key",
                kind="permission_error",
                code="tenant_not_allowed",
                param="tenant",
            )
        return self.tenant or named


EVERYTHING = Visitor(Role.ADMIN)
NOBODY = Visitor(None)


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


Visiting = Annotated[Visitor, Depends(_visitor)]


class Access:
    """Lets requests through by their keys, or by none where none is configured."""

    def __init__(self, app: ASGIApp, settings: Callable[[], Settings]) -> None:
        self._app = app
        self._settings = settings
        self._read: Settings | None = None
        self._visitors: Mapping[str, Visitor] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                scope.setdefault("state", {})["visitor"] = self._admit(scope)
            except ServiceError as error:
                await make_error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> Visitor:
        """The visitor, if its key allows the request. ServiceError 401 or 403 if not."""
        visitor = self._identify(dict(scope["headers"]))
        method, path = scope["method"], scope["path"]
        if path in _OPEN_PATHS:
            return visitor
        if visitor.role is None:
            raise ServiceError(
                401,
                "the control plane needs a key; send `Authorization: Bearer KEY` (control_key= of the "
                "clients, or the variable CROSSWIND_CONTROL_KEY)",
                kind="authentication_error",
                code="invalid_control_key",
                headers=[(b"www-authenticate", b"Bearer")],
            )
        role = find_role(method, path)
        if not visitor.may(role):
            raise _make_role_error(
                f"{method} {path} needs a key of the role {role.value!r}; "
                f"this one's is {visitor.role.value!r}"
            )
        if visitor.tenant is not None and not _concerns_one_tenant(method, path):
            raise _make_role_error(f"{method} {path} concerns all tenants; use a key without a tenant")
        return visitor

    def _identify(self, headers: Mapping[bytes, bytes]) -> Visitor:
        settings = self._settings()
        if settings is not self._read:
            self._visitors, self._read = _list_visitors(settings), settings
        if not self._visitors:
            return EVERYTHING
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        digest = key_digest(key.strip())
        # Digests are compared, so that timing tells nothing about the key.
        found = next((one for one in self._visitors if hmac.compare_digest(one, digest)), None)
        return NOBODY if found is None or scheme.lower() != "bearer" else self._visitors[found]


def _list_visitors(settings: Settings) -> Mapping[str, Visitor]:
    """The visitors by their keys' digests."""
    found = {key.digest: Visitor(key.role, key.tenant) for key in settings.control_keys}
    if settings.control_key is not None:
        found[key_digest(settings.control_key.get_secret_value())] = EVERYTHING
    return found


def find_role(method: str, path: str) -> Role:
    """The role that a request needs. What nobody thought of is a change, and needs the role for changes."""
    if method in ("GET", "HEAD"):
        return Role.READ
    return Role.ADMIN if method == "DELETE" or path in _FOR_ADMINS else Role.OPERATE


def _concerns_one_tenant(method: str, path: str) -> bool:
    """Whether a key of one tenant suffices: for its sessions, and to read what all share."""
    if path == "/api/sessions" or path.startswith("/api/sessions/"):
        return True
    shared = (
        *("/api/profiles", "/api/operators", "/api/curriculum", "/api/noise", "/api/groups/deleted"),
        "/openapi.json",
    )
    return method in ("GET", "HEAD") and path.startswith(shared)


def _make_role_error(message: str) -> ServiceError:
    return ServiceError(403, message, kind="permission_error", code="control_key_not_allowed")
