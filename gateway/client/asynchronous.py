"""The asynchronous client of the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

from crosswind.gateway.client.payloads import (
    DEFAULT_TIMEOUT_S,
    ApiRequest,
    GatewayError,
    OpenedSession,
    SessionInfo,
    build_deleted_group_request,
    build_list_request,
    build_open_request,
    build_reward_request,
    make_unreachable_error,
    parse_response,
)


class AsyncClient:
    """The client for asyncio, with the methods of `Client`."""

    def __init__(self, url: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, timeout=timeout_s, trust_env=False)

    async def _call(self, request: ApiRequest) -> Any:
        try:
            response = await self._http.request(request.method, request.path, json=request.body)
        except httpx.HTTPError as error:
            raise make_unreachable_error(self.url, error) from error
        return parse_response(response)

    async def open_session(
        self,
        *,
        task_id: str | None = None,
        group_id: str | None = None,
        group_size: int | None = None,
        rollout_index: int | None = None,
        arm: str | None = None,
        profile: str | None = None,
        noise_type: str | None = None,
        level: int | None = None,
        seed: int | None = None,
        seed_scope: str | None = None,
        labels: Mapping[str, str | int | float | bool | None] | None = None,
        user_can_answer: bool | None = None,
        policy: str | None = None,
        api_key: str | None = None,
    ) -> OpenedSession:
        """Open a session; as `Client.open_session`."""
        fields = {name: value for name, value in locals().items() if name != "self"}
        return OpenedSession.model_validate(await self._call(build_open_request(fields)))

    async def reward(
        self,
        session_id: str,
        reward: float,
        *,
        components: Mapping[str, Any] | None = None,
        source: str = "agent",
    ) -> None:
        """Post a reward. It is on disk when this returns; a later one corrects it."""
        await self._call(build_reward_request(session_id, reward, components, source))

    async def close(self, session_id: str | None = None) -> None:
        """Close a session (on disk when this returns); without an id, close this client."""
        if session_id is None:
            await self._http.aclose()
        else:
            await self._call(ApiRequest(method="POST", path=f"/api/sessions/{session_id}/close"))

    async def session(self, session_id: str) -> SessionInfo:
        """The current state of a session."""
        found = await self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}"))
        return SessionInfo.model_validate(found)

    async def trajectory(self, session_id: str) -> dict[str, Any]:
        """A session with its turns and events."""
        return dict(await self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}/trajectory")))

    async def events(self, session_id: str) -> list[dict[str, Any]]:
        """The injections into a session."""
        return list(
            (await self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}/events")))["events"]
        )

    async def groups(self, *, newest: int = 1000, of: str | None = None) -> set[str]:
        """The ids of the groups that the newest sessions belong to (1,000 at most), or just the one named,
        if it has any.
        """
        found = await self._call(build_list_request(newest, of))
        return {session["group_id"] for session in found["sessions"] if session["group_id"] is not None}

    async def highest_deleted(self, prefix: str) -> int | None:
        """The highest number of a deleted session's group, of those called `prefix` (which ends with "-") and
        a number; None where there is none.
        """
        highest: int | None = (await self._call(build_deleted_group_request(prefix)))["highest"]
        return highest

    async def get_curriculum(self) -> dict[str, Any] | None:
        """The curriculum in force, or None."""
        try:
            return dict(await self._call(ApiRequest(method="GET", path="/api/curriculum")))
        except GatewayError as error:
            if error.code == "no_curriculum":
                return None
            raise

    async def put_curriculum(self, curriculum: Mapping[str, Any]) -> None:
        """Set the curriculum for groups opened from now on."""
        await self._call(ApiRequest(method="PUT", path="/api/curriculum", body=dict(curriculum)))

    async def put_profile(self, name: str, yaml: str) -> None:
        """Store a noise profile under a name."""
        await self._call(ApiRequest(method="PUT", path=f"/api/profiles/{name}", body={"yaml": yaml}))

    async def noise_enabled(self) -> bool:
        """Whether noise is switched on."""
        return bool((await self._call(ApiRequest(method="GET", path="/api/noise")))["enabled"])

    async def set_noise(self, enabled: bool) -> None:
        """Set the kill switch."""
        await self._call(ApiRequest(method="PUT", path="/api/noise", body={"enabled": enabled}))

    async def healthy(self) -> bool:
        """Whether the control plane answers."""
        try:
            await self._call(ApiRequest(method="GET", path="/healthz"))
        except GatewayError:
            return False
        return True

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()
