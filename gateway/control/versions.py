"""Control routes of policy versions: which of them may be trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateway.control.models import Acknowledged
from gateway.opening import now_us
from gateway.trajectory.record import Setting
from gateway.trajectory.trust import VERSION

if TYPE_CHECKING:
    from gateway.gateway import Gateway

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

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.trusted is None) == (self.swapping is None):
            raise ValueError("give either `trusted` or `swapping`")
        return self


class Versions(BaseModel):
    """The versions that anything was said of, and whether turns of no known version are captured."""

    capture_stopped: str | None
    versions: dict[str, dict[str, Any]]


def router(gateway: Gateway) -> APIRouter:
    """The routes /api/versions."""
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
        )

    @routes.put("/versions/{name}")
    async def put_version(name: Name, body: VersionTrust) -> Acknowledged:
        """Say that an engine serves a version rightly (it was confirmed), or that it doesn't: then turns are
        recorded `policy_mismatch`, unfit for training, until a version is confirmed.

        `swapping` says that an engine is being given it: turns of an engine that names no versions are
        recorded `version_span_unknown` if they last into that, until a version is confirmed.
        """
        value = {key: said for key, said in body.model_dump().items() if said is not None}
        setting = Setting(VERSION, name, value, now_us())
        await gateway.tell_version(setting)
        if body.trusted is not None:
            await gateway.acknowledge([setting])
        return Acknowledged()

    return routes
