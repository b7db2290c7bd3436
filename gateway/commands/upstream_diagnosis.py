"""The checks of `crosswind doctor --check` on upstreams: do they answer, and can they be trained on?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from crosswind.gateway.commands.findings import Finding, bad, good, note
from crosswind.gateway.config.provider_presets import DIALECTS
from crosswind.gateway.config.upstream import UpstreamSettings
from crosswind.gateway.counts import count

ENGINES = frozenset({"vllm", "crosswind"})
"""Values of `owned_by` of engines that return token ids."""
HOSTED = (
    "none is of an engine that is known to give token ids, so each counts as a hosted model: it gives no "
    "token ids and its weights can't be set. Noise, recording, rollouts, bench and report work; training "
    "doesn't. No turn was tried"
)
TOKENLESS = (
    "its turns are unfit for training (engine_no_tokens). Serve with `crosswind policy serve`, and with "
    "nothing between that drops `return_token_ids` or what comes of it"
)
NAMELESS = (
    "but it doesn't say which version sampled what: turns that last across a swap are lost "
    "(version_span_unknown), and all of them if the publisher doesn't tell the gateway "
    "(unknown_version): serve with `crosswind policy serve`"
)
_LIST_TIMEOUT_S, _SAMPLE_TIMEOUT_S = 5.0, 30.0
"""Timeouts for the list of models, and for sampling one token on an engine that may be under load."""


def diagnose_upstream(upstream: UpstreamSettings) -> Iterator[Finding]:
    """Ask each replica for its models, and an engine for a token."""
    headers = dict([upstream.credential] if upstream.credential else [])
    for base in upstream.bases:
        try:
            response = _get_models(base, headers)
        except httpx.HTTPError as error:
            yield bad(
                f"{base}: it can't be reached ({type(error).__name__}: {error}): start it, or correct the URL"
            )
            continue
        if response.status_code in (401, 403):
            yield _check_refusal(base, upstream, response.status_code)
        elif response.status_code >= 500:
            yield bad(f"{base}: GET {base}/models gives {_describe(response)}")
        elif (models := _read_models(response)) is None:
            yield _check_other_answer(base, upstream, response, headers)
        elif not ENGINES.isdisjoint(models.values()):
            found = _check_engine(base, models, headers)
            yield Finding(found.mark, f"{base}: {found.text}")
        else:
            yield good(f"{base}: it lists {count(len(models), 'model')}; {HOSTED}")


def _get_models(base: str, headers: Mapping[str, str]) -> httpx.Response:
    return httpx.get(f"{base}/models", timeout=_LIST_TIMEOUT_S, trust_env=False, headers=headers)


def _describe(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "no content type").partition(";")[0]
    return f"HTTP {response.status_code} ({kind})"


def _check_other_answer(
    base: str, upstream: UpstreamSettings, response: httpx.Response, headers: Mapping[str, str]
) -> Finding:
    """The answer has no list of models: the URL is wrong, or the server has no such list."""
    found = f"{base}: GET {base}/models gives {_describe(response)}, no list of models"
    for other in _list_neighbours(base):
        try:
            models = _get_models(other, headers)
        except httpx.HTTPError:
            continue
        if _read_models(models) is not None:
            return bad(f"{found}; GET {other}/models gives one: correct the URL to {other}")
    if "chat" not in upstream.effective_dialect.protocols or _has_chat_route(base, headers):
        return note(f"{found}: whether it can be trained on isn't known")
    return bad(f"{found}, and it has no {base}/chat/completions: correct the URL")


def _list_neighbours(base: str) -> Iterator[str]:
    """URLs that may have been meant: without a route at its end, and with the path of an API."""
    stem = base
    for route in ("/chat/completions", "/completions", "/models", "/messages", "/responses"):
        stem = stem.removesuffix(route)
    origin = urlsplit(base)._replace(path="").geturl()
    joins = {"/v1": None} | {preset.join: None for preset in DIALECTS.values()}
    others = [stem, f"{stem}/v1", *(origin + join for join in joins)]
    yield from (one for one in dict.fromkeys(others) if one != base)


def _has_chat_route(base: str, headers: Mapping[str, str]) -> bool:
    """Whether the route of turns exists: a request without messages is refused there, not unknown."""
    try:
        answer = httpx.post(
            f"{base}/chat/completions", json={}, timeout=_LIST_TIMEOUT_S, trust_env=False, headers=headers
        )
    except httpx.HTTPError:
        return False
    return answer.status_code not in (404, 405)


def _check_refusal(base: str, upstream: UpstreamSettings, status: int) -> Finding:
    """The upstream answers and wants a credential: ours is wrong, or each client brings one."""
    if upstream.credential:
        return bad(f"{base}: it refuses the gateway's key (HTTP {status}): correct the key")
    return note(
        f"{base}: it answers, and wants a key (HTTP {status}): the clients bring theirs; for clients with a "
        f"session's key, which is never forwarded, set {upstream.missing_key}"
    )


def _read_models(response: httpx.Response) -> dict[str, str] | None:
    """The models that are listed, with their owners; None if the answer is no list."""
    try:
        body = response.json()
    except ValueError:
        return None
    models = body.get("data") if isinstance(body, Mapping) else None
    if response.status_code != 200 or not isinstance(models, list):
        return None
    return {str(one.get("id")): str(one.get("owned_by")) for one in models if isinstance(one, Mapping)}


def _check_engine(base: str, models: Mapping[str, str], headers: dict[str, str]) -> Finding:
    """Sample one token as capture does, and describe the result."""
    model, owner = next((name, owner) for name, owner in models.items() if owner in ENGINES)
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    asked = body | {"logprobs": True, "return_token_ids": True}
    try:
        response = httpx.post(
            f"{base}/chat/completions",
            json=asked,
            headers=headers,
            timeout=_SAMPLE_TIMEOUT_S,
            trust_env=False,
        )
        answer = response.json()
    except (httpx.HTTPError, ValueError) as error:
        return bad(f"an engine ({owner}) that doesn't answer ({type(error).__name__}: {error})")
    if response.status_code != 200 or not isinstance(answer, dict):
        status = f"HTTP {response.status_code}: {response.text[:200]}"
        return bad(f"an engine ({owner}) that refuses to sample a token ({status})")
    choice = _get_first_choice(answer)
    if missing := _list_missing_fields(answer, choice):
        return note(f"an engine ({owner}) that answers without {missing}: {TOKENLESS}")
    trainable = f"an engine that can be trained on ({owner})"
    return good(trainable) if choice.get("weight_versions") else note(f"{trainable}; {NAMELESS}")


def _list_missing_fields(answer: Mapping[str, Any], choice: Mapping[str, Any]) -> str:
    parts = {
        "the prompt's token ids": answer.get("prompt_token_ids"),
        "the sampled token ids": choice.get("token_ids"),
        "log-probabilities": choice.get("logprobs"),
    }
    return ", ".join(name for name, part in parts.items() if not part)


def _get_first_choice(answer: Any) -> Mapping[str, Any]:
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
