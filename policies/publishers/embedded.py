"""Engines with our `/policy` routes, over HTTP: the embedded one, and vLLM with our extension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import httpx

from crosswind.policies.engine import EngineError, EngineHealth, PublishedVersion, ScoredTokens, root_of
from crosswind.policies.publishers.http import HttpEngine
from crosswind.policies.versions.version import PolicyVersion


class EmbeddedEngine(HttpEngine):
    """Implements `crosswind.policies.engine.Engine`."""

    name: ClassVar[str] = "embedded"

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether the server has the embedded engine's own routes."""
        try:
            body = httpx.get(f"{root_of(url)}/policy", timeout=timeout, trust_env=False).json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return False
        return isinstance(body, dict) and body.get("engine") == cls.name

    def health(self) -> EngineHealth:
        body = self._ask("GET", "/policy")
        return EngineHealth(
            body["version"],
            body["step"],
            body["swaps"],
            body["in_flight"],
            checksum=body["checksum"],
            context=body["context"],
            path=body.get("path", ""),
        )

    def publish(self, version: PolicyVersion) -> PublishedVersion:
        body = {"version": version.version, "path": str(version.path.resolve())}
        answer = self._ask("POST", "/policy/publish", body)
        return PublishedVersion(answer["version"], answer["swap_ms"], answer["in_flight"])

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> ScoredTokens:
        pairs = zip(prompts, completions, strict=True)
        sequences = [
            {"prompt_token_ids": list(prompt), "completion_token_ids": list(done)} for prompt, done in pairs
        ]
        answer = self._ask("POST", "/policy/score", {"sequences": sequences})
        return ScoredTokens(answer["version"], answer["logprobs"])

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        response = self._send(method, path, json=body)
        if response.status_code != 200:
            raise EngineError(_reason(response))
        return response.json()


class VllmEngine(EmbeddedEngine):
    """vLLM with our extension in it, which serves the same routes."""

    name: ClassVar[str] = "vllm"


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}: {response.text[:200]}"
