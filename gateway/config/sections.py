"""Sections of the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from functools import cached_property, partial
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from crosswind.gateway.trajectory.retention import parse_bytes, parse_seconds


def _parse_text(parse: Callable[[str], float], value: object) -> object:
    """Parse a measure that is given as text; pass numbers through."""
    return parse(value) if isinstance(value, str) else value


Seconds = Annotated[float, Field(gt=0)]
Positive = Annotated[int, Field(gt=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
Duration = Annotated[float, Field(gt=0), BeforeValidator(partial(_parse_text, parse_seconds))]
"""Seconds, or text such as 30d, 12h, 90m."""
Size = Annotated[int, Field(gt=0), BeforeValidator(partial(_parse_text, parse_bytes))]
"""Bytes, or text such as 10GB, 512MiB."""
Secrets = Literal["redact", "block_training", "keep"]


class Detail(StrEnum):
    """Values of the setting `record`."""

    NONE = "none"
    METADATA = "metadata"
    FULL = "full"


class Durability(StrEnum):
    """Which part of an answer waits until its turn is on disk."""

    STRICT = "strict"
    """The event on which clients act: the chunk with the last finish_reason, or a plain body."""
    STRICT_TOOLS = "strict_tools"
    """Tool-call deltas too."""
    RELAXED = "relaxed"
    """Nothing. Needs one worker, or sessions that stay on one worker."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerKey(Section):
    """The gateway's key for a server, given directly or by an environment variable."""

    key: SecretStr | None = None
    key_env: str | None = None
    """The environment variable that holds the key."""

    @model_validator(mode="after")
    def _check_key(self) -> Self:
        if self.key is not None and self.key_env is not None:
            raise ValueError("give either `key` or `key_env`")
        if self.key_env is not None and not os.environ.get(self.key_env):
            raise ValueError(f"the variable {self.key_env} (key_env) is not set; set it")
        return self

    @cached_property
    def secret(self) -> str | None:
        """The key, from wherever it was given."""
        if self.key is not None:
            return self.key.get_secret_value()
        return os.environ[self.key_env] if self.key_env else None


class Timeouts(Section):
    """Seconds."""

    connect: Seconds = 10.0
    pool_wait: Seconds = 30.0
    first_byte: Seconds = 600.0
    between_chunks: Seconds = 120.0
    after_completion: Seconds = 1.0
    """How long the completing event of a stream waits for the events after it (usage, the end mark)."""
    total: Seconds = 3600.0
    keep_alive: Seconds = 75.0
    """How long a client's idle connection is kept: longer than clients keep theirs (usually 5 s), since a
    request is lost if the connection closes while it is sent."""
    idle: Seconds = 4.0
    """How long an idle connection to an upstream is kept: shorter than servers keep theirs (usually 5 s),
    since a request is lost if the connection closes while it is sent, unless it may be repeated."""
    unnamed_retry: Seconds = 600.0
    """How long a request that names no session may be the retry of an equal one whose answer noise destroyed.
    """
    expression: Seconds = 0.05
    """How long a search for a regular expression of a profile may take. After three that took longer, the
    expression isn't searched for any more, and its rule doesn't act."""
    drain: Seconds = 30.0
    """How long requests in flight may continue after SIGTERM."""
    header: Seconds = 60.0
    """How long a client may take for a request's line and headers, and for its first request at all."""
    body: Seconds = 60.0
    """How long a client may take for each 64 KB of a request's body."""
    send: Seconds = 300.0
    """How long a client may read nothing of an answer while more of it waits to be sent."""
    linger: Seconds = 5.0
    """How long what a client still sends is read and dropped after an answer that ends its connection: it
    would lose the answer otherwise."""


class Limits(Section):
    """Sizes in bytes, unless the name says otherwise."""

    body: Positive = 64 << 20
    bodies: Size = 1 << 30
    """The bodies of all requests that are being served, received and decoded, in each process."""
    header: Positive = 64 << 10
    """A request's headers, and the fields behind a body in chunks."""
    header_lines: Positive = 256
    url: Positive = 32 << 10
    clients: Positive = 20_000
    """Connections of clients to each plane, in each process. Fewer if fewer files may be open."""
    clients_per_address: Positive = 20_000
    clients_half_open: Positive = 12_000
    """Connections whose first request, or next one, isn't there to the end of its head."""
    event: Positive = 8 << 20
    """The largest event of a stream that is parsed; larger ones are relayed unread."""
    answer: Positive = 64 << 20
    """The largest plain answer that is buffered and recorded; a larger one is relayed as it arrives."""
    stream: Positive = 256 << 20
    """The largest streamed answer that is kept for the record. A longer one is still relayed, and its turn is
    recorded without it.
    """
    decoded: Positive = 256 << 20
    """The most bytes decoded of one compressed answer; the rest is relayed unread."""
    control_body: Positive = 8 << 20
    """The largest body of a request to the control plane."""
    connections: Positive = 4000
    """Connections to each upstream."""
    destroyed_answers: Positive = 100_000
    """How many answers that noise destroyed are remembered for retries that name no session."""
    live_sessions: Positive = 20_000
    """Sessions kept in memory; others are read from the store when they return."""
    live_bytes: Positive = 256 << 20
    """The approximate memory for their histories."""


