"""Every setting of the gateway; `crosswind.gateway.config.loading` reads them."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.config.sections import (
    DEFAULT_TENANT,
    Abort,
    ControlKey,
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
    Training,
)
from crosswind.gateway.config.tools import Tools
from crosswind.gateway.config.upstream import SHORT_FORM, BaseUrl, Health, Retries, UpstreamSettings
from crosswind.injectors.targets import ToolClass

StoreUrl = Annotated[str, AfterValidator(lambda place: place if "://" in place else f"sqlite:///{place}")]
"""A store's URL; a path names an SQLite store."""
ToolName = Annotated[str, Field(min_length=1, max_length=200)]
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

    upstream: BaseUrl | None = None
    """Base URL including its version segment: http://host:8000/v1. It gets every model that none of
    `upstreams` has.
    """
    upstream_key: SecretStr | None = None
    """The upstream's credential; it replaces session keys and the gateway's own keys."""
    token_ids: bool = False
    """The upstream offers `return_token_ids` on chat completions."""
    upstreams: tuple[UpstreamSettings, ...] = ()
    """Further upstreams; the first that has the model gets the request."""
    retries: Retries = Retries()
    health: Health = Health()
    websockets: Literal["relay", "refuse"] = "relay"
    """Whether WebSockets under /v1 are relayed, without noise, or refused with 426."""
    host: str = "127.0.0.1"
    port: Port = 8080
    control_host: str = "127.0.0.1"
    control_port: Port = 8081
    control_allowed_hosts: tuple[str, ...] = ()
    """Allowed host names of the control plane, besides loopback and control_host."""
    control_key: Annotated[SecretStr, Field(min_length=16)] | None = None
    """The control plane's key, with the role `admin`. If there is none, nor any in `control_keys`, one is
    made and printed at the start unless `control_host` is loopback.
    """
    control_keys: tuple[ControlKey, ...] = ()
    """Further keys of the control plane, with other roles or for one tenant."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names by which browsers may address the data plane, besides loopback, `host` and that of
    `public_url`. They are checked if an upstream has a key.
    """
    allowed_origins: tuple[str, ...] = ()
    """Origins of pages, such as https://chat.example.com, that may use the data plane then."""
    workers: Annotated[int, Field(gt=0)] = 1
    """Processes that serve the data plane."""
    public_url: BaseUrl | None = None
    """The data plane's address for agents, if it isn't http://host:port."""
    profile: str = "off"
    """The default noise profile: a built-in's name, a stored one's, or a path to a YAML file."""
    assume_replayable: bool = False
    """Whether a profile's `assume_tools: replayable` is believed: results of calls that change the world are
    then destroyed as well, and an agent that repeats such a call changes the world twice. Otherwise such a
    profile acts on what is known to be repeatable only.
    """
    tool_classes: dict[ToolName, ToolClass] = Field(default_factory=dict)
    """What tools do, by name or glob. It goes before a profile's table, and a session's goes before it."""
    tools_read_only: tuple[ToolName, ...] = ()
    """Names or globs of tools that only read. They go before `tool_classes`."""
    tools: Tools = Tools()
    """MCP servers and HTTP APIs that agents reach through the gateway."""
    seed: Annotated[int, Field(ge=0)] = 0
    store: StoreUrl = "sqlite:///crosswind.db"
    retention: Retention = Retention()
    reward_expiry: Duration | None = None
    """How long an idle session may wait for its reward before the reward counts as expired."""
    sessions: Literal["open", "strict"] = "open"
    auth: Literal["passthrough", "keys"] = "passthrough"
    keys: tuple[Key, ...] = ()
    record: Detail = Detail.FULL
    durability: Durability = Durability.STRICT
    durability_wait: Seconds = 0.2
    """Seconds that a completing event waits for its turn to be durable before it is released late."""
    commit_delay: Annotated[float, Field(ge=0)] = 0.005
    """Seconds that a commit waits for the turns of other requests in flight, while commits cover several.
    0: not at all.
    """
    retry_grace: Annotated[float, Field(ge=0)] = 10.0
    """Seconds that a plain call of a training session continues after its client has gone, so that a retry
    can join it. 0: not at all.
    """
    acknowledge_wait: Seconds = 10.0
    """Seconds that a control request waits for its rows to be durable before it answers 503."""
    capture: Literal["auto", "on", "off"] = "auto"
    """Token capture. auto: for sessions of a group, and if `token_ids` is set."""
    capture_top: Annotated[int, Field(ge=0, le=20)] = 0
    """The number of likeliest tokens to capture at each position, with their log-probabilities."""
    body_secrets: Secrets = "redact"
    steering: bool = False
    """Whether clients may steer noise with X-Crosswind-* headers."""
    steering_cap: SteeringCap = SteeringCap()
    markers: bool = False
    """Whether errors name their source in a header: X-Crosswind-Error (the gateway, by code) or
    X-Crosswind-Injected (noise, by operator). Agents under test must not see them.
    """
    noise_off_file: Path | None = None
    """The kill switch as a file: while it exists there is no noise. Default: beside an SQLite store,
    `.noise-off` appended.
    """
    packs: Path | None = None
    """A folder of phrase packs, LANGUAGE/DOMAIN.jsonl, that go before the shipped ones."""
    noise_model: NoiseModel | None = None
    """A language model that writes noise for operators that accept its texts."""
    dose: Dose = Dose()
    train: Training = Training()
    abort: Abort = Abort()
    third_party: ThirdParty = ThirdParty()
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    telemetry: Telemetry = Telemetry()
    log: Logging = Logging()

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [one.name for one in self.every_upstream]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two upstreams are named {twice[0]!r}; give each a name of its own")
        return self

    @model_validator(mode="after")
    def _check_workers(self) -> Self:
        if self.workers > 1 and self.durability is Durability.RELAXED:
            raise ValueError(
                f"durability 'relaxed' with workers {self.workers}: a worker can't see another one's turns "
                "that aren't on disk yet; set workers to 1, or durability to strict"
            )
        return self

    @property
    def every_upstream(self) -> tuple[UpstreamSettings, ...]:
        """All upstreams in the order in which a model's name is matched. The short form comes last and has no
        globs, because it gets the models that no other upstream has.
        """
        if self.upstream is None:
            return self.upstreams
        short = UpstreamSettings(
            name=SHORT_FORM,
            base=self.upstream,
            models=(),
            key=self.upstream_key,
            auth="passthrough",
            token_ids=self.token_ids,
        )
        return (*self.upstreams, short)

    @property
    def needs_control_key(self) -> bool:
        """Whether others than this machine's users can reach the control plane, and no key is configured."""
        keyed = self.control_key is not None or bool(self.control_keys)
        return not keyed and not is_loopback(self.control_host)

    @property
    def default_tenant(self) -> str | None:
        """The tenant of sessions that are opened for none: that of keys without a tenant."""
        return DEFAULT_TENANT if self.auth == "keys" else None

    @property
    def declared_tools(self) -> tuple[dict[str, ToolClass], ...]:
        """What the configuration says of tools, the strongest first."""
        reads = dict.fromkeys(self.tools_read_only, ToolClass.READ_ONLY)
        return tuple(table for table in (reads, self.tool_classes) if table)

    @property
    def data_url(self) -> str:
        """The data plane's address for agents, without a version segment."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
