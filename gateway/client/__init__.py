"""The typed client of the control plane: open sessions, post rewards, close. Needs httpx and pydantic only.

with Client("http://127.0.0.1:8081") as client:
    session = client.open_session(task_id="t1")
    agent = OpenAI(base_url=session.base_url, api_key=session.api_key)
    ...
    client.reward(session.id, 1.0)
    client.close(session.id)
"""

from crosswind.gateway.client.asynchronous import AsyncClient
from crosswind.gateway.client.calls import (
    DEFAULT_TIMEOUT_S,
    GatewayError,
    OpenedSession,
    SessionInfo,
    authorization,
)
from crosswind.gateway.client.synchronous import Client

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "AsyncClient",
    "Client",
    "GatewayError",
    "OpenedSession",
    "SessionInfo",
    "authorization",
]
