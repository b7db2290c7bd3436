"""Health checks of a running server: whether it lives, and whether it answers as training needs."""

from __future__ import annotations

from typing import Any

import httpx

from crosswind.policies.server import ServeError
from crosswind.policies.vllm.launch import NEUTRAL, SUPPORTED, check_version

_ANSWERS_WITHIN = 30.0
"""Seconds; a server under load answers between two steps."""

_CERTAIN = 0.01
"""A log-probability nearer to 0 than this is taken for certainty, and two for the same: bfloat16 rounds."""


def send(url: str, path: str, body: Any = None, *, timeout: float = _ANSWERS_WITHIN) -> httpx.Response | None:
    """A GET, or a POST with a body; None where nothing answers."""
    try:
        with httpx.Client(base_url=url, timeout=timeout, trust_env=False) as http:
            return http.get(path) if body is None else http.post(path, json=body)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def is_healthy(url: str) -> bool:
    """Whether the server answers, and its engine lives."""
    answer = send(url, "/health")
    return answer is not None and answer.status_code == 200


def read_vllm_version(url: str) -> str:
    """vLLM's version. Raises ServeError where the server is another one, or too old or new."""
    answer = send(url, "/version")
    version = answer.json().get("version") if answer is not None and answer.status_code == 200 else None
    if not isinstance(version, str):
        raise ServeError(f"{url}: it isn't a vLLM server (no GET /version); name one, or leave --attach out")
    check_version(version, url)
    return version


def check_token_ids(url: str) -> None:
    """Have one token sampled. Raises ServeError where its id or log-probability doesn't come back."""
    choice = _sample_token(url, {"logprobs": 0, "return_token_ids": True})
    if not choice.get("token_ids") or not choice.get("prompt_token_ids"):
        raise ServeError(
            f"{url}: it answers without token ids, so that no turn of it could be trained on; serve with "
            f"vLLM {SUPPORTED}x, with nothing between that drops `return_token_ids`",
            usage=False,
        )
    if not (choice.get("logprobs") or {}).get("token_logprobs"):
        raise ServeError(
            f"{url}: it answers without log-probabilities; serve without --max-logprobs 0", usage=False
        )


def find_sampling_problems(url: str) -> list[str]:
    """What of a server's own settings makes its log-probabilities answer another question than the trainer's,
    with the fix; seen by how it answers.
    """
    only, neutral = _likeliest(url, NEUTRAL | {"top_k": 1}), _likeliest(url, NEUTRAL)
    troubles = []
    if only < -_CERTAIN:
        troubles.append(
            f"{url}: its log-probabilities are those before temperature and cuts: sample at temperature 1 "
            "only, or start it with --logprobs-mode processed_logprobs"
        )
    elif abs(_likeliest(url, {}) - neutral) > _CERTAIN:
        troubles.append(
            f"{url}: requests that don't say how to sample get a distribution that is cut or bent (by the "
            "model's generation_config.json, most likely): start it with --generation-config vllm"
        )
    return troubles


def _likeliest(url: str, knobs: dict[str, Any]) -> float:
    """The log-probability of the likeliest next token. Raises ServeError."""
    (top,) = _sample_token(url, {"logprobs": 5} | knobs)["logprobs"]["top_logprobs"]
    return max(float(value) for value in top.values())


def _sample_token(url: str, options: dict[str, Any]) -> dict[str, Any]:
    """The one choice of an answer of one token. Raises ServeError."""
    answer = send(url, "/v1/completions", {"model": _model(url), "prompt": [0], "max_tokens": 1} | options)
    if answer is None or answer.status_code != 200:
        said = "nothing" if answer is None else f"{answer.status_code}: {answer.text[:200]}"
        raise ServeError(f"{url}: asked for one token, it answered {said}", usage=False)
    choice: dict[str, Any] = answer.json()["choices"][0]
    return choice


def _model(url: str) -> str:
    answer = send(url, "/v1/models")
    models = answer.json().get("data") if answer is not None and answer.status_code == 200 else None
    if not models:
        raise ServeError(f"{url}: GET /v1/models names no model; is it an engine?", usage=False)
    return str(models[0]["id"])
