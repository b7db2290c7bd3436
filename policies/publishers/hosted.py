"""A server with a model but without weights that we could set: a hosted provider, or any OpenAI-compatible
server that is none of the engines we know. Everything but training works with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import httpx

from crosswind.policies.engine import (
    REQUEST_TIMEOUT_S,
    ClosingEngine,
    EngineAway,
    EngineError,
    EngineHealth,
    PublishedVersion,
    ScoredTokens,
)
from crosswind.policies.versions.version import PolicyVersion

UNTRAINABLE = (
    "a hosted model: its weights can't be set and it gives no token ids, so nothing can be trained on it. "
    "Noise, recording, rollouts, `crosswind bench` and reports work; to train, serve a policy yourself "
    "(`crosswind policy serve`)"
)


class HostedModel(ClosingEngine):
    """Implements `crosswind.policies.engine.Engine` as far as that goes: it is there, and nothing can be
    published.
    """

    name: ClassVar[str] = "hosted"

    def __init__(self, url: str, *, timeout: float = REQUEST_TIMEOUT_S) -> None:
        self._url = url
        self._timeout = timeout

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether the server lists models, or asks for a key before it does."""
        try:
            response = httpx.get(_models(url), timeout=timeout, trust_env=False)
            body = response.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return False
        asks_for_key = response.status_code in (401, 403)
        return isinstance(body, dict) and (asks_for_key or isinstance(body.get("data"), list))

    def health(self) -> EngineHealth:
        """That it answers, and why it can't be trained. Raises EngineAway where it doesn't."""
        if not self.recognises(self._url, self._timeout):
            raise EngineAway(f"{self._url}: no answer to GET {_models(self._url)}; is the server up?")
        return EngineHealth("", 0, 0, 0, untrainable=UNTRAINABLE)

    def publish(self, version: PolicyVersion) -> PublishedVersion:
        raise EngineError(f"{self._url}: {version.version!r} can't be published to it: {UNTRAINABLE}")

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> ScoredTokens:
        raise EngineError(f"{self._url}: tokens can't be scored by it: {UNTRAINABLE}")


def _models(url: str) -> str:
    base = url.rstrip("/")
    return f"{base}/models" if base.endswith("/v1") else f"{base}/v1/models"
