"""Which route a request takes, and what it says about its session."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import msgspec

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.asgi import Http
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.noise.kill_switch import may_ask_for
from crosswind.gateway.protocols.codec import Codec, codecs
from crosswind.gateway.recorder.redaction import SHORTEST
from crosswind.gateway.sessions.claim import Claim

PASS = "pass_through"
HEALTH = "health"
NONE = "none"
MESSAGES = "/messages"

_ROUTE = re.compile(rb"(?:/s/(?P<session>[^/]+))?/v1(?P<path>/.*)?\Z", re.DOTALL)
_DOTS = re.compile(rb"/(?:\.|%2e){1,2}(?:/|\Z)", re.IGNORECASE)
"""Steps that would lead out of /v1, or of the upstream's base path."""
_SEED = re.compile(r"[0-9]{1,18}\Z")
_SESSION_ID = re.compile(r"[^\x00-\x1f\x7f/]{1,200}\Z")


class Route(msgspec.Struct, frozen=True):
    """`path` is what follows `/v1`, as it stands; None where there is no such route."""

    kind: str
    path: str | None = None
    session_id: str | None = None
    codec: Codec | None = None
    shape: Codec | None = None
    """Whose errors the client understands; None: OpenAI's, which most protocols share."""


def route_of(http: Http) -> Route:
    """The route of a request, by its path and method."""
    if http.raw_path == b"/healthz":
        return Route(HEALTH, "/healthz")
    found = _ROUTE.match(http.raw_path)
    if found is None or _DOTS.search(http.raw_path):
        return Route(NONE, shape=_shape(http, ""))
    session = found["session"]
    path = (found["path"] or b"").decode("latin-1")
    # An upstream may take a trailing slash as well, and a turn is a turn.
    codec = codecs().get(path.removesuffix("/")) if http.method == "POST" else None
    kind = codec.name if codec else PASS
    name = unquote_to_bytes(session).decode("utf-8", "replace") if session else None
    return Route(kind, path, name, codec, codec or _shape(http, path))


def _shape(http: Http, path: str) -> Codec | None:
    """Anthropic's clients say so on every route, `GET /v1/models` among them."""
    anthropic = http.header(b"anthropic-version") is not None or f"{path}/".startswith(f"{MESSAGES}/")
    return codecs().get(MESSAGES) if anthropic else None


def claim_of(http: Http, route: Route, caller: Caller, settings: Settings) -> Claim:
    """What the request says about its session: the path goes before the header, the header before the key.

    ServiceError 400 for an id that can't be one, 403 for a profile beyond the operator's cap.
    """
    session_id = _name(route.session_id or http.header(b"x-crosswind-session"), caller)
    if session_id is not None and not _SESSION_ID.match(session_id):
        raise ServiceError(
            400,
            # Not the id itself, since it may be a credential that came to stand in its place.
            "this session id can't be used; give 1 to 200 characters, without slashes and control characters",
            code="invalid_session_id",
        )
    identity = "path" if route.session_id else "header"
    if not settings.steering:
        return Claim(session_id, identity, caller)
    return Claim(
        session_id,
        identity,
        caller,
        profile=_profile(http, settings),
        seed=_seed(http, settings),
        task_id=_name(http.header(b"x-crosswind-task"), caller),
        group_id=_name(http.header(b"x-crosswind-group"), caller),
    )


def _name(given: str | None, caller: Caller) -> str | None:
    """A name as given. ServiceError 400 where the caller's key is in it: names are stored and logged."""
    key = caller.credential
    if given is not None and key is not None and len(key) >= SHORTEST and key in given:
        raise ServiceError(
            400,
            "the name of a session, task or group has the request's key in it; give a name that is no secret",
            code="secret_in_name",
        )
    return given


def _profile(http: Http, settings: Settings) -> str | None:
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


def _seed(http: Http, settings: Settings) -> int | None:
    seed = http.header(b"x-crosswind-seed")
    if seed is None or not settings.steering_cap.seed:
        return None
    if not _SEED.match(seed):
        raise ServiceError(
            400, f"X-Crosswind-Seed {seed[:40]!r} is no seed; give 1 to 18 digits", code="invalid_seed"
        )
    return int(seed)
