"""Sections of the configuration, each a small model of its own."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from crosswind.gateway.trajectory.retention import parse_bytes, parse_seconds

Seconds = Annotated[float, Field(gt=0)]
Positive = Annotated[int, Field(gt=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
Duration = Annotated[float, Field(gt=0), BeforeValidator(lambda value: measured(parse_seconds, value))]
"""Seconds, or text such as 30d, 12h, 90m."""
Size = Annotated[int, Field(gt=0), BeforeValidator(lambda value: measured(parse_bytes, value))]
"""Bytes, or text such as 10GB, 512MiB."""
Secrets = Literal["redact", "block_training", "keep"]


def measured(read: Callable[[str], float], value: object) -> object:
    """The value of a measure that is given as text; numbers as they are."""
    return read(value) if isinstance(value, str) else value


class Detail(StrEnum):
    """Values of the setting `record`."""

    NONE = "none"
    METADATA = "metadata"
    FULL = "full"


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
    keep_alive: Seconds = 75.0
    """How long a client's idle connection is kept: longer than clients keep theirs (5 s is usual), since a
    request that meets the end of its connection is lost."""
    idle: Seconds = 4.0
    """How long a connection to an upstream is kept without a request: shorter than servers keep theirs
    (5 s is usual), since a request that meets the end of its connection is lost unless it may be repeated."""
    drain: Seconds = 30.0
    """How long requests in flight may go on after SIGTERM."""


class Limits(Section):
    """Sizes in bytes, unless the name says otherwise."""

    body: Positive = 64 << 20
    header: Positive = 64 << 10
    event: Positive = 8 << 20
    """The largest event of a stream that is looked into; larger ones are relayed unseen."""
    answer: Positive = 64 << 20
    """The largest plain answer that is held, to be read and recorded; a larger one is relayed as it comes."""
    stream: Positive = 256 << 20
    """The most of a streamed answer, as it comes, that is kept for the record. What is longer is relayed all
    the same, and its turn is recorded without it.
    """
    decoded: Positive = 256 << 20
    """The most that is decoded of one compressed answer, for the record; what follows is relayed unseen."""
    connections: Positive = 4000
    """Connections to each upstream."""
    live_sessions: Positive = 20_000
    """Sessions that are kept in memory; others are read from the store when they return."""
    live_bytes: Positive = 256 << 20
    """About how much memory their histories may take."""


class Key(Section):
    """A key of ours (`auth: keys`)."""

    key: SecretStr | None = None
    key_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The key's SHA-256 in hexadecimal, in place of the key (`crosswind doctor --hash-key`). Keys are long
    and random, so that a fast digest is enough: it can't be guessed back.
    """
    tenant: str | None = None
    profile: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.key is None) == (self.key_sha256 is None):
            raise ValueError("give either `key` or `key_sha256`")
        return self

    @property
    def digest(self) -> str:
        """The key's SHA-256, in hexadecimal."""
        if self.key is not None:
            return sha256(self.key.get_secret_value().encode()).hexdigest()
        return str(self.key_sha256)


class Retention(Section):
    """What the gateway lets go of its store by itself. Off by default."""

    age: Duration | None = None
    """Sessions without activity for longer are deleted."""
    size: Size | None = None
    """While the store holds more bytes, its oldest sessions are deleted."""
    every: Duration = 3600.0
    """How often the store is looked at."""
    all: bool = False
    """Open sessions and those that wait for a reward, too; otherwise they stay."""


class SteeringCap(Section):
    """What clients may ask for by header at most."""

    profiles: tuple[str, ...] | None = None
    """Profiles that may be asked for; None: the configured one only."""
    seed: bool = True


Share = Annotated[float, Field(ge=0, le=1)]


class Dose(Section):
    """Caps on noise, whatever profiles say."""

    share: Share = 1.0
    """The share of sessions that may be noisy, of those that weren't opened with an arm or in a group."""
    tenants: dict[str, Share] = {}
    """The share by tenant, where it is less."""
    events_per_session: Positive | None = None
    events_per_tool: Positive | None = None
    """Injections into one tool's results, per session."""
    faults_in_flight: Positive | None = None
    """Faults of links and providers that are carried out at a time, over all workers."""


class Abort(Section):
    """When noise switches itself off. What noise itself broke doesn't count."""

    error_rate: Share | None = None
    """The share of requests that fail."""
    latency: Seconds | None = None
    """Seconds that a request may take, injected waits aside."""
    slow_share: Share = 0.5
    """The share of requests that may take longer."""
    window: Seconds = 60.0
    """The last so many seconds are looked at."""
    least: Positive = 20
    """Fewer requests than that are not judged."""


class ThirdParty(Section):
    """Third parties' operators: they run in a process of their own."""

    deadline: Seconds = 0.25
    """Seconds that one may take to draw, or to carry out a draw; then the process is killed and made anew."""
    start: Seconds = 10.0
    """Seconds that the process may take till it answers for the first time."""
    memory: Positive = 2 << 30
    """Bytes of data that the process may hold; an operator that asks for more fails. Linux only."""
    failures: Positive = 5
    """How many of its last answers may be missing or wrong; then it is switched off till the restart."""
    window: Positive = 50
    """How many answers the last ones are."""


class Telemetry(Section):
    """OpenTelemetry traces."""

    endpoint: str | None = None
    """Where spans are sent, OTLP over HTTP: http://127.0.0.1:4318/v1/traces. Needs the extra `telemetry`."""
    service: str = "crosswind"


class Logging(Section):
    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"
