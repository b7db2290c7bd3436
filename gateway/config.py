"""The gateway's configuration: a YAML file, then `CROSSWIND_*` environment variables, then flags, weak to
strong.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from gateway.detail import Detail
from gateway.errors import ConfigurationError, nearest

ENVIRONMENT_PREFIX = "CROSSWIND_"

Seconds = Annotated[float, Field(gt=0)]
Positive = Annotated[int, Field(gt=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
Secrets = Literal["redact", "block_training", "keep"]


class Durability(StrEnum):
    """What is held back until its turn is on disk."""

    STRICT = "strict"
    """The event on which clients act: the chunk with the last finish_reason, or a plain body."""
    STRICT_TOOLS = "strict_tools"
    """Tool-call deltas too."""
    RELAXED = "relaxed"
    """Nothing. Needs one worker, or sessions that stay on one worker."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Timeouts(Section):
    """Seconds."""

    connect: Seconds = 10.0
    pool_wait: Seconds = 30.0
    first_byte: Seconds = 600.0
    between_chunks: Seconds = 120.0
    after_completion: Seconds = 1.0
    """How long the completing event of a stream waits for what follows it (usage, the end mark)."""
    total: Seconds = 3600.0
    drain: Seconds = 30.0
    """How long requests in flight may go on after SIGTERM."""


class Limits(Section):
    """Sizes in bytes, unless the name says otherwise."""

    body: Positive = 64 << 20
    header: Positive = 64 << 10
    event: Positive = 8 << 20
    """The largest event of a stream that is looked into; larger ones are relayed unseen."""
    connections: Positive = 1000
    """Connections to the upstream."""
    live_sessions: Positive = 20_000
    """Sessions that are kept in memory; others are read from the store when they return."""


class Key(Section):
    """A key of ours (`auth: keys`)."""

    key: SecretStr
    tenant: str | None = None
    profile: str | None = None


class SteeringCap(Section):
    """What clients may ask for by header at most."""

    profiles: tuple[str, ...] | None = None
    """Profiles that may be asked for; None: the configured one only."""
    seed: bool = True


class Logging(Section):
    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """Every setting of `crosswind serve`."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    upstream: str
    """Base URL including its version segment: http://host:8000/v1."""
    upstream_key: SecretStr | None = None
    """The upstream's credential: used in place of a session key or a key of ours."""
    token_ids: bool = False
    """The upstream offers `return_token_ids` on chat completions."""
    host: str = "127.0.0.1"
    port: Port = 8080
    control_host: str = "127.0.0.1"
    control_port: Port = 8081
    control_allowed_hosts: tuple[str, ...] = ()
    """Host names, beside loopback and control_host, by which the control plane may be addressed."""
    public_url: str | None = None
    """The data plane's address as agents reach it, where it isn't http://host:port."""
    profile: str = "off"
    """The default noise profile: a built-in's name, a stored one's, or a path to a YAML file."""
    seed: Annotated[int, Field(ge=0)] = 0
    store: str = "sqlite:///crosswind.db"
    sessions: Literal["open", "strict"] = "open"
    auth: Literal["passthrough", "keys"] = "passthrough"
    keys: tuple[Key, ...] = ()
    record: Detail = Detail.FULL
    durability: Durability = Durability.STRICT
    durability_wait: Seconds = 0.2
    """How long a completing event is held for its turn to be durable, in seconds; then it is released and
    marked late.
    """
    acknowledge_wait: Seconds = 10.0
    """How long a control request waits for its rows to be durable, in seconds, before it answers 503."""
    capture: Literal["auto", "on", "off"] = "auto"
    """Token capture. auto: for sessions of a group, and wherever `token_ids` is set."""
    body_secrets: Secrets = "redact"
    steering: bool = False
    """Whether clients may steer noise with X-Crosswind-* headers."""
    steering_cap: SteeringCap = SteeringCap()
    noise_off_file: Path | None = None
    """The kill switch as a file: while it exists there is no noise. Default: beside an SQLite store,
    `.noise-off` appended.
    """
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    log: Logging = Logging()

    @field_validator("upstream", "public_url")
    @classmethod
    def _http_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("give a URL such as http://127.0.0.1:8000/v1")
        return value.rstrip("/")

    @property
    def data_url(self) -> str:
        """Where agents reach the data plane, without a version segment."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def load(file: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Read the configuration. `flags` holds what was given on the command line; None means not given.

    Raises ConfigurationError: one line that names the field, the value and the mend.
    """
    document = read_document(file) if file else {}

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=document)

    try:
        settings = Loaded(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        raise ConfigurationError(_first_line(error, file)) from None
    _check(settings)
    return settings


def read_document(file: Path) -> dict[str, Any]:
    """The YAML document of a configuration file."""
    import yaml

    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"configuration file {file}: can't be read ({error}); name a readable YAML file"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigurationError(
            f"configuration file {file}{where}: malformed YAML: {problem}; mend that line"
        ) from None
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ConfigurationError(
            f"configuration file {file}: expected `key: value` lines, found {type(document).__name__}"
        )
    return document


def _check(settings: Settings) -> None:
    if settings.auth == "keys" and not settings.keys:
        raise ConfigurationError(
            "auth 'keys' needs at least one entry under `keys`: add `keys: [{key: ...}]`, or set "
            "`auth: passthrough`"
        )


def _first_line(error: ValidationError, file: Path | None) -> str:
    problems = error.errors(include_url=False)
    # A misspelt key first: what seems to be missing may be what was misspelt.
    problem = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    location = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing" and location == "upstream":
        return (
            "upstream is missing: give --upstream URL (the OpenAI-compatible server's base, such as "
            "http://127.0.0.1:8000/v1), CROSSWIND_UPSTREAM, or `upstream:` in the file"
        )
    if problem["type"] == "extra_forbidden":
        where = f"configuration file {file}" if file else "configuration"
        mend = nearest(str(problem["loc"][-1]), _known(problem["loc"][:-1]))
        return f"{where}: unknown key {location!r}: {mend}"
    value = "" if "key" in location else f", value {problem['input']!r}"
    return f"configuration field {location!r}{value}: {problem['msg']}"


def _known(path: tuple[int | str, ...]) -> list[str]:
    """The keys that are known under a path of sections."""
    model: type[BaseModel] = Settings
    for part in path:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        if annotation == tuple[Key, ...]:
            model = Key
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return list(model.model_fields)
