"""Identify the caller by a key of ours, a session key, or the client's own credential for the upstream."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, unquote_plus

import msgspec

from crosswind.gateway.config.sections import Key
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import CREDENTIALS

SESSION_KEY_PREFIX = "cw-"
QUERY_CREDENTIALS = ("key", "api_key", "api-key")
"""The query parameters in which some clients send their key."""
_PROTOCOL_CREDENTIAL = "openai-insecure-api-key."
"""The beginning of the subprotocol in which a browser's WebSocket sends its key."""


class Caller(msgspec.Struct, frozen=True):
    """A request's credential, and what it means."""

    credential: str | None = None
    session_key: str | None = None
    tenant: str | None = None
    profile: str | None = None

    @property
    def own(self) -> bool:
        """Whether the credential is ours, so that the upstream must not see it."""
        return self.session_key is not None or self.tenant is not None


def new_session_key() -> str:
    """A new key. Only its digest is kept."""
    return SESSION_KEY_PREFIX + secrets.token_urlsafe(24)


def key_digest(key: str) -> str:
    """The digest by which a key is known, and from which it can't be recovered."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Authenticator:
    """Checks credentials against the configuration. Session keys are resolved later, where sessions are
    known.
    """

    def __init__(self, settings: Settings) -> None:
        self._keys: dict[str, Key] = {key.digest: key for key in settings.keys}
        self._required = settings.auth == "keys"

    def identify(
        self,
        headers: Mapping[bytes, bytes],
        query: str = "",
        subprotocols: Iterable[str] = (),
    ) -> Caller:
        """The caller, by one of our keys if there are several credentials. ServiceError 401 if keys are
        required and none of ours was given.
        """
        first: str | None = None
        for credential in _credentials(headers, query, subprotocols):
            first = first or credential
            if credential.startswith(SESSION_KEY_PREFIX):
                return Caller(credential, session_key=credential)
            if self._required and (known := self._known(credential)):
                return Caller(credential, tenant=known.tenant or "default", profile=known.profile)
        if self._required:
            raise invalid_key_error(
                "no key was given" if first is None else "the key is not one of the gateway's"
            )
        return Caller(first)

    def _known(self, credential: str) -> Key | None:
        """Look a key up by its digest, so that timing tells nothing about the key."""
        digest = key_digest(credential)
        found = self._keys.get(digest)
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None


def invalid_key_error(reason: str) -> ServiceError:
    """The error 401, with the reason and the fix."""
    return ServiceError(
        401,
        f"{reason}; give a key of the gateway's configuration (`keys`), or the session's own "
        "(`api_key` of its creation)",
        kind="authentication_error",
        code="invalid_api_key",
    )


def query_without_credentials(query: str) -> str:
    """A query without the client's keys; its other parameters keep their bytes."""
    if not any(name in query for name in QUERY_CREDENTIALS):
        return query
    return "&".join(
        pair for pair in query.split("&") if unquote_plus(pair.partition("=")[0]) not in QUERY_CREDENTIALS
    )


def protocols_without_credentials(offered: Iterable[str]) -> list[str]:
    """A WebSocket's subprotocols without those that hold a key."""
    return [one for one in offered if not one.startswith(_PROTOCOL_CREDENTIAL)]


def _credentials(headers: Mapping[bytes, bytes], query: str, subprotocols: Iterable[str]) -> Iterator[str]:
    """All credentials of a request; those in headers come first."""
    for name in CREDENTIALS:
        if value := headers.get(name, b"").decode("latin-1").strip():
            credential = value[7:].strip() if value[:7].lower() == "bearer " else value
            if credential:
                yield credential
    if query and any(name in query for name in QUERY_CREDENTIALS):
        given = dict(reversed(parse_qsl(query)))
        yield from (given[name] for name in QUERY_CREDENTIALS if name in given)
    for one in subprotocols:
        if one.startswith(_PROTOCOL_CREDENTIAL):
            yield one.removeprefix(_PROTOCOL_CREDENTIAL)
