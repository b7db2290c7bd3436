"""The typed client of the control plane: open sessions, post rewards, close. Needs httpx and pydantic only.

with Client("http://127.0.0.1:8081") as client:
    session = client.open_session(task_id="t1")
    agent = OpenAI(base_url=session.base_url, api_key=session.api_key)
    ...
    client.reward(session.id, 1.0)
    client.close(session.id)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx
from pydantic import BaseModel

DEFAULT_TIMEOUT_S = 30.0


class GatewayError(httpx.HTTPError):
    """The gateway refused, or couldn't be reached (`status` None then). The message says why."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class OpenedSession(BaseModel):
    """An open session: `base_url` and `api_key` are what an OpenAI SDK needs."""

    id: str
    base_url: str
    anthropic_base_url: str
    api_key: str
    arm: str
    plan: dict[str, Any]


class SessionInfo(BaseModel, extra="allow"):
    """A session as it stands; further fields of the record are there as attributes."""

    id: str
    arm: str
    status: str
    task_id: str | None = None
    group_id: str | None = None
    reward_state: str
    reward: float | None = None
    noise_stopped: bool = False
    plan: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    body: dict[str, Any] | None = None


def _opening(fields: Mapping[str, Any]) -> _Request:
    given = {name: value for name, value in fields.items() if value is not None}
    return _Request(method="POST", path="/api/sessions", body=given)


def _reward(session_id: str, reward: float, components: Mapping[str, Any] | None, source: str) -> _Request:
    body = {"reward": reward, "components": dict(components or {}), "source": source}
    return _Request(method="POST", path=f"/api/sessions/{session_id}/reward", body=body)


