"""The synchronous client of the control plane."""

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


class Client:
    """The synchronous client. `url` is the control plane's address. Every call may raise GatewayError."""

    def __init__(self, url: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, trust_env=False)

    def _call(self, request: ApiRequest) -> Any:
        try:
            response = self._http.request(request.method, request.path, json=request.body)
        except httpx.HTTPError as error:
            raise make_unreachable_error(self.url, error) from error
        return parse_response(response)

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
        user_can_answer: bool | None = None,
        policy: str | None = None,
        api_key: str | None = None,
    ) -> OpenedSession:
        """Open a session; what is left out follows the curriculum and the configuration.

        `api_key` ("cw-" and 21 characters or more) is for one long-lived agent: the key stays, and the
        session that had it is closed.
        """
        fields = {name: value for name, value in locals().items() if name != "self"}
        return OpenedSession.model_validate(self._call(build_open_request(fields)))

    def reward(
        self,
        session_id: str,
        reward: float,
        *,
        components: Mapping[str, Any] | None = None,
        source: str = "agent",
    ) -> None:
        """Post a reward. It is on disk when this returns; a later one corrects it."""
        self._call(build_reward_request(session_id, reward, components, source))

    def close(self, session_id: str | None = None) -> None:
        """Close a session (on disk when this returns); without an id, close this client."""
        if session_id is None:
            self._http.close()
        else:
            self._call(ApiRequest(method="POST", path=f"/api/sessions/{session_id}/close"))

    def session(self, session_id: str) -> SessionInfo:
        """The current state of a session."""
        return SessionInfo.model_validate(
            self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}"))
        )

    def trajectory(self, session_id: str) -> dict[str, Any]:
        """A session with its turns and events."""
        return dict(self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}/trajectory")))

    def events(self, session_id: str) -> list[dict[str, Any]]:
        """The injections into a session."""
        return list(self._call(ApiRequest(method="GET", path=f"/api/sessions/{session_id}/events"))["events"])

    def groups(self, *, newest: int = 1000, of: str | None = None) -> set[str]:
        """The ids of the groups that the newest sessions belong to (1,000 at most), or just the one named,
        if it has any.
        """
        found = self._call(build_list_request(newest, of))
        return {session["group_id"] for session in found["sessions"] if session["group_id"] is not None}

    def highest_deleted(self, prefix: str) -> int | None:
        """The highest number of a deleted session's group, of those called `prefix` (which ends with "-") and
        a number; None where there is none.
        """
        highest: int | None = self._call(build_deleted_group_request(prefix))["highest"]
        return highest

    def get_curriculum(self) -> dict[str, Any] | None:
        """The curriculum in force, or None."""
        try:
            return dict(self._call(ApiRequest(method="GET", path="/api/curriculum")))
        except GatewayError as error:
            if error.code == "no_curriculum":
                return None
            raise

    def put_curriculum(self, curriculum: Mapping[str, Any]) -> None:
        """Set the curriculum for groups opened from now on."""
        self._call(ApiRequest(method="PUT", path="/api/curriculum", body=dict(curriculum)))

    def put_profile(self, name: str, yaml: str) -> None:
        """Store a noise profile under a name."""
        self._call(ApiRequest(method="PUT", path=f"/api/profiles/{name}", body={"yaml": yaml}))

    def noise_enabled(self) -> bool:
        """Whether noise is switched on."""
        return bool(self._call(ApiRequest(method="GET", path="/api/noise"))["enabled"])

    def set_noise(self, enabled: bool) -> None:
        """Set the kill switch."""
        self._call(ApiRequest(method="PUT", path="/api/noise", body={"enabled": enabled}))

    def healthy(self) -> bool:
        """Whether the control plane answers."""
        try:
            self._call(ApiRequest(method="GET", path="/healthz"))
        except GatewayError:
            return False
        return True

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
