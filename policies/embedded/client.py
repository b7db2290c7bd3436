"""The embedded engine from outside, over HTTP: what the trainer publishes and confirms through."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import httpx

from policies.engine import Confirmation, EngineError, Health, Probe, Published
from policies.version import PolicyVersion


class EmbeddedEngine:
    """Implements `policies.engine.Engine`. `url` is the server's root, without `/v1`; a trailing `/v1` is
    dropped.
    """

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        """`timeout` is in seconds, for each request."""
        self._http = httpx.Client(
            base_url=url.rstrip("/").removesuffix("/v1"), timeout=timeout, trust_env=False
        )

    def __enter__(self) -> EmbeddedEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def health(self) -> Health:
        """What is served. Raises EngineError where the engine doesn't answer."""
        body = self._ask("GET", "/policy")
        return Health(body["version"], body["step"], body["swaps"], body["in_flight"])

    def publish(self, version: PolicyVersion) -> Published:
        """Swap to this version. Raises EngineError with the reason; the old version serves on then."""
        body = {"version": version.version, "path": str(version.path.resolve())}
        answer = self._ask("POST", "/policy/publish", body)
        return Published(answer["version"], answer["swap_ms"], answer["in_flight"])

    def score(
        self, prompts: list[list[int]], completions: list[list[int]], *, temperature: float = 1.0
    ) -> tuple[str, list[list[float]]]:
        """The version that is served and its log-probabilities of the completions' tokens."""
        pairs = zip(prompts, completions, strict=True)
        sequences = [{"prompt_token_ids": prompt, "completion_token_ids": done} for prompt, done in pairs]
        answer = self._ask("POST", "/policy/score", {"sequences": sequences, "temperature": temperature})
        return answer["version"], answer["logprobs"]

    def confirm(self, version: str, probe: Probe) -> Confirmation:
        """The largest difference between the engine's log-probabilities and the probe's."""
        prompts, completions = [list(ids) for ids in probe.prompts], [list(ids) for ids in probe.completions]
        served, scored = self.score(prompts, completions, temperature=probe.temperature)
        if served != version:
            raise EngineError(f"the engine serves version {served!r}, not {version!r}: publish it again")
        differences = [
            abs(ours - theirs)
            for mine, other in zip(scored, probe.logprobs, strict=True)
            for ours, theirs in zip(mine, other, strict=True)
        ]
        return Confirmation(version, max(differences, default=0.0), len(differences))

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise EngineError(
                f"{self._http.base_url}: no answer to {method} {path} ({error}); is the engine up?"
            ) from error
        if response.status_code != 200:
            raise EngineError(_reason(response))
        return response.json()


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}: {response.text[:200]}"
