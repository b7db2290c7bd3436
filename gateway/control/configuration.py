"""The control route that reloads the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from crosswind.gateway.errors import ConfigurationError, ServiceError

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway


def router(gateway: Gateway) -> APIRouter:
    """The route /api/reload."""
    routes = APIRouter(prefix="/api")

    @routes.put("/reload")
    @routes.post("/reload")
    async def reload() -> dict[str, list[str]]:
        """Reload the configuration, as SIGHUP does, and list the settings that changed. 400 if it can't be
        used; then nothing changes.
        """
        try:
            return {"changed": list(await gateway.reload())}
        except ConfigurationError as error:
            raise ServiceError(400, str(error), code="configuration_refused") from None

    return routes