class HashedKey(Section):
    """A key that is checked by its digest."""

    key: SecretStr | None = None
    key_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The key's SHA-256 in hexadecimal, instead of the key (`crosswind doctor --hash-key`). A fast digest is
    enough, because keys are long and random and can't be guessed.
    """

    @model_validator(mode="after")
    def _check_key(self) -> Self:
        if (self.key is None) == (self.key_sha256 is None):
            raise ValueError("give either `key` or `key_sha256`")
        return self

    @property
    def digest(self) -> str:
        """The key's SHA-256, in hexadecimal."""
        if self.key is not None:
            return sha256(self.key.get_secret_value().encode()).hexdigest()
        return str(self.key_sha256)


DEFAULT_TENANT = "default"
"""The tenant of keys that name none."""


class Key(HashedKey):
    """A key that the data plane accepts (`auth: keys`)."""

    tenant: str | None = None
    profile: str | None = None


class Role(StrEnum):
    """What a key of the control plane allows. Each role includes those before it."""

    READ = "read"
    """To read sessions, trajectories, profiles and metrics."""
    OPERATE = "operate"
    """To open, reward and close sessions, and to set profiles, the curriculum, versions and the switch."""
    ADMIN = "admin"
    """To delete sessions, name servers of tools and reload the configuration."""


class ControlKey(HashedKey):
    """A key that the control plane accepts."""

    role: Role = Role.READ
    tenant: str | None = None
    """It allows only this tenant's sessions, and nothing that concerns the others."""


class Retention(Section):
    """Sessions that the gateway deletes from its store. Off by default."""

    age: Duration | None = None
    """Delete sessions that had no activity for longer."""
    size: Size | None = None
    """Delete the oldest sessions while the store is larger, in bytes."""
    every: Duration = 3600.0
    """The interval of the check."""
    all: bool = False
    """Delete open sessions and those that wait for a reward, too."""
    deleted_ids: Duration = 3600.0
    """How long a late request can't open the id of a deleted session again."""


class SteeringCap(Section):
    """The limit on what clients may request by header."""

    profiles: tuple[str, ...] | None = None
    """Profiles that may be requested; None: only the configured one."""
    seed: bool = True


Share = Annotated[float, Field(ge=0, le=1)]


class Dose(Section):
    """Caps on noise, whatever profiles say."""

    share: Share = 1.0
    """The share of noisy sessions, among those that weren't opened with an arm or in a group."""
    tenants: dict[str, Share] = {}
    """A smaller share for some tenants."""
    drill_share: Share = 0.1
    """The largest share of sessions that a drill may ask for."""
    events_per_session: Positive | None = None
    events_per_tool: Positive | None = None
    """Injections into one tool's results, per session."""
    faults_in_flight: Positive | None = None
    """Concurrent faults of links and providers, over all workers."""


class Training(Section):
    """Back-pressure of the trainer."""

    lag_limit: Annotated[float, Field(ge=1)] | None = None
    """How many training steps' worth of finished rollouts may wait for a trainer, before new sessions that it
    would train on are refused.
    """
    lag_every: Seconds = 1.0
    """How often the lag is looked at, in seconds."""
    retry_after: Seconds = 5.0
    """When a refused client is told to come again, in seconds."""


class Abort(Section):
    """When noise switches itself off. Failures that noise itself caused don't count."""

    error_rate: Share | None = None
    """The share of requests that fail."""
    latency: Seconds | None = None
    """Seconds that a request may take, without injected waits."""
    slow_share: Share = 0.5
    """The share of requests that may take longer."""
    window: Seconds = 60.0
    """The window that is judged, in seconds."""
    least: Positive = 20
    """The fewest requests in the window to judge."""


class ThirdParty(Section):
    """Operators of other packages; they run in a separate process."""

    deadline: Seconds = 0.25
    """Seconds for one draw or its application; after that the process is killed and restarted."""
    start: Seconds = 10.0
    """Seconds until the process must answer for the first time."""
    memory: Positive = 2 << 30
    """The process's memory limit in bytes; an operator that allocates more fails. Linux only."""
    failures: Positive = 5
    """Missing or wrong answers, among the last `window`, that switch an operator off until a restart."""
    window: Positive = 50
    """The number of recent answers that count."""


class Telemetry(Section):
    """OpenTelemetry traces."""

    endpoint: str | None = None
    """Where spans are sent, OTLP over HTTP: http://127.0.0.1:4318/v1/traces. Needs the extra `telemetry`."""
    service: str = "crosswind"


class Logging(Section):
    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"
    access: bool = False
    """Log an event of level info for each request: no bodies, no credentials."""
    repeat_after: Annotated[float, Field(ge=0)] = 60.0
    """Seconds in which a warning or an error is logged once; the others are counted. 0: all are logged."""
