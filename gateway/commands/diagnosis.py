"""The checks of `crosswind doctor --check`: can the upstreams be trained on, and what makes stored turns
unfit?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import httpx

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.config.upstream import UpstreamSettings
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.prefixes import CAUSES, SESSIONS_READ, check_newest_sessions
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store, StoreError, open_store
from crosswind.gateway.trajectory.trust import VERSION, Trust

ENGINES = frozenset({"vllm", "crosswind"})
"""Values of `owned_by` of engines that return token ids."""
HOSTED = (
    "a hosted model: it gives no token ids and its weights can't be set. Noise, recording, rollouts, bench "
    "and report work; training doesn't"
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
_REMEDIES: dict[str, str] = {
    Fitness.CONSTRAINED_SAMPLING: " (a grammar or a mask forced tokens: have the agent leave out `strict` in "
    "tools, `parallel_tool_calls: false`, a `tool_choice` that demands calls, and `response_format`)",
}
"""The fix by the reason why turns are unfit."""
_LIST_TIMEOUT_S, _SAMPLE_TIMEOUT_S = 5.0, 30.0
"""Timeouts for the list of models, and for sampling one token on an engine that may be under load."""


def diagnose(settings: Settings) -> Iterator[str]:
    """Yield one line per finding."""
    for upstream in settings.every_upstream:
        yield from (f"upstream {upstream.name}: {said}" for said in _check_upstream(upstream))
    try:
        store = open_store(settings.store, create=False)
    except StoreError as error:
        yield f"store: {error}"
        return
    with closing(store):
        yield from _check_store(store)


def _check_upstream(upstream: UpstreamSettings) -> Iterator[str]:
    headers = dict([upstream.credential] if upstream.credential else [])
    for base in upstream.bases:
        try:
            response = httpx.get(f"{base}/models", timeout=_LIST_TIMEOUT_S, trust_env=False, headers=headers)
            models = _parse_model_owners(response.json())
        except (httpx.HTTPError, ValueError) as error:
            yield f"{base}: no list of models ({type(error).__name__}: {error})"
            continue
        if not ENGINES.isdisjoint(models.values()):
            yield f"{base}: {_check_engine(base, models, headers)}"
        else:
            yield f"{base}: {HOSTED}"


def _parse_model_owners(body: Any) -> dict[str, str]:
    models = body.get("data") if isinstance(body, Mapping) else None
    return {str(one.get("id")): str(one.get("owned_by")) for one in models or () if isinstance(one, Mapping)}


def _check_engine(base: str, models: Mapping[str, str], headers: dict[str, str]) -> str:
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
        return f"an engine ({owner}) that doesn't answer ({type(error).__name__}: {error})"
    if response.status_code != 200 or not isinstance(answer, dict):
        status = f"HTTP {response.status_code}: {response.text[:200]}"
        return f"an engine ({owner}) that refuses to sample a token ({status})"
    choice = _get_first_choice(answer)
    if missing := _list_missing_fields(answer, choice):
        return f"an engine ({owner}) that answers without {missing}: {TOKENLESS}"
    unnamed = "" if choice.get("weight_versions") else f"; {NAMELESS}"
    return f"an engine that can be trained on ({owner}){unnamed}"


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


def _check_store(store: Store) -> Iterator[str]:
    fitness = store.summary().fitness
    if not fitness:
        yield "store: no turns yet"
    for reason, count in fitness.items():
        if reason != Fitness.FIT:
            turns = "turn is" if count == 1 else "turns are"
            yield f"store: {count:,} {turns} unfit for training: {reason}{_REMEDIES.get(reason, '')}"
    trust = Trust.of([*store.settings(VERSION), *store.settings(SERVER)])
    if trust.stopped is not None:
        yield f"store: capture for training is stopped: {trust.stopped}"
    for url, said in trust.servers.doubted.items():
        yield f"store: capture for training is stopped for what {url} samples: {said.get('reason')}"
    for model, found in sorted(check_newest_sessions(store).items()):
        yield (
            f"store: of {found.pairs:,} turns of {model} ({SESSIONS_READ} newest sessions) "
            f"{found.held / found.pairs:.1%} extend what came before token for token"
        )
        for cause, count in found.causes().most_common():
            yield f"store: {model}: {count:,} don't: {cause}: {CAUSES[cause]}"
