"""Read a request's head: its route, and what it says about its session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import msgspec
import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.control_characters import has_control_characters
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import Caller, find_secrets
from crosswind.gateway.http.body import RequestBody
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.noise.kill_switch import may_ask_for
from crosswind.gateway.protocols.codec import Codec, api_roots, codec_of_client, find_codec
from crosswind.gateway.protocols.request import NO_PARAMETERS, SplitBody
from crosswind.gateway.recorder.redaction import SHORTEST, holds_secret
from crosswind.gateway.sessions.inference import SessionHints, read_hints
from crosswind.gateway.sessions.session import SessionClaim
from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.upstreams.request import KnownLines, UpstreamRequest, write_lines
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.injectors.identity import digest

PASS = "pass_through"
HEALTH = "health"
NONE = "none"
MCP, TOOLS = "mcp", "tools"
_TOOL_ROOTS = {"/mcp": MCP, "/tools": TOOLS}
"""The routes of tool traffic, by the first segment of their paths."""

_STEERING = frozenset(b"x-crosswind-" + name for name in (b"profile", b"seed", b"task", b"group", b"noise"))
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
    tools = None if found is None else _TOOL_ROOTS.get(found["root"])
    known = found is not None and (tools is not None or found["root"] in api_roots())
    if found is None or not known or _DOTS.search(unquote_to_bytes(http.raw_path)):
        return Route(NONE, shape=codec_of_client(http.first, ""))
    path = found["path"] or ""
    session = found["session"]
    session = unquote_to_bytes(session.encode("latin-1")).decode("utf-8", "replace") if session else None
    if tools is not None:
        return Route(tools, path, session)
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
    session_id = route.session_id or http.header(b"x-crosswind-session")
    if session_id is not None:
        _check_session_id(session_id, caller.credential)
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


def read_known_claim(http: HttpRequest, entry: Entry, caller: Caller, settings: Settings) -> SessionClaim:
    """As `read_claim`. Requests whose heads are alike but for their lengths claim the same."""
    like = http.head.like
    if like is not None and like.notes is not None and like.notes[0] is entry:
        claim: SessionClaim = like.notes[1]
        return claim
    claim = read_claim(http, entry.route, caller, settings)
    if like is not None and (settings.steering or not _steers(http)):
        like.notes = entry, claim
    return claim


@lru_cache(4096)
def _check_session_id(session_id: str, key: str | None) -> None:
    """Raise ServiceError 400 for an id that can't be one. Each comes many times."""
    _check_name(session_id, key)
    if has_control_characters(session_id) or not _SESSION_ID.match(session_id):
        raise ServiceError(
            400,
            # Not the id itself, since it may be a credential that came to stand in its place.
            "this session id can't be used; give 1 to 200 characters, without slashes and control characters",
            code="invalid_session_id",
        )


def _steers(http: HttpRequest) -> bool:
    head = http.head
    return not (_STEERING.isdisjoint(head.template.first) and _STEERING.isdisjoint(head.own))


def _tell_ignored(http: HttpRequest) -> None:
    if _steers(http):
        ignored = sorted(name.decode() for name in _STEERING & http.head.first.keys())
        _log.warning("headers that steer noise are ignored; set steering: true to heed them", headers=ignored)


class Entry(msgspec.Struct, eq=False):
    """What requests of one head have in common, found out for the first of them."""

    owner: object
    """Who found it out: another configuration may find something else."""
    route: Route
    caller: Caller | None = None
    """None: such a request wasn't let in so far."""
    secrets: tuple[str, ...] = ()
    """The request's own credentials."""
    counted_retry: bool = False
    """Whether the client marks the request as a retry."""
    idempotency_key: str | None = None
    spared: bool = False
    """Whether the client asks for no noise."""
    upstreams: dict[str | None, Upstream] = {}
    """By the model that a request names."""
    sent: dict[tuple[Upstream, bool, bool], KnownLines] = {}
    """Paths and headers for upstreams, by what is said of the bodies."""

    @classmethod
    def read(cls, http: HttpRequest, owner: object) -> Entry:
        retries = http.header(b"x-stainless-retry-count") or ""
        key = http.header(b"idempotency-key")
        return cls(
            owner,
            find_route(http),
            secrets=find_secrets(http.headers, http.query),
            counted_retry=retries.isdecimal() and retries.strip("0") != "",
            idempotency_key=None if key is None else digest(key),
            spared=http.header(b"x-crosswind-noise") == "off",
        )


class IncomingCall(msgspec.Struct, frozen=True, eq=False):
    """A turn's request as received, before its session is known."""

    http: HttpRequest
    entry: Entry
    codec: Codec
    caller: Caller
    upstream: Upstream
    body: RequestBody

    @property
    def trace(self) -> tuple[tuple[str, str], ...]:
        """The client's trace context (W3C)."""
        found = ((name, self.http.header(name.encode())) for name in ("traceparent", "tracestate"))
        return tuple((name, value) for name, value in found if value is not None)

    def write(self, body: bytes, *, plain: bool) -> UpstreamRequest:
        """The request to the upstream, with this body. `plain`: the answer mustn't come encoded."""
        given = self.body
        unchanged = body is given.body
        decoded = not unchanged and given.raw is not given.body
        known = self.entry.sent.get((self.upstream, plain, decoded))
        known = known or self._write_head(plain=plain, decoded=decoded)
        return UpstreamRequest("POST", known.path, (), given.raw if unchanged else body, known)

    def _write_head(self, *, plain: bool, decoded: bool) -> KnownLines:
        upstream, http = self.upstream, self.http
        changes: dict[bytes, bytes | None] = {b"content-length": None}
        if decoded:
            changes[b"content-encoding"] = None
        if plain:
            changes[b"accept-encoding"] = b"identity"
        path = upstream.path(str(self.entry.route.path), http.query.decode("latin-1"), self.caller)
        lines = write_lines(upstream.headers(http.headers, self.caller, changes))
        known = self.entry.sent[upstream, plain, decoded] = KnownLines(path, lines)
        return known

    def hints(self, split: SplitBody) -> SessionHints:
        """The hints by which its session is inferred. A retry may come under the same idempotency key."""
        named, body = self.entry.idempotency_key, self.body.body
        key = content_key(body if named is None else b"%b\0%b" % (named.encode(), body))
        return read_hints(split, self.codec, key, counted=self.entry.counted_retry, keyed=named is not None)


def _check_name(given: str, key: str | None) -> None:
    """Raise ServiceError 400 where the caller's key is in a name: names are stored and logged."""
    if len(given) < SHORTEST:
        return
    if (key is not None and len(key) >= SHORTEST and key in given) or holds_secret(given):
        raise ServiceError(
            400,
            "the name of a session, task or group has a key in it; give a name that is no secret",
            code="secret_in_name",
        )


def _label(given: str | None, caller: Caller) -> str | None:
    """The name of a task or a group. ServiceError 400 as for `_check_name`, and for control characters."""
    if given is None:
        return None
    if has_control_characters(given):
        raise ServiceError(
            400,
            "the name of a task or group has a control character in it; leave it out",
            code="invalid_name",
        )
    _check_name(given, caller.credential)
    return given


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
