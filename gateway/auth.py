"""Who calls: keys of ours, session keys, or the client's own credential that goes on to the upstream."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.config import Settings
from gateway.configuration.sections import Key
from gateway.errors import ServiceError
from gateway.upstream import CREDENTIALS

SESSION_KEY_PREFIX = "cw-"


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request's credential says. `forward` is the credential header's change for the upstream."""

    credential: str | None = None
    session_key: str | None = None
    tenant: str | None = None
    profile: str | None = None

    @property
    def own(self) -> bool:
        """Whether the credential is one of ours, which the upstream must not see."""
        return self.session_key is not None or self.tenant is not None


def new_session_key() -> str:
    """A key that is handed out once. Only its digest is kept."""
    return SESSION_KEY_PREFIX + secrets.token_urlsafe(24)


def key_digest(key: str) -> str:
    """The digest under which a session key is known; the key can't be had from it."""
    return hashlib.sha256(key.encode()).hexdigest()


class Authenticator:
    """Checks credentials by the configuration. Session keys are resolved later, where sessions are known."""

    def __init__(self, settings: Settings) -> None:
        self._keys: tuple[Key, ...] = settings.keys
        self._required = settings.auth == "keys"
        self._upstream_key = settings.upstream_key.get_secret_value() if settings.upstream_key else None

    def identify(self, headers: Iterable[tuple[bytes, bytes]]) -> Caller:
        """The caller. ServiceError 401 where keys are required and none of ours was given."""
        credential = _credential(headers)
        if credential and credential.startswith(SESSION_KEY_PREFIX):
            return Caller(credential, session_key=credential)
        if not self._required:
            return Caller(credential)
        for known in self._keys:
            if credential and hmac.compare_digest(credential.encode(), known.key.get_secret_value().encode()):
                return Caller(credential, tenant=known.tenant or "default", profile=known.profile)
        raise wrong_key("no key was given" if not credential else "the key is not one of the gateway's")

    def upstream_headers(self, caller: Caller) -> dict[bytes, bytes | None]:
        """Changes to the credential headers: keys of ours never go on, the upstream's own does."""
        if not (caller.own or self._required):
            return {}
        changes: dict[bytes, bytes | None] = dict.fromkeys(CREDENTIALS)
        if self._upstream_key:
            changes[b"authorization"] = b"Bearer " + self._upstream_key.encode()
        return changes


def wrong_key(reason: str) -> ServiceError:
    """401 in the protocol's shape."""
    return ServiceError(
        401,
        f"{reason}; give a key of the gateway's configuration (`keys`), or the session's own "
        "(`api_key` of its creation)",
        kind="authentication_error",
        code="invalid_api_key",
    )


def _credential(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    found = dict(reversed([(name, value) for name, value in headers if name in CREDENTIALS]))
    for name in CREDENTIALS:
        if value := found.get(name, b"").decode("latin-1").strip():
            return value[7:].strip() if value[:7].lower() == "bearer " else value
    return None
