"""Every setting of the gateway. They are read by `crosswind.gateway.config.loading`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.config.sections import (
    Abort,
    Detail,
    Dose,
    Durability,
    Duration,
    Key,
    Limits,
    Logging,
    Port,
    Retention,
    Seconds,
    Secrets,
    SteeringCap,
    Telemetry,
    ThirdParty,
    Timeouts,
)
from crosswind.gateway.config.upstream import Health, Retries, UpstreamSettings, http_url

ENVIRONMENT_PREFIX = "CROSSWIND_"


class Settings(BaseSettings):
    """Every setting of `crosswind serve`."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    upstream: str | None = None
    """Base URL including its version segment: http://host:8000/v1. The upstream of all models that none of
    `upstreams` has.
    """
    upstream_key: SecretStr | None = None
    """The upstream's credential: used in place of a session key or a key of ours."""
    token_ids: bool = False
    """The upstream offers `return_token_ids` on chat completions."""
    upstreams: tuple[UpstreamSettings, ...] = ()
    """Further upstreams, chosen by the model's name: the first that has it."""
    retries: Retries = Retries()
    health: Health = Health()
    websockets: Literal["relay", "refuse"] = "relay"
    """Whether WebSockets under /v1 are relayed, without noise, or refused with 426."""
    host: str = "127.0.0.1"
    port: Port = 8080
    control_host: str = "127.0.0.1"
    control_port: Port = 8081
    control_allowed_hosts: tuple[str, ...] = ()
    """Host names, beside loopback and control_host, by which the control plane may be addressed."""
    workers: Annotated[int, Field(gt=0)] = 1
    """Processes that serve the data plane."""
    public_url: str | None = None
    """The data plane's address as agents reach it, where it isn't http://host:port."""
    profile: str = "off"
    """The default noise profile: a built-in's name, a stored one's, or a path to a YAML file."""
    seed: Annotated[int, Field(ge=0)] = 0
    store: str = "sqlite:///crosswind.db"
    retention: Retention = Retention()
    reward_expiry: Duration | None = None
    """How long a session without activity may wait for its reward before that counts as expired."""
    sessions: Literal["open", "strict"] = "open"
    auth: Literal["passthrough", "keys"] = "passthrough"
    keys: tuple[Key, ...] = ()
    record: Detail = Detail.FULL
    durability: Durability = Durability.STRICT
    durability_wait: Seconds = 0.2
    """How long a completing event is held for its turn to be durable, in seconds; then it is released and
    marked late.
    """
    retry_grace: Annotated[float, Field(ge=0)] = 10.0
    """How long a plain call of a training session is kept after its client has gone, in seconds, so that its
    retry joins it. 0: not at all.
    """
    acknowledge_wait: Seconds = 10.0
    """How long a control request waits for its rows to be durable, in seconds, before it answers 503."""
    capture: Literal["auto", "on", "off"] = "auto"
    """Token capture. auto: for sessions of a group, and wherever `token_ids` is set."""
    capture_top: Annotated[int, Field(ge=0, le=20)] = 0
    """How many of the likeliest tokens are captured at each place, with their log-probabilities."""
    body_secrets: Secrets = "redact"
    steering: bool = False
    """Whether clients may steer noise with X-Crosswind-* headers."""
    steering_cap: SteeringCap = SteeringCap()
    markers: bool = False
    """Whether errors say in a header whose they are: X-Crosswind-Error (ours, by code) and
    X-Crosswind-Injected (noise, by operator). Agents that are to be tested must not see them.
    """
    noise_off_file: Path | None = None
    """The kill switch as a file: while it exists there is no noise. Default: beside an SQLite store,
    `.noise-off` appended.
    """
    noise_model: NoiseModel | None = None
    """A language model that writes noise where an operator may have one write."""
    dose: Dose = Dose()
    abort: Abort = Abort()
    third_party: ThirdParty = ThirdParty()
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    telemetry: Telemetry = Telemetry()
    log: Logging = Logging()

    @field_validator("upstream", "public_url")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        return None if value is None else http_url(value)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [one.name for one in self.every_upstream]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two upstreams are named {twice[0]!r}; give each a name of its own")
        return self

    @property
    def every_upstream(self) -> tuple[UpstreamSettings, ...]:
        """All upstreams in the order in which a model's name is matched. The short form's matches none: it
        has what no other has.
        """
        if self.upstream is None:
            return self.upstreams
        short = UpstreamSettings(
            name="default",
            base=self.upstream,
            models=(),
            key=self.upstream_key,
            auth="passthrough",
            token_ids=self.token_ids,
        )
        return (*self.upstreams, short)

    @property
    def data_url(self) -> str:
        """Where agents reach the data plane, without a version segment."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
