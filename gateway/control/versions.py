"""Control routes for policy versions: which of them may be trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from fastapi import APIRouter, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from crosswind.gateway.clock import steady_us
from crosswind.gateway.control.models import Acknowledged
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.servers import SERVER, server_of
from crosswind.gateway.trajectory.trust import VERSION

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway

Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class VersionTrust(BaseModel):
    """What whoever published a version says of the engine that serves it."""

    model_config = ConfigDict(extra="forbid")

    trusted: bool | None = None
    """Whether what the engine samples as this version may be trained on."""
    swapping: bool | None = None
    """Whether an engine is being given this version, and hasn't been confirmed to serve it yet; false: it
    refused.
    """
    reason: Annotated[str, Field(max_length=2000)] | None = None
    max_difference: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Of the engine's and the trainer's log-probabilities."""
    engines: Annotated[tuple[Annotated[str, AfterValidator(server_of)], ...], Field(max_length=1000)] = ()
    """The URLs of the servers that it is said of; none: of all that serve the version."""
    away: bool = False
    """With `trusted` false: these servers are away, and nothing is known against the version itself."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.trusted is None) == (self.swapping is None):
            raise ValueError("give either `trusted` or `swapping`")
        return self


class Versions(BaseModel):
    """The versions that anything was said of, whether turns of no known version are captured, and of which
    servers no turn is.
    """

    capture_stopped: str | None
    versions: dict[str, dict[str, Any]]
    servers: dict[str, dict[str, Any]]


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["versions"])

    @routes.get("/versions")
    async def versions() -> Versions:
        """The policy versions that were confirmed or doubted, and why the capture for training stands still
        where it does.
        """
        trust = gateway.trust
        return Versions(
            capture_stopped=trust.stopped,
            versions={name: dict(said) for name, said in trust.versions.items()},
            servers={url: dict(said) for url, said in trust.servers.doubted.items()},
        )

    @routes.put("/versions/{name}")
    async def put_version(name: Name, body: VersionTrust) -> Acknowledged:
        """Say that an engine serves a version rightly (it was confirmed), or that it doesn't: then turns are
        recorded `policy_mismatch`, unfit for training, until a version is confirmed.

        `swapping` says that an engine is being given it: turns of an engine that names no versions are
        recorded `version_span_unknown` if they last into that, until a version is confirmed.

        With `engines` it is said of those alone. Where the gateway has them among an upstream's replicas,
        what a doubted one samples is unfit until it is confirmed itself, whatever the others are.
        """
        settings = _make_trust_settings(gateway, name, body)
        for setting in settings:
            await gateway.shared.publish_trust(setting)
        if body.trusted is not None:
            await gateway.acknowledge(settings)
        return Acknowledged()

    return routes


def _make_trust_settings(gateway: Gateway, name: str, body: VersionTrust) -> list[Setting]:
    """The settings for servers and for the version. A statement about an upstream's only server, or about an
    unknown address, applies to the version: their turns can't be told apart.
    """
    now, among = steady_us(), _list_replicated_servers(gateway)
    value = body.model_dump(exclude_none=True, exclude={"engines", "away"})
    of_version = Setting(VERSION, name, value, now)
    if body.swapping is not None:
        return [of_version]
    doubted = gateway.trust.servers.doubted
    if body.trusted:
        confirmed = [url for url in doubted if not body.engines or url in body.engines]
        return [*(Setting(SERVER, url, value | {"version": name}, now) for url in confirmed), of_version]
    known = [url for url in body.engines if url in among]
    of_servers = [Setting(SERVER, url, value | {"version": name}, now) for url in known]
    narrow = body.away and known and len(known) == len(body.engines)
    return of_servers if narrow else [*of_servers, of_version]


def _list_replicated_servers(gateway: Gateway) -> frozenset[str]:
    """The servers of upstreams with several replicas."""
    upstreams = (one.replicas.members for one in gateway.upstreams)
    return frozenset(server_of(one.base) for members in upstreams if len(members) > 1 for one in members)
