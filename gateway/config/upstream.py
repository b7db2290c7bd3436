"""Settings of an upstream: its address, its models and its dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_serializer, field_validator, model_validator

from crosswind.gateway.config.provider_presets import DIALECTS, PROTOCOLS, AuthStyle, Dialect, DuplicateNames
from crosswind.gateway.config.sections import Seconds, Section, ServerKey, Timeouts
from crosswind.gateway.errors import nearest

Status = Annotated[int, Field(ge=500, le=599)]
Count = Annotated[int, Field(ge=0)]


def parse_base_url(value: str) -> str:
    """Validate a base URL and drop its closing slash. Raises ValueError."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("give a URL such as http://127.0.0.1:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a password in it would be logged; give the credential as the key")
    if parts.query or parts.fragment:
        raise ValueError("a base URL has neither query nor fragment; give parameters under `query`")
    return value.rstrip("/")


def _check_known(what: str, known: Collection[str], name: str) -> str:
    if name not in known:
        raise ValueError(f"unknown {what} {name!r}: {nearest(name, known)}")
    return name


SHORT_FORM = "default"
"""The name of the upstream that `upstream` and `upstream_key` describe."""
BaseUrl = Annotated[str, AfterValidator(parse_base_url)]
"""A base URL without a closing slash."""
DialectName = Annotated[str, AfterValidator(partial(_check_known, "dialect", DIALECTS))]
ProtocolName = Annotated[str, AfterValidator(lambda name: _check_known("protocol", PROTOCOLS, name))]


class Retries(Section):
    """Attempts after the first, made only if nothing was delivered and the request was not processed."""

    attempts: Count = 2
    backoff: Seconds = 0.05
    """Seconds before the same replica is tried again; doubled each time."""
    on_status: tuple[Status, ...] = ()
    """Statuses that are retried if the answer has Retry-After; failures to connect are always retried."""
    longest_wait: Seconds = 5.0
    """An answer with a longer Retry-After, in seconds, is relayed to the client."""


class Health(Section):
    """When a replica is ejected, and for how long. If all are ejected, all are tried."""

    failures: Annotated[int, Field(gt=0)] = 3
    """Failures in a row (no connection, time-outs, 5xx) that eject a replica."""
    eject: Seconds = 5.0
    """Seconds of the first ejection; each further one is twice as long."""
    eject_longest: Seconds = 60.0
    probe: str | None = None
    """A path under the base to probe regularly (`/models`); None: judge by the traffic alone."""
    probe_every: Seconds = 10.0


class UpstreamTimeouts(Section):
    """Seconds; None: the common value of `timeouts`."""

    connect: Seconds | None = None
    pool_wait: Seconds | None = None
    first_byte: Seconds | None = None
    between_chunks: Seconds | None = None
    total: Seconds | None = None
    idle: Seconds | None = None


class HeaderRules(Section):
    """Which of the client's headers are forwarded, and which are added."""

    allow: tuple[str, ...] | None = None
    """Names or globs, in lower case; content headers and credentials are always forwarded. None: all."""
    add: Mapping[str, SecretStr] = {}
    """Set on each request, replacing the client's."""


class UpstreamSettings(ServerKey):
    """One upstream. Each setting of the `dialect` preset may be overridden."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    base: BaseUrl | None = None
    """Base URL; without a path it gets the dialect's."""
    replicas: tuple[BaseUrl, ...] = ()
    """Base URLs of equal servers, instead of `base`; a session stays on one of them."""
    models: tuple[str, ...] = ("*",)
    """Globs of its model names."""
    model_map: Mapping[str, str] = {}
    """The client's name of a model -> this upstream's name."""
    dialect: DialectName | None = None
    auth: AuthStyle | None = None
    """The key's header. `passthrough`: the client's own credential is preferred; `none`: no credential."""
    query: Mapping[str, str] | None = None
    join: str | None = None
    headers: HeaderRules = HeaderRules()
    duplicate_tool_names: DuplicateNames | None = None
    protocols: tuple[ProtocolName, ...] | None = None
    token_ids: bool | None = None
    timeouts: UpstreamTimeouts = UpstreamTimeouts()
    retries: Retries | None = None
    """None: the common `retries`."""
    health: Health | None = None
    """None: the common `health`."""

    @field_serializer("query", when_used="json")
    def _hide_query(self, query: Mapping[str, str] | None) -> dict[str, str] | None:
        """Parameters are often keys: what is printed names them only."""
        return None if query is None else dict.fromkeys(query, str(SecretStr("hidden")))

    @field_validator("replicas")
    @classmethod
    def _check_replicas(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a replica is named twice; name each once")
        return value

    @model_validator(mode="after")
    def _check_address(self) -> Self:
        if (self.base is None) == (not self.replicas):
            raise ValueError(f"upstream {self.name!r}: give either `base` or `replicas`")
        return self

    @cached_property
    def effective_dialect(self) -> Dialect:
        """The preset of `dialect` with this upstream's own settings applied."""
        preset = DIALECTS[self.dialect] if self.dialect else Dialect()
        given: dict[str, Any] = {
            name: value for name in Dialect.model_fields if (value := getattr(self, name)) is not None
        }
        return preset.model_copy(update=given)

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The base URLs of the replicas, with the dialect's path."""
        bases = (self.base,) if self.base is not None else self.replicas
        return tuple(base if urlsplit(base).path else base + self.effective_dialect.join for base in bases)

    @cached_property
    def credential(self) -> tuple[str, str] | None:
        """The header with the gateway's key for this upstream."""
        style, key = self.effective_dialect.auth, self.secret
        if key is None or style == "none":
            return None
        return ("authorization", f"Bearer {key}") if style in ("bearer", "passthrough") else (style, key)

    @property
    def missing_key(self) -> str:
        """What is to be set where it has no key of the gateway's."""
        if self.name == SHORT_FORM:
            return "CROSSWIND_UPSTREAM_KEY"
        return f"`key_env` of the upstream {self.name!r}"

    @property
    def has_credentials(self) -> bool:
        """Whether requests to it may carry something of the gateway's that its clients don't have."""
        return bool(self.credential or self.headers.add or self.query)

    def merge_timeouts(self, common: Timeouts) -> Timeouts:
        """The common time-outs with this upstream's own applied."""
        return common.model_copy(update=self.timeouts.model_dump(exclude_none=True))
