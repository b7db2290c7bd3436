"""The configuration, read anew while the gateway serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from crosswind.gateway.errors import ConfigurationError, ServiceError

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway


def router(gateway: Gateway) -> APIRouter:
    """Its route."""
    routes = APIRouter(prefix="/api")

    @routes.put("/reload")
    @routes.post("/reload")
    async def reload() -> dict[str, list[str]]:
        """Read the configuration anew and put it in force, as SIGHUP does. Says what changed; 400 where it
        can't be used, and nothing changed then.
        """
        try:
            return {"changed": list(await gateway.reread())}
        except ConfigurationError as error:
            raise ServiceError(400, str(error), code="configuration_refused") from None

    return routes
