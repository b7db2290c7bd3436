"""Control routes for sessions and groups. A 2xx for a change means that it is on disk."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response

from crosswind.gateway.clock import now_us
from crosswind.gateway.control.access import Visiting, Visitor
from crosswind.gateway.control.models import (
    Acknowledged,
    Close,
    Deleted,
    Numbering,
    OpenedSession,
    OpenSession,
    Reward,
)
from crosswind.gateway.control.views import describe_row, describe_trajectory, make_json_response
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.auth import key_digest, new_session_key
from crosswind.gateway.sessions.keys import KIND, key_setting
from crosswind.gateway.sessions.session import LiveSession, Opening, make_session
from crosswind.gateway.trajectory import record
from crosswind.gateway.trajectory.dose import measure
from crosswind.gateway.trajectory.record import (
    RewardState,
    Row,
    SessionClosed,
    SessionDeleted,
    SessionMarked,
    SessionStatus,
)
from crosswind.gateway.trajectory.sqlite.deletion import numbering_of
from crosswind.injectors.engine.curriculum import Curriculum, assign
from crosswind.injectors.engine.patterns import find_behaviours
from crosswind.injectors.engine.plan import Assignment

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway

_AT_ONCE = 50
"""Sessions deleted per transaction."""


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api/sessions", tags=["sessions"])
    _write_routes(routes, gateway)
    _delete_routes(routes, gateway)
    _read_routes(routes, gateway)
    return routes


def group_router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api/groups", tags=["groups"])

    @routes.get("/deleted")
    async def deleted(prefix: str, visitor: Visiting) -> Numbering:
        """The highest number of a deleted session's group, of those whose ids are `prefix` (which ends with
        "-") and a number. A tenant's key learns of that tenant's sessions.
        """
        kind = numbering_of(visitor.tenant)
        found = await asyncio.to_thread(gateway.store.setting, kind, prefix)
        return Numbering(highest=None if found is None else found.value["highest"])

    return routes


def _write_routes(routes: APIRouter, gateway: Gateway) -> None:
    one_at_a_time = asyncio.Lock()

    @routes.post("", status_code=201)
    async def open_session(body: OpenSession, visitor: Visiting) -> OpenedSession:
        """Open a session; its plan is frozen now."""
        session_id, key = body.id or f"s-{secrets.token_hex(12)}", body.api_key or new_session_key()
        tenant = visitor.of_tenant(body.tenant) or gateway.settings.default_tenant
        session = make_session(gateway.profiles, await _make_opening(gateway, body, session_id, tenant))
        await gateway.trainer_lag.admit(session.record)
        session.type_choice = None  # Its plan is frozen here, before its tools are known.
        # One at a time, so that each request with the same key or name finds the session before it.
        async with one_at_a_time if body.api_key or body.id else nullcontext():
            if body.id is not None:
                await _refuse_known(gateway, body.id)
            ended = await _find_session_of_key(gateway, key, tenant) if body.api_key else None
            closing = [] if ended is None else [SessionClosed(ended.record.id, now_us())]
            await gateway.acknowledge([session.record, key_setting(key, session_id), *closing])
            if ended is not None:
                ended.mark(status=SessionStatus.CLOSED, closed_us=now_us())
            gateway.sessions.add(session, key_digest(key))
        base = f"{gateway.settings.data_url}/s/{session_id}"
        return OpenedSession(
            id=session_id,
            base_url=f"{base}/v1",
            anthropic_base_url=base,
            api_key=key,
            arm=session.record.arm,
            plan=dict(session.record.plan),
            behaviours=find_behaviours(session.plan),
        )

    @routes.post("/{session_id}/reward")
    async def reward(session_id: str, body: Reward, visitor: Visiting) -> Acknowledged:
        """Append a reward. It may come late, after the session's close, and be corrected by another one."""
        await _get_session(gateway, session_id, visitor)
        row = record.Reward(session_id, now_us(), body.reward, body.components, body.source)
        await gateway.acknowledge([row])
        return Acknowledged()

    @routes.post("/{session_id}/close")
    async def close(session_id: str, visitor: Visiting, body: Close | None = None) -> Acknowledged:
        """Close the session; to close it again changes nothing, unless `void` says why it gets no reward."""
        session = await _get_session(gateway, session_id, visitor)
        closed_us = now_us()
        rows: list[Row] = [SessionClosed(session_id, closed_us)]
        if body is not None and body.void is not None:
            state = RewardState.NOT_APPLICABLE
            rows.append(SessionMarked(session_id, reward_state=state, labels={"void": body.void}))
        await gateway.acknowledge(rows)
        session.mark(status=SessionStatus.CLOSED, closed_us=session.record.closed_us or closed_us)
        return Acknowledged()


