"""vLLM without our extension, by its own development routes: weights are reloaded from disk.

The slower way: in-flight requests are recomputed from their tokens, and answers don't say which version
sampled which token.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import orjson

from crosswind.policies.engine import (
    REQUEST_TIMEOUT_S,
    EngineError,
    EngineHealth,
    PublishedVersion,
    ScoredTokens,
    root_of,
)
from crosswind.policies.publishers.http import HttpEngine
from crosswind.policies.versions.version import (
    PolicyVersion,
    VersionError,
    checksum_file,
    read_version,
    verify,
)
from crosswind.policies.vllm_inside.crosswind_inside.header import (
    EMBEDDINGS,
    Refused,
    check_like,
    read_bytes,
    read_header,
)

UNTRAINABLE = (
    "vLLM without its development routes, so no version can be published to it: start it with "
    "VLLM_SERVER_DEV_MODE=1, or by `crosswind policy serve`, which needs none"
)
_WEIGHTS = "model.safetensors"
_UNNAMED = "default"
"""What vLLM calls the weights that it started with."""


class PlainVllm(HttpEngine):
    """Implements `crosswind.policies.engine.Engine`. The server must see the versions' directories too."""

    name: ClassVar[str] = "vllm-plain"

    def __init__(self, url: str, *, timeout: float = REQUEST_TIMEOUT_S) -> None:
        super().__init__(url, timeout=timeout)
        self._last: PolicyVersion | None = None

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether the server says vLLM's version, and nothing of a policy of ours."""
        try:
            with httpx.Client(base_url=root_of(url), timeout=timeout, trust_env=False) as http:
                version, policy = http.get("/version"), http.get("/policy")
            found = version.status_code == 200 and isinstance(version.json().get("version"), str)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
            return False
        return found and policy.status_code == 404

    def health(self) -> EngineHealth:
        """What is served; `untrainable` where its development routes are off."""
        answer = self._send("GET", "/weight_info")
        if answer.status_code == 404:
            return EngineHealth("", 0, 0, 0, untrainable=UNTRAINABLE)
        version = str(_read_json(answer)["weight_version"])
        model = self._model()
        if version == _UNNAMED:
            try:
                version = read_version(Path(model["root"])).version
            except VersionError:
                version = Path(model["root"]).name
        return EngineHealth(version, 0, 0, 0, context=model.get("max_model_len"))

    def publish(self, version: PolicyVersion) -> PublishedVersion:
        """Check, pause, reload, forget all keys, resume. Raises EngineError; the old version serves on."""
        root = Path(self._model()["root"])
        self._check(version, root)
        before = self._last.path if self._last else root
        began = time.perf_counter()
        with self._pause():
            try:
                self._reload(version.path)
            except EngineError as error:
                self._reload(before)
                raise EngineError(f"{error}; the version before was loaded again") from None
            self._post("/update_weight_version", json={"new_version": version.version})
        self._last = version
        return PublishedVersion(version.version, round((time.perf_counter() - began) * 1000, 3), 0)

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> ScoredTokens:
        """By the log-probabilities of prompts, which vLLM computes from scratch."""
        version, model = self.health().version, str(self._model()["id"])
        rows = []
        for prompt, completion in zip(prompts, completions, strict=True):
            body = {
                "model": model,
                "prompt": [*prompt, *completion],
                "max_tokens": 1,
                "prompt_logprobs": 0,
            }
            told = self._post("/v1/completions", json=body)["choices"][0]["prompt_logprobs"][len(prompt) :]
            rows.append([float(told[place][str(token)]["logprob"]) for place, token in enumerate(completion)])
        return ScoredTokens(version, rows)

    def _check(self, version: PolicyVersion, root: Path) -> None:
        if version.kind != "full":
            raise EngineError(
                f"{version.version!r} is of kind {version.kind!r}: without our extension only full weights "
                "can be published; serve with `crosswind policy serve`"
            )
        try:
            verify(version)
            path = version.path / _WEIGHTS
            check_like(path, read_header(path), read_header(root / _WEIGHTS))
            if self._keeps_heads() and not _same_embeddings(version.path, root):
                raise VersionError(
                    f"{version.path}: its embeddings, which are the head's too, aren't those served now, "
                    "and vLLM on a CPU doesn't renew the head: serve with `crosswind policy serve`"
                )
            for name in ("tokenizer.json", "config.json"):
                if checksum_file(version.path / name) != checksum_file(root / name):
                    raise VersionError(
                        f"{version.path}: its {name} isn't the one that is served; start an engine for it"
                    )
        except (VersionError, Refused) as error:
            raise EngineError(str(error)) from None

    def _keeps_heads(self) -> bool:
        """Whether a reload leaves a tied head as it was: on a CPU it computes with a packed copy."""
        told = _read_json(self._send("GET", "/server_info", params={"config_format": "json"}))
        return bool(told["vllm_config"]["device_config"]["device"] == "cpu")

    @contextmanager
    def _pause(self) -> Iterator[None]:
        self._post("/pause", params={"mode": "keep", "clear_cache": "false"})
        try:
            yield
        finally:
            self._post("/resume")

    def _reload(self, path: Path) -> None:
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(path.resolve())}}
        self._post("/collective_rpc", json=body)
        self._post("/reset_prefix_cache", params={"reset_running_requests": "true"})

    def _model(self) -> dict[str, Any]:
        listed: list[dict[str, Any]] = _read_json(self._send("GET", "/v1/models"))["data"]
        return listed[0]

    def _post(self, path: str, **options: Any) -> Any:
        return _read_json(self._send("POST", path, **options))


def _same_embeddings(directory: Path, served: Path) -> bool:
    """Whether the head is none of the embeddings' business, or both are as they are served."""
    if not orjson.loads((served / "config.json").read_bytes()).get("tie_word_embeddings"):
        return True
    return read_bytes(directory / _WEIGHTS, EMBEDDINGS) == read_bytes(served / _WEIGHTS, EMBEDDINGS)


def _read_json(response: httpx.Response) -> Any:
    if response.status_code != 200:
        raise EngineError(f"{response.request.url.path}: HTTP {response.status_code}: {response.text[:300]}")
    return response.json() if response.content else {}
