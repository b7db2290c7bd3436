"""The calls of the control plane, written once for both clients."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import httpx
from pydantic import BaseModel

DEFAULT_TIMEOUT_S = 30.0
KEY_VARIABLE = "CROSSWIND_CONTROL_KEY"
"""The environment variable with the control plane's key, for clients that are given none."""


class GatewayError(httpx.HTTPError):
    """The gateway refused the request, or couldn't be reached (then `status` is None)."""

    def __init__(
        self,
        message: str,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        """When to send it again, in seconds, where the gateway said so."""


class OpenedSession(BaseModel):
    """An open session: `base_url` and `api_key` are what an OpenAI SDK needs."""

    id: str
    base_url: str
    anthropic_base_url: str
    api_key: str
    arm: str
    plan: dict[str, Any]
    behaviours: list[dict[str, Any]] = []
    """How the simulated user behaves whose session this is; empty for others."""


class SessionInfo(BaseModel, extra="allow"):
    """The current state of a session. Further fields of the record are attributes, too."""

    id: str
    arm: str
    status: str
    task_id: str | None = None
    group_id: str | None = None
    reward_state: str
    reward: float | None = None
    noise_stopped: bool = False
    plan: dict[str, Any]


class Calls(ABC):
    """The calls. A client says how a request is sent; every call may raise GatewayError."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    @abstractmethod
    async def _send(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response: ...

    @abstractmethod
    async def _disconnect(self) -> None: ...

    async def _call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        try:
            response = await self._send(method, path, body, _drop_missing(query))
        except httpx.HTTPError as error:
            problem = str(error) or type(error).__name__
            raise GatewayError(
                f"the gateway's control plane at {self.url} can't be reached: {problem}"
            ) from error
        return _parse_response(response)

    async def open_session(
        self,
        *,
        id: str | None = None,
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
        phrases: str | None = None,
        tool_classes: Mapping[str, str] | None = None,
        policy: str | None = None,
        tenant: str | None = None,
        api_key: str | None = None,
    ) -> OpenedSession:
        """Open a session; what is left out follows the curriculum and the configuration.

        `id` is a name that no session has or had. `tool_classes` says what the agent's tools do, by name or
        glob: `read_only`, `idempotent` (a repeated call changes nothing more), `destructive` or `unknown`.
        `phrases` is the half of the phrase packs that its noise draws from: `train` or `test`. `api_key`
        ("cw-" and 21 characters or more) is for one long-lived agent: the key stays, and the session that had
        it is closed.
        """
        fields = {name: value for name, value in locals().items() if name != "self"}
        return OpenedSession.model_validate(await self._call("POST", "/api/sessions", _drop_missing(fields)))

    async def reward(
        self,
        session_id: str,
        reward: float,
        *,
        components: Mapping[str, Any] | None = None,
        source: str = "agent",
    ) -> None:
        """Post a reward. It is on disk when this returns; a later one corrects it."""
        body = {"reward": reward, "components": dict(components or {}), "source": source}
        await self._call("POST", f"/api/sessions/{session_id}/reward", body)

    async def close(self, session_id: str | None = None, *, void: str | None = None) -> None:
        """Close a session (on disk when this returns); without an id, close this client.

        `void` says why the session gets no reward, such as a failure of the infrastructure: it counts as no
        rollout of its group, which then needn't wait for it.
        """
        if session_id is None:
            await self._disconnect()
        else:
            body = None if void is None else {"void": void}
            await self._call("POST", f"/api/sessions/{session_id}/close", body)

    async def delete(self, session_id: str) -> None:
        """Delete a session with its turns, events and rewards."""
        await self._call("DELETE", f"/api/sessions/{session_id}")

    async def session(self, session_id: str) -> SessionInfo:
        """The current state of a session."""
        return SessionInfo.model_validate(await self._call("GET", f"/api/sessions/{session_id}"))

    async def trajectory(self, session_id: str) -> dict[str, Any]:
        """A session with its turns and events."""
        return dict(await self._call("GET", f"/api/sessions/{session_id}/trajectory"))

    async def dose(self, session_id: str) -> dict[str, Any]:
        """What noise a session was assigned, and what became of it."""
        return dict(await self._call("GET", f"/api/sessions/{session_id}/dose"))

    async def events(self, session_id: str) -> list[dict[str, Any]]:
        """The injections into a session."""
        return list((await self._call("GET", f"/api/sessions/{session_id}/events"))["events"])

    async def groups(self, *, newest: int = 1000, of: str | None = None) -> set[str]:
        """The ids of the groups that the newest sessions belong to (1,000 at most), or just the one named,
        if it has any.
        """
        found = await self._call("GET", "/api/sessions", limit=newest, group_id=of)
        return {session["group_id"] for session in found["sessions"] if session["group_id"] is not None}

    async def highest_deleted(self, prefix: str) -> int | None:
        """The highest number of a deleted session's group, of those called `prefix` (which ends with "-") and
        a number; None where there is none.
        """
        highest: int | None = (await self._call("GET", "/api/groups/deleted", prefix=prefix))["highest"]
        return highest

    async def get_curriculum(self) -> dict[str, Any] | None:
        """The curriculum in force, or None."""
        try:
            return dict(await self._call("GET", "/api/curriculum"))
        except GatewayError as error:
            if error.code == "no_curriculum":
                return None
            raise

    async def put_curriculum(self, curriculum: Mapping[str, Any]) -> None:
        """Set the curriculum for groups opened from now on."""
        await self._call("PUT", "/api/curriculum", dict(curriculum))

    async def put_profile(self, name: str, yaml: str) -> None:
        """Store a noise profile under a name."""
        await self._call("PUT", f"/api/profiles/{name}", {"yaml": yaml})

    async def noise_enabled(self) -> bool:
        """Whether noise is switched on."""
        return bool((await self._call("GET", "/api/noise"))["enabled"])

    async def set_noise(self, enabled: bool) -> None:
        """Set the kill switch."""
        await self._call("PUT", "/api/noise", {"enabled": enabled})

    async def begin_drill(
        self,
        profile: str,
        share: float,
        seconds: float,
        *,
        max_injections: int | None = None,
        abort_above: float | None = None,
        seed: int = 0,
        labels: Mapping[str, str | int | float | bool | None] | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Begin a drill: for so long, this share of the sessions that traffic opens gets a profile."""
        fields = {name: value for name, value in locals().items() if name != "self"}
        return dict(await self._call("POST", "/api/drills", _drop_missing(fields)))

    async def end_drill(self, drill_id: str, *, by: str | None = None) -> dict[str, Any]:
        """End a drill at once."""
        return dict(await self._call("POST", f"/api/drills/{drill_id}/end", _drop_missing({"by": by})))

    async def drill(self, drill_id: str) -> dict[str, Any]:
        """A drill, what it did, and how it ended."""
        return dict(await self._call("GET", f"/api/drills/{drill_id}"))

    async def drill_record(self, drill_id: str) -> dict[str, Any]:
        """The sessions that traffic opened during a drill, and the noise in them, without content."""
        return dict(await self._call("GET", f"/api/drills/{drill_id}/record"))

    async def healthy(self) -> bool:
        """Whether the control plane answers."""
        try:
            await self._call("GET", "/healthz")
        except GatewayError:
            return False
        return True


def authorization(control_key: str | None) -> dict[str, str]:
    """The header with the control plane's key: this one, or else the environment's; without either, none."""
    key = control_key or os.environ.get(KEY_VARIABLE)
    return {"authorization": f"Bearer {key}"} if key else {}


def _drop_missing(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _parse_response(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json()
    try:
        error = response.json()["error"]
        message, code = str(error["message"]), error.get("code")
    except (ValueError, KeyError, TypeError):
        message, code = response.text[:500], None
    raise GatewayError(
        f"{response.request.method} {response.request.url.path}: {message}",
        response.status_code,
        code,
        _read_seconds(response.headers.get("retry-after", "")),
    )


def _read_seconds(text: str) -> float | None:
    return float(text) if text.isdecimal() else None