def _delete_routes(routes: APIRouter, gateway: Gateway) -> None:
    @routes.delete("")
    async def delete_many(visitor: Visiting, label: str | None = None, tenant: str | None = None) -> Deleted:
        """Delete all sessions with a label (`label=key=value`), of a tenant, or both."""
        wanted = _parse_filter(label, tenant)
        tenant = visitor.of_tenant(tenant)
        gone = 0
        while found := await asyncio.to_thread(
            gateway.store.sessions, label=wanted, tenant=tenant, limit=_AT_ONCE
        ):
            await gateway.acknowledge([SessionDeleted(session.id) for session in found])
            for session in found:
                gateway.sessions.forget(session.id)
            gone += len(found)
            await _sweep(gateway)
        return Deleted(deleted=gone)

    @routes.delete("/{session_id}")
    async def delete(session_id: str, visitor: Visiting) -> Acknowledged:
        """Delete a session with all that hangs on it; what it said is gone from the store, too."""
        if (await _get_session(gateway, session_id, visitor)).unwritten:
            raise ServiceError(
                409,
                f"the first turn of session {session_id!r} is still under way; delete it when that is over",
                code="session_busy",
            )
        await gateway.acknowledge([SessionDeleted(session_id)])
        gateway.sessions.forget(session_id)
        await _sweep(gateway)
        return Acknowledged()


