"""Identify the caller by a key of ours, a session key, or the client's own credential for the upstream."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import msgspec

from crosswind.gateway.config.sections import DEFAULT_TENANT, Key
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import CREDENTIALS, OWN_PREFIX
from crosswind.gateway.http.pages import PageGuard, is_of_browser

SESSION_KEY_PREFIX = "cw-"
QUERY_CREDENTIALS = ("key", "api_key", "api-key")
"""The query parameters in which some clients send their key."""
_CREDENTIAL = re.compile(
    rb"(?i)authorization|cookie|credential|password|passwd|secret|signature|^sig$|(?:^|[-_])(?:token|jwt|hmac)$"
    rb"|(?:^|(?<!idempotency)(?<!websocket)(?<!cache)[-_]|api)key$|(?:^|[-_])auth$|access_token|^code$"
)
"""The names of headers and of a query's parameters that hold credentials."""
_NOT_SECRET = ("realm", "uri", "qop", "algorithm", "signedheaders")
"""Parts of such a header that are none."""
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


class KeyGuard:
    """Keeps the gateway's keys for its upstreams from web pages. Whoever brings a key of ours may use them; a
    page that brings none could have anybody's browser spend them.
    """

    def __init__(self, settings: Settings) -> None:
        public = urlsplit(settings.public_url or "")
        named = (settings.host, public.hostname or "", *settings.allowed_hosts)
        own = [f"{public.scheme}://{public.netloc}"] if public.hostname else []
        self._pages = PageGuard(named, [*settings.allowed_origins, *own])
        servers = any(upstream.has_credentials for upstream in settings.every_upstream)
        self._holds_keys = servers or settings.tools.has_credentials

    def check(self, headers: Mapping[bytes, bytes], caller: Caller) -> None:
        """Raise ServiceError 403 for a page's request that would be sent with one of the gateway's keys."""
        if not self._holds_keys or caller.own or not is_of_browser(headers):
            return
        if (host := self._pages.find_foreign_host(headers)) is not None:
            raise _page_error(
                f"Host {host!r} is not this gateway's; use its address, or add the name to allowed_hosts"
            )
        if self._pages.comes_from_elsewhere(headers):
            raise _page_error(
                "requests from pages of other origins are refused, since they would use the gateway's key; "
                "add the page's origin to allowed_origins, or set `auth: keys`"
            )


def _page_error(message: str) -> ServiceError:
    return ServiceError(403, message, kind="permission_error", code="page_not_allowed")


class Authenticator:
    """Checks credentials against the configuration. Session keys are resolved later, where sessions are
    known.
    """

    def __init__(self, settings: Settings) -> None:
        self._keys: dict[str, Key] = {key.digest: key for key in settings.keys}
        self._required = settings.auth == "keys"
        self._guard = KeyGuard(settings)

    def identify(
        self,
        headers: Mapping[bytes, bytes],
        query: str = "",
        subprotocols: Iterable[str] = (),
    ) -> Caller:
        """The caller, by one of our keys if there are several credentials. ServiceError 401 if keys are
        required and none of ours was given, 403 for a page that would use the gateway's own.
        """
        caller = self._find_caller(headers, query, subprotocols)
        self._guard.check(headers, caller)
        return caller

    def _find_caller(self, headers: Mapping[bytes, bytes], query: str, subprotocols: Iterable[str]) -> Caller:
        first: str | None = None
        for credential in _credentials(headers, query, subprotocols):
            first = first or credential
            if credential.startswith(SESSION_KEY_PREFIX):
                return Caller(credential, session_key=credential)
            if self._required and (known := self._known(credential)):
                return Caller(credential, tenant=known.tenant or DEFAULT_TENANT, profile=known.profile)
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


def find_secrets(headers: Sequence[tuple[bytes, bytes]], query: bytes = b"") -> tuple[str, ...]:
    """The values of a request's headers and query that are credentials by their names: none may be stored."""
    values = [value.decode("latin-1").strip() for name, value in headers if _is_credential(name)]
    found = tuple(part for value in values for part in _split_credential(value))
    if query:
        given = parse_qsl(query.decode("latin-1"))
        found += tuple(value for name, value in given if _is_credential(name.encode("latin-1", "replace")))
    return found


@lru_cache(1024)
def _is_credential(name: bytes) -> bool:
    return _CREDENTIAL.search(name) is not None and not name.startswith(OWN_PREFIX)


def _split_credential(value: str) -> list[str]:
    """A header's value, and its parts that are secret by themselves: without the scheme, without names."""
    parts = [part.strip().partition("=") for part in re.split("[;,]", value)]
    named = [part[2].strip('" ') for part in parts if part[0].rpartition(" ")[2].lower() not in _NOT_SECRET]
    return [value, value.partition(" ")[2].strip(), *named]


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
        if (given := headers.get(name)) and (value := given.decode("latin-1").strip()):
            credential = value[7:].strip() if value[:7].lower() == "bearer " else value
            if credential:
                yield credential
    if query and any(name in query for name in QUERY_CREDENTIALS):
        parameters = dict(reversed(parse_qsl(query)))
        yield from (parameters[name] for name in QUERY_CREDENTIALS if name in parameters)
    for one in subprotocols:
        if one.startswith(_PROTOCOL_CREDENTIAL):
            yield one.removeprefix(_PROTOCOL_CREDENTIAL)
