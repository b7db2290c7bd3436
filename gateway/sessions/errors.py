"""Errors about a session, which each protocol puts into its own shape."""

from __future__ import annotations

from crosswind.gateway.config.sections import DEFAULT_TENANT
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.trajectory.record import Session, SessionStatus
from crosswind.gateway.trajectory.store import StoreError


def unknown_session(session_id: str | None) -> ServiceError:
    """404: none was named, or the named one is unknown, deleted or another tenant's. Which of these isn't
    told: whoever guesses ids would learn which were used.
    """
    if session_id is None:
        message = "no session was named; open one first (POST /api/sessions), or set `sessions: open`"
    else:
        message = (
            f"unknown session {session_id!r}: it was never opened, was deleted, or isn't yours; name another "
            "one, or open one (POST /api/sessions)"
        )
    return ServiceError(404, message, code="session_not_found")


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
