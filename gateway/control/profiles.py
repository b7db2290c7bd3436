"""Control routes for noise: profiles, operators, the curriculum and the kill switch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Body

from crosswind.gateway.clock import now_us
from crosswind.gateway.control.models import Acknowledged, NoiseState, NoiseSwitch, ProfileText
from crosswind.gateway.control_characters import has_control_characters
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH
from crosswind.gateway.sessions.curricula import Curricula
from crosswind.gateway.sessions.profiles import PROFILE, read_text
from crosswind.gateway.trajectory.record import Setting
from crosswind.injectors import registry
from crosswind.injectors.engine.curriculum import Curriculum
from crosswind.injectors.operator import Registered

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["noise"])
    _profile_routes(routes, gateway)
    _curriculum_routes(routes, gateway, gateway.curricula)
    _switch_routes(routes, gateway)

    @routes.get("/operators")
    async def operators() -> dict[str, list[dict[str, Any]]]:
        """Every operator, with the recovery that it declares."""
        return {"operators": [_describe_operator(entry) for _, entry in sorted(registry.operators().items())]}

    return routes


def _profile_routes(routes: APIRouter, gateway: Gateway) -> None:
    @routes.get("/profiles")
    async def names() -> dict[str, list[str]]:
        """The profiles' names."""
        return {"profiles": gateway.profiles.names()}

    @routes.get("/profiles/{name:path}")
    async def profile(name: str) -> dict[str, str]:
        """A profile's text."""
        return {"name": name, "yaml": gateway.profiles.source(name)}

    @routes.put("/profiles/{name:path}")
    async def put_profile(name: str, body: ProfileText) -> Acknowledged:
        """Keep a profile. Sessions that are open keep the plan that they were opened with."""
        if has_control_characters(name):
            raise ServiceError(400, "the profile's name has a control character in it", code="invalid_name")
        profile = await asyncio.to_thread(read_text, name, body.yaml)
        await gateway.acknowledge([Setting(PROFILE, name, {"yaml": body.yaml}, now_us())])
        gateway.profiles.put(name, body.yaml, profile)
        return Acknowledged()


def _curriculum_routes(routes: APIRouter, gateway: Gateway, curricula: Curricula) -> None:
    @routes.get("/curriculum")
    async def curriculum() -> dict[str, Any]:
        """The curriculum in force."""
        if curricula.current is None:
            raise ServiceError(
                404, "no curriculum is set; set one with PUT /api/curriculum", code="no_curriculum"
            )
        return curricula.current.to_json()

    @routes.put("/curriculum")
    async def put_curriculum(body: dict[str, Any] = Body()) -> Acknowledged:  # noqa: B008 - FastAPI's way
        """Set the curriculum for the groups that are opened from now on."""
        curriculum = Curriculum.from_json(body)
        gateway.profiles.get(curriculum.profile)
        await gateway.acknowledge(curricula.rows(curriculum))
        curricula.put(curriculum)
        return Acknowledged()


def _switch_routes(routes: APIRouter, gateway: Gateway) -> None:
    @routes.get("/noise")
    async def noise() -> NoiseState:
        """Whether there may be noise, and why not."""
        switch = gateway.switch
        stored = None if switch.enabled else await asyncio.to_thread(gateway.store.setting, NOISE, SWITCH)
        reason = switch.find_reason(stored)
        return NoiseState(enabled=reason is None, reason=reason)

    @routes.put("/noise")
    async def put_noise(body: NoiseSwitch) -> NoiseSwitch:
        """The kill switch. It works at once and is never refused; memory and file first, the store after."""
        await gateway.shared.switch_noise(body.enabled)
        return NoiseSwitch(enabled=gateway.switch.enabled)


def _describe_operator(entry: Registered) -> dict[str, Any]:
    return {
        "name": entry.name,
        "site": entry.site,
        "recovery": entry.recovery,
        "fault": entry.fault,
        "effect": entry.effect.value,
        "aliases": list(entry.aliases),
        "source": entry.source,
        "documentation": entry.documentation,
    }
