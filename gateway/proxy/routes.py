"""Read a request's head: its route, and what it says about its session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import msgspec
import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.body import RequestBody
from crosswind.gateway.http.control_characters import has_control_characters
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.noise.kill_switch import may_ask_for
from crosswind.gateway.protocols.codec import Codec, api_roots, codec_of_client, find_codec
from crosswind.gateway.protocols.request import NO_PARAMETERS, SplitBody
from crosswind.gateway.recorder.redaction import SHORTEST, holds_secret
from crosswind.gateway.sessions.inference import SessionHints, read_hints
from crosswind.gateway.sessions.session import SessionClaim
from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.injectors.identity import digest

PASS = "pass_through"
HEALTH = "health"
NONE = "none"

_STEERING = tuple(b"x-crosswind-" + name for name in (b"profile", b"seed", b"task", b"group", b"noise"))
_log = structlog.get_logger("crosswind.proxy")
_ROUTE = re.compile(r"(?:/s/(?P<session>[^/]+))?(?P<root>/[^/]+)(?P<path>/.*)?\Z", re.DOTALL)
_DOTS = re.compile(rb"[/\\]\.{1,2}(?:[/\\;]|\Z)")
"""Steps that would lead out of the API's root, or of the upstream's base path, in a decoded path."""
_SEED = re.compile(r"[0-9]{1,18}\Z")
_SESSION_ID = re.compile(r"[^/]{1,200}\Z", re.DOTALL)


class Route(msgspec.Struct, frozen=True):
    """`path`: the part behind the API's root (`/v1`), unchanged; None if there is no such route."""

    kind: str
    path: str | None = None
    session_id: str | None = None
    codec: Codec | None = None
    parameters: Mapping[str, str] = NO_PARAMETERS
    """The named groups of the codec's path."""
    shape: Codec | None = None
    """The protocol in which the client understands errors; None: OpenAI's, which most protocols share."""


def find_route(http: HttpRequest) -> Route:
    if http.raw_path == b"/healthz":
        return Route(HEALTH, "/healthz")
    found = _ROUTE.match(http.raw_path.decode("latin-1"))
    if found is None or found["root"] not in api_roots() or _DOTS.search(unquote_to_bytes(http.raw_path)):
        return Route(NONE, shape=codec_of_client(http.first, ""))
    path = found["path"] or ""
    session = found["session"]
    session = unquote_to_bytes(session.encode("latin-1")).decode("utf-8", "replace") if session else None
    # Some upstreams accept a trailing slash, so such a request is a turn too.
    matched = find_codec(found["root"] + path.removesuffix("/")) if http.method == "POST" else None
    if matched is None:
        return Route(PASS, path, session, shape=codec_of_client(http.first, path))
    codec, parameters = matched
    return Route(codec.name, path, session, codec, parameters, codec)


def read_claim(http: HttpRequest, route: Route, caller: Caller, settings: Settings) -> SessionClaim:
    """What the request says about its session: the path goes before the header, the header before the key.

    ServiceError 400 for an id that can't be one, 403 for a profile beyond the operator's cap.
    """
    session_id = _name(route.session_id or http.header(b"x-crosswind-session"), caller)
    unusable = session_id is not None and (
        has_control_characters(session_id) or not _SESSION_ID.match(session_id)
    )
    if unusable:
        raise ServiceError(
            400,
            # Not the id itself, since it may be a credential that came to stand in its place.
            "this session id can't be used; give 1 to 200 characters, without slashes and control characters",
            code="invalid_session_id",
        )
    identity = "path" if route.session_id else "header"
    if not settings.steering:
        _tell_ignored(http)
        return SessionClaim(session_id, identity, caller)
    return SessionClaim(
        session_id,
        identity,
        caller,
        profile=_profile(http, settings),
        seed=_seed(http, settings),
        task_id=_label(http.header(b"x-crosswind-task"), caller),
        group_id=_label(http.header(b"x-crosswind-group"), caller),
    )


def _tell_ignored(http: HttpRequest) -> None:
    if ignored := [name.decode() for name in _STEERING if name in http.first]:
        _log.warning("headers that steer noise are ignored; set steering: true to heed them", headers=ignored)


class IncomingCall(msgspec.Struct, frozen=True):
    """A request as received, before its session is known."""

    http: HttpRequest
    route: Route
    codec: Codec
    caller: Caller
    upstream: Upstream
    body: RequestBody

    @property
    def counted_retry(self) -> bool:
        """Whether the client marks the request as a retry."""
        retries = self.http.first.get(b"x-stainless-retry-count", b"")
        return retries.isdigit() and retries.strip(b"0") != b""

    @property
    def trace(self) -> tuple[tuple[str, str], ...]:
        """The client's trace context (W3C)."""
        found = ((name, self.http.header(name.encode())) for name in ("traceparent", "tracestate"))
        return tuple((name, value) for name, value in found if value is not None)

    @property
    def idempotency_key(self) -> str | None:
        key = self.http.first.get(b"idempotency-key")
        return None if key is None else digest(key.decode("latin-1").strip())

    def hints(self, split: SplitBody) -> SessionHints:
        """The hints by which its session is inferred. A retry may come under the same idempotency key."""
        named, body = self.idempotency_key, self.body.body
        key = content_key(body if named is None else b"%b\0%b" % (named.encode(), body))
        return read_hints(split, self.codec, key, counted=self.counted_retry, keyed=named is not None)


def _name(given: str | None, caller: Caller) -> str | None:
    """A name as given. ServiceError 400 where the caller's key is in it: names are stored and logged."""
    if given is None or len(given) < SHORTEST:
        return given
    key = caller.credential
    if (key is not None and len(key) >= SHORTEST and key in given) or holds_secret(given):
        raise ServiceError(
            400,
            "the name of a session, task or group has a key in it; give a name that is no secret",
            code="secret_in_name",
        )
    return given


def _label(given: str | None, caller: Caller) -> str | None:
    """The name of a task or a group. ServiceError 400 as for `_name`, and for control characters."""
    if given is not None and has_control_characters(given):
        raise ServiceError(
            400,
            "the name of a task or group has a control character in it; leave it out",
            code="invalid_name",
        )
    return _name(given, caller)


def _profile(http: HttpRequest, settings: Settings) -> str | None:
    profile = http.header(b"x-crosswind-profile")
    if profile is not None and not may_ask_for(settings, profile):
        raise ServiceError(
            403,
            f"profile {profile!r} is beyond what clients may ask for; leave X-Crosswind-Profile out, "
            "or add it to steering_cap.profiles",
            kind="permission_error",
            code="profile_not_allowed",
        )
    return profile


def _seed(http: HttpRequest, settings: Settings) -> int | None:
    seed = http.header(b"x-crosswind-seed")
    if seed is None or not settings.steering_cap.seed:
        return None
    if not _SEED.match(seed):
        raise ServiceError(400, "X-Crosswind-Seed has no seed; give 1 to 18 digits", code="invalid_seed")
    return int(seed)
