"""What both clients ask and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

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
class Request:
    method: str
    path: str
    body: dict[str, Any] | None = None


def opening(fields: Mapping[str, Any]) -> Request:
    given = {name: value for name, value in fields.items() if value is not None}
    return Request(method="POST", path="/api/sessions", body=given)


def listing(limit: int, group_id: str | None) -> Request:
    which: dict[str, str | int] = {"limit": limit}
    if group_id is not None:
        which["group_id"] = group_id
    return Request(method="GET", path=f"/api/sessions?{urlencode(which)}")


def deletion(prefix: str) -> Request:
    return Request(method="GET", path=f"/api/groups/deleted?{urlencode({'prefix': prefix})}")


def reward_of(session_id: str, reward: float, components: Mapping[str, Any] | None, source: str) -> Request:
    body = {"reward": reward, "components": dict(components or {}), "source": source}
    return Request(method="POST", path=f"/api/sessions/{session_id}/reward", body=body)


def answer_of(response: httpx.Response) -> Any:
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


def unreachable(url: str, error: httpx.HTTPError) -> GatewayError:
    return GatewayError(
        f"the gateway's control plane at {url} can't be reached: {error or type(error).__name__}"
    )
