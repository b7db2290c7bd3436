"""An upstream as it is configured: where it is, which models it has, and how it wants to be spoken to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from crosswind.gateway.config.provider_presets import DIALECTS, PROTOCOLS, AuthStyle, Dialect, DuplicateNames
from crosswind.gateway.config.sections import Seconds, Section, Timeouts
from crosswind.gateway.errors import nearest

Status = Annotated[int, Field(ge=500, le=599)]
Count = Annotated[int, Field(ge=0)]


class Retries(Section):
    """Attempts after the first. Only where nothing was delivered, and the request was not processed."""

    attempts: Count = 2
    backoff: Seconds = 0.05
    """Before the same replica is tried again, in seconds; doubled each time."""
    on_status: tuple[Status, ...] = ()
    """Answers that are tried again if they come with Retry-After; failures to connect always are."""
    longest_wait: Seconds = 5.0
    """A Retry-After of more seconds is the client's to heed."""


class Health(Section):
    """When a replica is left out, and for how long. Where all are, all are tried."""

    failures: Annotated[int, Field(gt=0)] = 3
    """Failures in a row (no connection, time-outs, 5xx) that eject a replica."""
    eject: Seconds = 5.0
    """The first ejection, in seconds; each one that follows is twice as long."""
    eject_longest: Seconds = 60.0
    probe: str | None = None
    """A path under the base to ask regularly (`/models`); None: judged by the traffic alone."""
    probe_every: Seconds = 10.0


class UpstreamTimeouts(Section):
    """Seconds; None: as `timeouts` says for all."""

    connect: Seconds | None = None
    pool_wait: Seconds | None = None
    first_byte: Seconds | None = None
    between_chunks: Seconds | None = None
    total: Seconds | None = None
    idle: Seconds | None = None


class HeaderRules(Section):
    """What of the client's headers goes on, and what is added."""

    allow: tuple[str, ...] | None = None
    """Names or globs, in lower case. Headers of the content and credentials go on anyway. None: all do."""
    add: Mapping[str, SecretStr] = {}
    """Set on each request, in place of the client's."""


class UpstreamSettings(Section):
    """One upstream. What `dialect` presets may be given singly too, and then goes before the preset."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    base: str | None = None
    """Base URL; without a path of its own it gets the dialect's."""
    replicas: tuple[str, ...] = ()
    """Base URLs of equal servers, in place of `base`: a session stays on one of them."""
    models: tuple[str, ...] = ("*",)
    """Globs of the model names that it has."""
    model_map: Mapping[str, str] = {}
    """Names as clients say them -> as this upstream knows them."""
    key: SecretStr | None = None
    key_env: str | None = None
    """The environment variable that holds the key."""
    dialect: str | None = None
    auth: AuthStyle | None = None
    """Where the key goes. `passthrough`: a client's own credential goes before it; `none`: neither does."""
    query: Mapping[str, str] | None = None
    join: str | None = None
    headers: HeaderRules = HeaderRules()
    duplicate_tool_names: DuplicateNames | None = None
    protocols: tuple[str, ...] | None = None
    token_ids: bool | None = None
    timeouts: UpstreamTimeouts = UpstreamTimeouts()
    retries: Retries | None = None
    """None: as `retries` says for all."""
    health: Health | None = None
    """None: as `health` says for all."""

    @field_validator("base")
    @classmethod
    def _one_url(cls, value: str | None) -> str | None:
        return None if value is None else http_url(value)

    @field_validator("replicas")
    @classmethod
    def _urls(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a replica is named twice; name each once")
        return tuple(http_url(one) for one in value)

    @field_validator("protocols")
    @classmethod
    def _known_protocols(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in value or ():
            if name not in PROTOCOLS:
                raise ValueError(f"unknown protocol {name!r}: {nearest(name, PROTOCOLS)}")
        return value

    @field_validator("dialect")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in DIALECTS:
            raise ValueError(f"unknown dialect: {nearest(value, DIALECTS)}")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.base is None) == (not self.replicas):
            raise ValueError(f"upstream {self.name!r}: give either `base` or `replicas`")
        if self.key is not None and self.key_env is not None:
            raise ValueError(f"upstream {self.name!r}: give either `key` or `key_env`")
        if self.key_env is not None and not os.environ.get(self.key_env):
            raise ValueError(
                f"upstream {self.name!r}: the variable {self.key_env} (key_env) is not set; set it"
            )
        return self

    @cached_property
    def spoken(self) -> Dialect:
        """The dialect with what was given singly in place of the preset's."""
        preset = DIALECTS[self.dialect] if self.dialect else Dialect()
        given: dict[str, Any] = {
            name: value for name in Dialect.model_fields if (value := getattr(self, name)) is not None
        }
        return preset.model_copy(update=given)

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The replicas' base URLs, paths joined."""
        bases = (self.base,) if self.base is not None else self.replicas
        return tuple(base if urlsplit(base).path else base + self.spoken.join for base in bases)

    @cached_property
    def secret(self) -> str | None:
        """The upstream's key, wherever it was given."""
        if self.key is not None:
            return self.key.get_secret_value()
        return os.environ[self.key_env] if self.key_env else None

    def timeouts_in(self, common: Timeouts) -> Timeouts:
        """This upstream's time-outs: its own where given, else the common ones."""
        return common.model_copy(update=self.timeouts.model_dump(exclude_none=True))


def http_url(value: str) -> str:
    """A base URL without its closing slash. ValueError where it is none, or holds a credential."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("give a URL such as http://127.0.0.1:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a password in it would be logged; give the credential as the key")
    if parts.query or parts.fragment:
        raise ValueError("a base URL has neither query nor fragment; give parameters under `query`")
    return value.rstrip("/")