def _read_routes(routes: APIRouter, gateway: Gateway) -> None:
    @routes.get("", response_model=dict[str, list[dict[str, Any]]])
    async def sessions(
        visitor: Visiting, group_id: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """Sessions, newest first."""
        found = await asyncio.to_thread(
            gateway.store.sessions, group_id=group_id, tenant=visitor.tenant, limit=limit
        )
        return make_json_response({"sessions": [describe_row(session) for session in found]})

    @routes.get("/{session_id}", response_model=dict[str, Any])
    async def session(session_id: str, visitor: Visiting) -> Response:
        """One session."""
        return make_json_response(describe_row(await _read_session(gateway, session_id, visitor)))

    @routes.get("/{session_id}/trajectory", response_model=dict[str, Any])
    async def trajectory(session_id: str, visitor: Visiting) -> Response:
        """A session with its turns (the four views, token ids) and its events."""
        await _read_session(gateway, session_id, visitor)
        found = await asyncio.to_thread(gateway.store.trajectory, session_id)
        if found is None:
            raise _make_unknown_error(session_id)
        return await asyncio.to_thread(lambda: make_json_response(describe_trajectory(found)))

    @routes.get("/{session_id}/dose", response_model=dict[str, Any])
    async def dose(session_id: str, visitor: Visiting) -> Response:
        """What noise a session was assigned, and per operator its places, and what was decided, injected and
        withheld at them.
        """
        found = await _read_session(gateway, session_id, visitor)
        return make_json_response((await asyncio.to_thread(measure, gateway.store, found)).to_json())

    @routes.get("/{session_id}/events", response_model=dict[str, list[dict[str, Any]]])
    async def events(session_id: str, visitor: Visiting) -> Response:
        """What was injected into a session, and what the guard withheld."""
        await _read_session(gateway, session_id, visitor)
        found = await asyncio.to_thread(gateway.store.events, session_id)
        return make_json_response({"events": [describe_row(event) for event in found]})


async def _refuse_known(gateway: Gateway, session_id: str) -> None:
    """Raise ServiceError 409 if there is or was a session with this name."""
    there = await gateway.sessions.get(session_id) is not None
    if there or not await asyncio.to_thread(gateway.store.is_unknown, session_id):
        raise ServiceError(
            409,
            f"there is or was a session {session_id!r}; give another id, or none",
            code="session_exists",
            param="id",
        )


async def _find_session_of_key(gateway: Gateway, key: str, tenant: str | None) -> LiveSession | None:
    """The open session that currently has this key. ServiceError 409 if it is another tenant's."""
    setting = await asyncio.to_thread(gateway.store.setting, KIND, key_digest(key))
    session = None if setting is None else await gateway.sessions.get(str(setting.value["session"]))
    if session is not None and session.record.tenant != tenant:
        raise ServiceError(
            409,
            "this api_key has a session of another tenant; give another key",
            code="api_key_in_use",
            param="api_key",
        )
    return session if session is not None and session.record.status is SessionStatus.OPEN else None


def _parse_filter(label: str | None, tenant: str | None) -> dict[str, str]:
    """Parse the label filter. Refuse a request without any filter: it would delete every session."""
    if label is None and tenant is None:
        raise ServiceError(
            400,
            "give label=key=value or tenant=name: which sessions are to go?",
            code="missing",
            param="label",
        )
    if label is None:
        return {}
    key, separator, value = label.partition("=")
    if not key or not separator:
        raise ServiceError(
            400, f"label {label!r} has no value; write label=key=value", code="invalid", param="label"
        )
    return {key: value}


async def _sweep(gateway: Gateway) -> None:
    """Release the content of deleted sessions in short transactions, between those of the traffic."""
    while await asyncio.to_thread(gateway.store.sweep):
        pass


async def _make_opening(gateway: Gateway, body: OpenSession, session_id: str, tenant: str | None) -> Opening:
    """Complete the request with the curriculum's assignment and the configured defaults."""
    seed = gateway.settings.seed if body.seed is None else body.seed
    curriculum = None
    if body.arm == "auto" and body.group_id is not None:
        curriculum = await gateway.curricula.of_group(body.group_id, tenant)
    assigned = _assign_from_curriculum(curriculum, body, seed)
    row = record.Session(
        session_id,
        now_us(),
        {},
        task_id=body.task_id,
        group_id=body.group_id,
        group_size=body.group_size,
        rollout_index=body.rollout_index,
        labels=body.labels,
        policy=body.policy,
        tenant=tenant,
    )
    return Opening(
        row,
        profile=body.profile or (curriculum.profile if curriculum else gateway.settings.profile),
        seed=seed,
        name=await gateway.next_unnamed(),
        arm=assigned.arm if assigned else (None if body.arm == "auto" else body.arm),
        level=assigned.level if assigned and body.level is None else body.level,
        noise_type=assigned.noise_type if assigned and body.noise_type is None else body.noise_type,
        scope=body.seed_scope or (curriculum.seed_scope if curriculum else "session"),
        curriculum_version=curriculum.version if curriculum else None,
        at_least_one=assigned is not None and assigned.at_least_one,
        user_can_answer=body.user_can_answer,
        phrases=body.phrases,
        assume_replayable=gateway.settings.assume_replayable,
        dose=gateway.settings.dose,
        tool_classes=(body.tool_classes, *gateway.settings.declared_tools),
    )


def _assign_from_curriculum(curriculum: Curriculum | None, body: OpenSession, seed: int) -> Assignment | None:
    if curriculum is None or body.group_id is None:
        return None
    for name in ("group_size", "rollout_index"):
        if getattr(body, name) is None:
            raise ServiceError(
                400,
                f"{name} is missing: the curriculum assigns arms within a group; give it, or an arm",
                code="missing",
                param=name,
            )
    assert body.rollout_index is not None and body.group_size is not None
    return assign(
        curriculum,
        seed=seed,
        group_id=body.group_id,
        rollout_index=body.rollout_index,
        group_size=body.group_size,
    )


async def _get_session(gateway: Gateway, session_id: str, visitor: Visitor) -> LiveSession:
    """The session. ServiceError 404 if there is none, or if it is another tenant's."""
    session = await gateway.sessions.get(session_id)
    if session is None or not visitor.sees(session.record):
        raise _make_unknown_error(session_id)
    return session


async def _read_session(gateway: Gateway, session_id: str, visitor: Visitor) -> record.Session:
    """The same, as it is stored."""
    found = await asyncio.to_thread(gateway.store.session, session_id)
    if found is None or not visitor.sees(found):
        raise _make_unknown_error(session_id)
    return found


def _make_unknown_error(session_id: str) -> ServiceError:
    return ServiceError(
        404,
        f"unknown session {session_id!r}; list them with GET /api/sessions",
        code="session_not_found",
    )
