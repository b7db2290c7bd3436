"""Requests and responses of both clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
from pydantic import BaseModel

DEFAULT_TIMEOUT_S = 30.0


class GatewayError(httpx.HTTPError):
    """The gateway refused the request, or couldn't be reached (then `status` is None)."""

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


@dataclass(frozen=True, slots=True)
class ApiRequest:
    method: str
    path: str
    body: dict[str, Any] | None = None


def build_open_request(fields: Mapping[str, Any]) -> ApiRequest:
    given = {name: value for name, value in fields.items() if value is not None}
    return ApiRequest(method="POST", path="/api/sessions", body=given)


def build_list_request(limit: int, group_id: str | None) -> ApiRequest:
    query = {"limit": limit} | ({} if group_id is None else {"group_id": group_id})
    return ApiRequest(method="GET", path=f"/api/sessions?{urlencode(query)}")


def build_deleted_group_request(prefix: str) -> ApiRequest:
    return ApiRequest(method="GET", path=f"/api/groups/deleted?{urlencode({'prefix': prefix})}")


def build_reward_request(
    session_id: str, reward: float, components: Mapping[str, Any] | None, source: str
) -> ApiRequest:
    body = {"reward": reward, "components": dict(components or {}), "source": source}
    return ApiRequest(method="POST", path=f"/api/sessions/{session_id}/reward", body=body)


def parse_response(response: httpx.Response) -> Any:
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


def make_unreachable_error(url: str, error: httpx.HTTPError) -> GatewayError:
    return GatewayError(
        f"the gateway's control plane at {url} can't be reached: {error or type(error).__name__}"
    )
