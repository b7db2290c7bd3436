"""Control routes for drills: begin one, end it, and read what it did."""

from __future__ import annotations

import asyncio
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.sections import Detail
from crosswind.gateway.control.access import Visiting, Visitor
from crosswind.gateway.control.models import Body, Count, Name, Storable, StoredName
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.sessions.drills import DRILLED, KIND, Drill, DrillEnd

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway

_LONGEST_S = 7 * 86400.0
Part = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def _refuse_own(labels: dict[str, Any]) -> dict[str, Any]:
    if own := {KIND, DRILLED} & labels.keys():
        raise ValueError(f"the label {min(own)!r} is set by the drill itself; leave it out")
    return labels


class DrillOrder(Body):
    """A drill. `share` is that of the sessions which traffic opens; `seconds` is how long it may last."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"profile": "chaos/flaky-tools", "share": 0.05, "seconds": 600}]}
    )

    profile: Name
    share: Part
    seconds: Annotated[float, Field(gt=0, le=_LONGEST_S, allow_inf_nan=False)]
    max_injections: Annotated[Count, Field(ge=1)] | None = None
    """How many injections there may be in all."""
    abort_above: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """The share of failed turns in drilled sessions above which it ends. Injected failures don't count."""
    seed: Count = 0
    labels: Annotated[dict[str, str | int | float | bool | None], Storable, AfterValidator(_refuse_own)] = (
        Field(default_factory=dict)
    )
    """For the sessions that are opened during the drill."""
    by: StoredName | None = None
    """Who orders it, for the record."""


class EndOrder(Body):
    """The end of a drill."""

    by: StoredName | None = None
    reason: StoredName = "it was ended by an order"


class DrillState(BaseModel):
    """A drill, what it did, and how it ended. Times are microseconds since 1970."""

    id: str
    profile: str
    share: float
    seed: int
    labels: dict[str, Any]
    max_injections: int | None
    abort_above: float | None
    began_us: int
    deadline_us: int
    began_by: str
    ended_us: int | None
    ended_by: str | None
    end: DrillEnd | None
    reason: str | None
    injected: int
    """Injections that were decided, of which some may have been withheld later. The page has what acted."""
    turns: int
    failed: int


class DrillList(BaseModel):
    drills: list[DrillState]


class DrillRecord(BaseModel):
    """What its page is made of: the sessions that traffic opened during the drill, without content."""

    outcomes: list[dict[str, Any]]
    events: list[dict[str, Any]]
    withheld: list[dict[str, Any]]


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api/drills", tags=["noise"])
    drills, control = gateway.drills, gateway.drill_control

    def find(drill_id: str) -> Drill:
        try:
            return drills.known[drill_id]
        except KeyError:
            raise ServiceError(
                404, f"unknown drill {drill_id!r}; list them with GET /api/drills", code="drill_not_found"
            ) from None

    def describe(drill: Drill) -> DrillState:
        spent = drills.counts.read(drill.id)
        told = msgspec.structs.asdict(drill)
        return DrillState(**told, injected=spent.injected, turns=spent.turns, failed=spent.failed)

    @routes.get("")
    async def known() -> DrillList:
        """All drills, with who began and ended them, when and why; the latest last."""
        found = sorted(drills.known.values(), key=lambda one: one.began_us)
        return DrillList(drills=[describe(one) for one in found])

    @routes.post("")
    async def begin(body: DrillOrder, visitor: Visiting) -> DrillState:
        """Begin a drill. It is on disk, with its deadline, before it acts. 409 while another one runs."""
        control.refuse_second()
        drill = _make_drill(gateway, body, visitor)
        await control.begin(drill)
        return describe(drill)

    @routes.get("/{drill_id}")
    async def state(drill_id: str) -> DrillState:
        """A drill."""
        return describe(find(drill_id))

    @routes.post("/{drill_id}/end")
    async def end(drill_id: str, body: EndOrder, visitor: Visiting) -> DrillState:
        """End a drill at once. One that has ended stays as it is."""
        if find(drill_id).end is None:
            await control.end_everywhere(body.reason, _name(visitor, body.by))
        return describe(find(drill_id))

    @routes.get("/{drill_id}/record")
    async def record(drill_id: str) -> DrillRecord:
        """The sessions that traffic opened during a drill, drilled and others, and the noise in them."""
        find(drill_id)
        return await asyncio.to_thread(_read_record, gateway, drill_id)

    return routes


def _make_drill(gateway: Gateway, order: DrillOrder, visitor: Visitor) -> Drill:
    """The drill that was ordered. Raises ProfileError, and ServiceError 400 for what can't be."""
    settings = gateway.settings
    most = min(settings.dose.drill_share, settings.dose.share)
    if order.share > most:
        raise ServiceError(
            400,
            f"share: {order.share:g} is more than a drill may have, {most:g}; give less, or raise "
            "dose.drill_share and dose.share",
            code="share_too_large",
            param="share",
        )
    if not gateway.profiles.get(order.profile).rules:
        raise ServiceError(
            400,
            f"profile: {order.profile!r} has no rules, so that nothing could be injected; name another one",
            code="invalid",
            param="profile",
        )
    if settings.record is Detail.NONE:
        raise ServiceError(
            400, "record: with none a drill leaves no record; set it to metadata or full", code="not_recorded"
        )
    now = gateway.drills.clock()
    return Drill(
        id=f"d-{token_hex(6)}",
        profile=order.profile,
        share=order.share,
        seed=order.seed,
        labels=order.labels,
        max_injections=order.max_injections,
        abort_above=order.abort_above,
        least=settings.abort.least,
        began_us=now_us(),
        deadline_us=now + int(order.seconds * 1e6),
        began_by=_name(visitor, order.by),
    )


def _name(visitor: Visitor, said: str | None) -> str:
    """Who gives an order: what they say, and what their key proves."""
    proven = f"role {visitor.role.value}" if visitor.role else "no role"
    return f"{said or 'unnamed'} ({proven})"


def _read_record(gateway: Gateway, drill_id: str) -> DrillRecord:
    store = gateway.store
    outcomes = [one for one in store.outcomes() if one.labels.get(KIND) == drill_id]
    numbers = {one.number for one in outcomes}
    return DrillRecord(
        outcomes=msgspec.to_builtins(outcomes),
        events=[msgspec.to_builtins(one) for one in store.noise_events() if one.session in numbers],
        withheld=[msgspec.to_builtins(one) for one in store.withholdings() if one.session in numbers],
    )