def _answer(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json()
    try:
        error = response.json()["error"]
        message, code = str(error["message"]), error.get("code")
    except (ValueError, KeyError, TypeError):
        message, code = response.text[:500], None
    raise GatewayError(
        f"{response.request.method} {response.request.url.path}: {message}", response.status_code, code
    )


def _unreachable(url: str, error: httpx.HTTPError) -> GatewayError:
    return GatewayError(
        f"the gateway's control plane at {url} can't be reached: {error or type(error).__name__}"
    )


class Client:
    """The synchronous client. `url` is the control plane's address. Every call may raise GatewayError."""

    def __init__(self, url: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, trust_env=False)

    def _call(self, request: _Request) -> Any:
        try:
            response = self._http.request(request.method, request.path, json=request.body)
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        return _answer(response)

    def open_session(
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
        policy: str | None = None,
    ) -> OpenedSession:
        """Open a session; what is left out follows the curriculum and the configuration."""
        fields = {name: value for name, value in locals().items() if name != "self"}
        return OpenedSession.model_validate(self._call(_opening(fields)))

    def reward(
        self,
        session_id: str,
        reward: float,
        *,
        components: Mapping[str, Any] | None = None,
        source: str = "agent",
    ) -> None:
        """Post a reward. It is on disk when this returns; a later one corrects it."""
        self._call(_reward(session_id, reward, components, source))

    def close(self, session_id: str | None = None) -> None:
        """Close a session (on disk when this returns); without an id, close this client."""
        if session_id is None:
            self._http.close()
        else:
            self._call(_Request(method="POST", path=f"/api/sessions/{session_id}/close"))

    def session(self, session_id: str) -> SessionInfo:
        """A session as it stands."""
        return SessionInfo.model_validate(
            self._call(_Request(method="GET", path=f"/api/sessions/{session_id}"))
        )

    def trajectory(self, session_id: str) -> dict[str, Any]:
        """A session with its turns and events."""
        return dict(self._call(_Request(method="GET", path=f"/api/sessions/{session_id}/trajectory")))

    def events(self, session_id: str) -> list[dict[str, Any]]:
        """What was injected into a session."""
        return list(self._call(_Request(method="GET", path=f"/api/sessions/{session_id}/events"))["events"])

    def get_curriculum(self) -> dict[str, Any] | None:
        """The curriculum in force, or None."""
        try:
            return dict(self._call(_Request(method="GET", path="/api/curriculum")))
        except GatewayError as error:
            if error.code == "no_curriculum":
                return None
            raise

    def put_curriculum(self, curriculum: Mapping[str, Any]) -> None:
        """Set the curriculum for groups that are opened from now on."""
        self._call(_Request(method="PUT", path="/api/curriculum", body=dict(curriculum)))

    def put_profile(self, name: str, yaml: str) -> None:
        """Keep a noise profile under a name."""
        self._call(_Request(method="PUT", path=f"/api/profiles/{name}", body={"yaml": yaml}))

    def noise_enabled(self) -> bool:
        """Whether there may be noise at all."""
        return bool(self._call(_Request(method="GET", path="/api/noise"))["enabled"])

    def set_noise(self, enabled: bool) -> None:
        """The kill switch."""
        self._call(_Request(method="PUT", path="/api/noise", body={"enabled": enabled}))

    def healthy(self) -> bool:
        """Whether the control plane answers."""
        try:
            self._call(_Request(method="GET", path="/healthz"))
        except GatewayError:
            return False
        return True

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()


class AsyncClient:
    """The same for asyncio."""

    def __init__(self, url: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, timeout=timeout_s, trust_env=False)

    async def _call(self, request: _Request) -> Any:
        try:
            response = await self._http.request(request.method, request.path, json=request.body)
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        return _answer(response)

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
        policy: str | None = None,
    ) -> OpenedSession:
        """Open a session; what is left out follows the curriculum and the configuration."""
        fields = {name: value for name, value in locals().items() if name != "self"}
        return OpenedSession.model_validate(await self._call(_opening(fields)))

    async def reward(
        self,
        session_id: str,
        reward: float,
        *,
        components: Mapping[str, Any] | None = None,
        source: str = "agent",
    ) -> None:
        """Post a reward. It is on disk when this returns; a later one corrects it."""
        await self._call(_reward(session_id, reward, components, source))

    async def close(self, session_id: str | None = None) -> None:
        """Close a session (on disk when this returns); without an id, close this client."""
        if session_id is None:
            await self._http.aclose()
        else:
            await self._call(_Request(method="POST", path=f"/api/sessions/{session_id}/close"))

    async def session(self, session_id: str) -> SessionInfo:
        """A session as it stands."""
        found = await self._call(_Request(method="GET", path=f"/api/sessions/{session_id}"))
        return SessionInfo.model_validate(found)

    async def trajectory(self, session_id: str) -> dict[str, Any]:
        """A session with its turns and events."""
        return dict(await self._call(_Request(method="GET", path=f"/api/sessions/{session_id}/trajectory")))

    async def events(self, session_id: str) -> list[dict[str, Any]]:
        """What was injected into a session."""
        return list(
            (await self._call(_Request(method="GET", path=f"/api/sessions/{session_id}/events")))["events"]
        )

    async def get_curriculum(self) -> dict[str, Any] | None:
        """The curriculum in force, or None."""
        try:
            return dict(await self._call(_Request(method="GET", path="/api/curriculum")))
        except GatewayError as error:
            if error.code == "no_curriculum":
                return None
            raise

    async def put_curriculum(self, curriculum: Mapping[str, Any]) -> None:
        """Set the curriculum for groups that are opened from now on."""
        await self._call(_Request(method="PUT", path="/api/curriculum", body=dict(curriculum)))

    async def put_profile(self, name: str, yaml: str) -> None:
        """Keep a noise profile under a name."""
        await self._call(_Request(method="PUT", path=f"/api/profiles/{name}", body={"yaml": yaml}))

    async def noise_enabled(self) -> bool:
        """Whether there may be noise at all."""
        return bool((await self._call(_Request(method="GET", path="/api/noise")))["enabled"])

    async def set_noise(self, enabled: bool) -> None:
        """The kill switch."""
        await self._call(_Request(method="PUT", path="/api/noise", body={"enabled": enabled}))

    async def healthy(self) -> bool:
        """Whether the control plane answers."""
        try:
            await self._call(_Request(method="GET", path="/healthz"))
        except GatewayError:
            return False
        return True

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()
