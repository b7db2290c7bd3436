"""Request and response bodies of the control plane. This is the only place that validates them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crosswind.gateway.control_characters import CONTROL_CHARACTERS
from crosswind.gateway.recorder.redaction import Redactor, holds_secret
from crosswind.injectors.targets import Half, ToolClass

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=rf"^[^{CONTROL_CHARACTERS}]*$")]


def _refuse_secret(name: str) -> str:
    """Raise ValueError if a name, which is stored and logged, holds a key."""
    if holds_secret(name):
        raise ValueError("there is a key in this name; give a name that is no secret")
    return name


def _mask_values(given: dict[str, Any]) -> dict[str, Any]:
    """Mask the secrets in a JSON object: its values are stored."""
    raw = json.dumps(given)
    masked = _REDACTOR.mask_name(raw)
    return given if masked is raw else dict(json.loads(masked))


_REDACTOR = Redactor("redact")
StoredName = Annotated[Name, AfterValidator(_refuse_secret)]
"""A name that is stored."""
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A number as large as the store holds."""


def _storable(given: dict[str, Any]) -> dict[str, Any]:
    """Raise ValueError if the value is not storable as JSON."""
    try:
        json.dumps(given, allow_nan=False)
    except ValueError:
        raise ValueError("NaN and Infinity are no JSON; give finite numbers, or null") from None
    return given


Storable = AfterValidator(lambda given: _mask_values(_storable(given)))


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OpenSession(Body):
    """A new session. All fields are optional; `arm` auto: by the curriculum for sessions of a group, else
    noisy unless the profile is off.
    """

    id: Annotated[StoredName, Field(max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")] | None = None
    """A name for it that no session has or had; by default a random one. Draws don't depend on it."""
    task_id: StoredName | None = None
    group_id: StoredName | None = None
    group_size: Annotated[Count, Field(ge=1)] | None = None
    rollout_index: Count | None = None
    arm: Literal["clean", "noisy", "auto"] = "auto"
    profile: Name | None = None
    noise_type: Name | None = None
    level: Count | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    seed_scope: Literal["session", "group", "task"] | None = None
    labels: Annotated[dict[str, str | int | float | bool | None], Storable] = Field(default_factory=dict)
    user_can_answer: bool | None = None
    """Whether somebody answers the agent's questions; by default what the profile says."""
    phrases: Half | None = None
    """The half of the phrase packs; by default the profile's."""
    tool_classes: Annotated[dict[Name, ToolClass], Field(max_length=1000)] = Field(default_factory=dict)
    """What the agent's tools do, by name or glob: before the configuration's and the profile's tables."""
    policy: StoredName | None = None
    tenant: StoredName | None = None
    """Whose session it is: with `auth: keys`, only that tenant's keys may use it, besides its own."""
    api_key: Annotated[str, Field(min_length=24, max_length=200, pattern="^cw-[A-Za-z0-9_-]+$")] | None = None
    """A key that goes on from session to session: the session that had it is closed."""


class OpenedSession(BaseModel):
    """An open session: where its agent finds the gateway, and the key by which it may."""

    id: str
    base_url: str
    anthropic_base_url: str
    api_key: str
    arm: str
    plan: dict[str, Any]
    behaviours: list[dict[str, Any]] = Field(default_factory=list)
    """How the simulated user behaves whose session this is: what `user.interaction_pattern` has drawn."""


class Reward(Body):
    """A reward. Rewards are appended: the latest counts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reward": 1.0}]})

    reward: Annotated[float, Field(allow_inf_nan=False)]
    components: Annotated[dict[str, Any], Storable] = Field(default_factory=dict)
    source: StoredName = "agent"


class Close(Body):
    """The end of a session. A void one gets no reward: the infrastructure failed it, for example."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"void": "APITimeoutError"}]})

    void: StoredName | None = None
    """Why it is void; it is also kept as the label `void`."""


class ProfileText(Body):
    """A profile's YAML text."""

    yaml: Annotated[str, Field(max_length=256 << 10)]


class NoiseSwitch(Body):
    """The kill switch: `enabled` false stops all noise."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"enabled": False}]})

    enabled: bool


class NoiseState(BaseModel):
    """Whether there may be noise, and the `reason` where there may be none: an order, an abort condition or
    the kill switch's file.
    """

    enabled: bool
    reason: str | None = None


class Deleted(BaseModel):
    """How many sessions were deleted."""

    deleted: int


class Numbering(BaseModel):
    """What numbers of groups were used up."""

    highest: int | None


class Acknowledged(BaseModel):
    """What was asked for is on disk."""

    ok: Literal[True] = True


class Failure(BaseModel):
    """What went wrong, and the field that it is about."""

    message: str
    type: str
    param: str | None
    code: str | None


class Failed(BaseModel):
    """An error, in OpenAI's shape."""

    error: Failure
