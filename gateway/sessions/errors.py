"""Errors about a session, which each protocol puts into its own shape."""

from __future__ import annotations

from crosswind.gateway.config.settings import DEFAULT_TENANT
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.trajectory.record import Session, SessionStatus
from crosswind.gateway.trajectory.store import StoreError


def unknown_session(session_id: str | None) -> ServiceError:
    """404: the session is unknown, or none was named."""
    what = "no session was named" if session_id is None else f"unknown session {session_id!r}"
    return ServiceError(
        404, f"{what}; open one first (POST /api/sessions), or set `sessions: open`", code="session_not_found"
    )


def deleted_session(session_id: str) -> ServiceError:
    """404: the session was deleted, and its id is not used again so soon."""
    return ServiceError(
        404,
        f"session {session_id!r} was deleted; name another one, or open one (POST /api/sessions)",
        code="session_not_found",
    )


def closed_session(session_id: str) -> ServiceError:
    """409: the session is closed."""
    return ServiceError(
        409, f"session {session_id!r} is closed; open another one (POST /api/sessions)", code="session_closed"
    )


def store_down(error: StoreError) -> ServiceError:
    """503: the store can't be read."""
    return ServiceError(
        503, f"the store can't be read: {error}", kind="server_error", code="store_unavailable"
    )


def refuse(session: Session, tenant: str | None) -> None:
    """Raise ServiceError 404 if a session is another tenant's, as for an unknown one; 409 if it is closed."""
    if tenant is not None and (session.tenant or DEFAULT_TENANT) != tenant:
        raise unknown_session(session.id)
    if session.status is SessionStatus.CLOSED:
        raise closed_session(session.id)
