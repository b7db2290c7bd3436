"""Control routes for groups."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter

from crosswind.gateway.control.models import Numbering
from crosswind.gateway.trajectory.sqlite.deletion import NUMBERING

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway


def router(gateway: Gateway) -> APIRouter:
    """The routes of groups."""
    routes = APIRouter(prefix="/api/groups", tags=["groups"])

    @routes.get("/deleted")
    async def deleted(prefix: str) -> Numbering:
        """The highest number of a deleted session's group, of those whose ids are `prefix` (which ends with
        "-") and a number.
        """
        found = await asyncio.to_thread(gateway.store.setting, NUMBERING, prefix)
        return Numbering(highest=None if found is None else found.value["highest"])

    return routes
