"""Control routes for tool legs outside the gateway: they attach to a session, and deliver their events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from fastapi import APIRouter
from msgspec.structs import replace
from pydantic import BaseModel, Field

from crosswind.gateway.control.access import Visiting, Visitor
from crosswind.gateway.control.models import Body, Name
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.inference import SessionHints
from crosswind.gateway.sessions.session import LiveSession, SessionClaim
from crosswind.gateway.sessions.tool_legs import label_tools
from crosswind.gateway.tools.events import CALL, Outcome, ToolEvent, as_row
from crosswind.gateway.tools.masking import mask_event
from crosswind.gateway.trajectory.record import ENDED, LEG, OPEN, Event, SessionMarked
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.packs.load import OWN

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway

MOST_EVENTS = 1000
"""In one request."""
_SITES = frozenset((Site.TOOL_RESULT, Site.TOOL_SCHEMA, Site.TRANSPORT))
"""Where noise acts on a tool leg."""


class AttachLeg(Body):
    """A tool leg attaches to a session."""

    link: Name
    """The server's name."""
    tools: Annotated[list[Name], Field(max_length=10_000)] | None = None
    """The tools that it serves, which noise on the model's side leaves alone from now on. Leave it out as
    long as they aren't known."""
    profile: Name | None = None
    """Of the session, if it isn't open yet."""
    leg: Name | None = None
    """The leg's own name, if it ends with its session: a trainer waits until it has delivered its events."""


class AttachedLeg(BaseModel):
    session: str
    plan: dict[str, Any]
    """What the session gets."""
    noise: bool
    """Whether noise is switched on."""
    packs: dict[str, str] | None = None
    """What goes before the shipped phrase packs here: the text of each file, by its name (`fr/search`). None
    where the plan draws no phrases, or the leg has its plan already, since it names its tools."""


class DeliverEvents(Body):
    """Events of a tool leg. One that came before is not stored again."""

    events: Annotated[list[dict[str, Any]], Field(max_length=MOST_EVENTS)]
    ended: Name | None = None
    """The leg's own name, if these are its last."""


class DeliveredEvents(BaseModel):
    stored: int
    noise: bool
    """Whether noise is switched on."""


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api/sessions", tags=["sessions"])

    @routes.post("/{session_id}/tool-leg")
    async def attach(session_id: str, body: AttachLeg, visitor: Visiting) -> AttachedLeg:
        """Attach a tool leg to a session. One that nobody has opened yet is opened, as by a first request,
        and its plan is frozen.
        """
        session = await _find(gateway, session_id, visitor, body.profile)
        labels = {} if body.tools is None else label_tools(body.link, body.tools)
        if body.leg is not None:
            labels[f"{LEG}{body.leg}"] = OPEN
        if labels:
            await gateway.acknowledge([session.record, SessionMarked(session_id, labels=labels)])
            session.mark(labels={**session.record.labels, **labels})
        else:
            await gateway.acknowledge([session.record])
        session.unwritten = False
        noise = _allow_noise(gateway, session)
        packs = dict(OWN.texts) if session.plan.packs and body.tools is None else None
        return AttachedLeg(session=session_id, plan=session.plan.to_json(), noise=noise, packs=packs)

    @routes.post("/{session_id}/tool-events")
    async def deliver(session_id: str, body: DeliverEvents, visitor: Visiting) -> DeliveredEvents:
        """Store events of a tool leg: calls, faults on the wire, attempts and recoveries."""
        session = await _find(gateway, session_id, visitor, None)
        redactor = gateway.data.proxy.redactor
        operators = registry.operators().keys() | {rule.operator for rule in session.plan.rules} | {CALL}
        rows = [_mask(_read(one, session_id, operators), redactor) for one in body.events]
        known = {
            (one.attempt, one.ordinal)
            for one in await asyncio.to_thread(gateway.store.events, session_id)
            if one.turn_index < 0
        }
        given = {(row.attempt, row.ordinal): row for row in reversed(rows)}
        new = [given[key] for key in reversed(given) if key not in known]
        ended = {name: ENDED for name in (f"{LEG}{body.ended}",) if name in session.record.labels}
        marks = [SessionMarked(session_id, labels=ended)] if ended else []
        await gateway.acknowledge([session.record, *new, *marks])
        session.unwritten = False
        if ended:
            session.mark(labels={**session.record.labels, **ended})
        await gateway.drills.add(session.record, sum(one.after is not None for one in new), taken=False)
        noise = _allow_noise(gateway, session)
        return DeliveredEvents(stored=len(new), noise=noise)

    return routes


def _allow_noise(gateway: Gateway, session: LiveSession) -> bool:
    stopped = session.record.noise_stopped or not gateway.switch.enabled
    return not stopped and gateway.drills.allow_noise(session.record)


async def _find(gateway: Gateway, session_id: str, visitor: Visitor, profile: str | None) -> LiveSession:
    """The session; one that nobody has opened yet is opened, if the configuration allows it."""
    session = await gateway.sessions.get(session_id)
    if session is None:
        caller = Caller(tenant=visitor.tenant or gateway.settings.default_tenant)
        claim = SessionClaim(session_id, "path", caller, profile=profile)
        session = (await gateway.sessions.find(claim, SessionHints())).session
        session.type_choice = None  # Its plan is frozen here, before its first request is known.
    if not visitor.sees(session.record):
        raise ServiceError(
            404,
            f"unknown session {session_id!r}; list them with GET /api/sessions",
            code="session_not_found",
        )
    return session


def _read(data: Mapping[str, Any], session_id: str, operators: Collection[str]) -> ToolEvent:
    try:
        json.dumps(data, allow_nan=False)
        event = msgspec.convert({**data, "session": session_id}, ToolEvent)
        _check(event, operators)
    except ValueError as error:  # msgspec's are such, too
        raise ServiceError(
            400, f"events: {error}; send them as the relay wrote them", code="invalid"
        ) from None
    return event


def _check(event: ToolEvent, operators: Collection[str]) -> None:
    """Raise ValueError for what no leg of this session writes: reports and metrics go by these names."""
    if event.operator not in operators:
        raise ValueError(f"no operator is named {event.operator[:100]!r}")
    if event.site not in _SITES:
        raise ValueError(f"site: {event.site[:100]!r} is none of a tool leg ({', '.join(sorted(_SITES))})")
    if event.operator == CALL and str(event.draw.get("outcome")) not in frozenset(Outcome):
        raise ValueError(f"draw.outcome of a call is none of {', '.join(Outcome)}")


def _mask(event: ToolEvent, redactor: Redactor) -> Event:
    """The event's row, without secrets: the relay that wrote it knows others than the gateway."""
    return as_row(replace(mask_event(event, redactor), anchor=redactor.mask_name(event.anchor)))
