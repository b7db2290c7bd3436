"""The checks of `crosswind doctor`: could the gateway serve, and with --check: do the upstreams answer, can
they be trained on, and what makes stored turns unfit?
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from crosswind.gateway.commands.findings import Finding, Mark
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.config.upstream import UpstreamSettings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.runtime import read_profile_files
from crosswind.gateway.sessions.profiles import PROFILE, Profiles
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.prefixes import CAUSES, SESSIONS_READ, check_newest_sessions
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store, StoreError, location, open_store
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


def diagnose(settings: Settings) -> Iterator[Finding]:
    """Check what the configuration names on this machine: upstreams' keys, the store, the profiles."""
    for upstream in settings.every_upstream:
        key = "the gateway's key" if upstream.credential else "the clients' own credentials"
        yield _good(f"upstream {upstream.name}: {', '.join(upstream.bases)}, with {key}")
    profiles = Profiles()
    try:
        with closing(open_store(settings.store, create=False)) as store:
            stored = store.settings(PROFILE)
    except StoreError as error:
        stored = []
        yield _check_absent_store(settings.store, error)
    else:
        yield _good(f"store {settings.store}: it can be opened")
    for one in stored:
        try:
            profiles.put(one.name, str(one.value["yaml"]))
        except (ValueError, KeyError) as error:
            yield _bad(f"store {settings.store}: profile {one.name!r} can't be read: {error}")
    try:
        read_profile_files(settings, profiles, 0)
    except ConfigurationError as error:
        yield from (_bad(problem) for problem in error.problems)
    else:
        yield _good(f"profile {settings.profile}: it can be read")


def _check_absent_store(url: str, error: StoreError) -> Finding:
    """A store that isn't there is made by `serve`, if its folder can be written."""
    if not url.startswith("sqlite://"):
        return _bad(f"store {url}: {error}")
    try:
        file = Path(location(url))
    except StoreError as wrong:
        return _bad(f"store: {wrong}")
    if not file.exists() and file.parent.is_dir() and os.access(file.parent, os.W_OK):
        return _good(f"store {url}: it isn't there yet; `crosswind serve` makes it")
    return _bad(f"store {url}: {error}")


def diagnose_training(settings: Settings) -> Iterator[Finding]:
    """Ask the upstreams, and read what the store says of training."""
    for upstream in settings.every_upstream:
        for found in _check_upstream(upstream):
            yield Finding(found.mark, f"upstream {upstream.name}: {found.text}")
    try:
        store = open_store(settings.store, create=False)
    except StoreError:
        yield _note("store: no turns yet")  # What is wrong with it was said before.
        return
    with closing(store):
        yield from _check_store(store)


def _good(text: str) -> Finding:
    return Finding(Mark.GOOD, text)


def _note(text: str) -> Finding:
    return Finding(Mark.NOTE, text)


def _bad(text: str) -> Finding:
    return Finding(Mark.BAD, " ".join(text.split()))


def _check_upstream(upstream: UpstreamSettings) -> Iterator[Finding]:
    headers = dict([upstream.credential] if upstream.credential else [])
    for base in upstream.bases:
        try:
            response = httpx.get(f"{base}/models", timeout=_LIST_TIMEOUT_S, trust_env=False, headers=headers)
        except httpx.HTTPError as error:
            yield _bad(
                f"{base}: it can't be reached ({type(error).__name__}: {error}): start it, or correct the URL"
            )
            continue
        if response.status_code in (401, 403):
            yield _check_refusal(base, upstream, response.status_code)
            continue
        if response.status_code >= 500:
            yield _bad(f"{base}: it answers with HTTP {response.status_code}")
            continue
        try:
            models = _parse_model_owners(response.json())
        except ValueError as error:
            yield _note(f"{base}: it answers without a list of models ({type(error).__name__}: {error})")
            continue
        if not ENGINES.isdisjoint(models.values()):
            found = _check_engine(base, models, headers)
            yield Finding(found.mark, f"{base}: {found.text}")
        else:
            yield _good(f"{base}: {HOSTED}")


def _check_refusal(base: str, upstream: UpstreamSettings, status: int) -> Finding:
    """The upstream answers and wants a credential: ours is wrong, or each client brings one."""
    if upstream.credential:
        return _bad(f"{base}: it refuses the gateway's key (HTTP {status}): correct the key")
    return _good(f"{base}: it answers (HTTP {status} without a key: the clients bring theirs)")


def _parse_model_owners(body: Any) -> dict[str, str]:
    models = body.get("data") if isinstance(body, Mapping) else None
    return {str(one.get("id")): str(one.get("owned_by")) for one in models or () if isinstance(one, Mapping)}


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
        return _bad(f"an engine ({owner}) that doesn't answer ({type(error).__name__}: {error})")
    if response.status_code != 200 or not isinstance(answer, dict):
        status = f"HTTP {response.status_code}: {response.text[:200]}"
        return _bad(f"an engine ({owner}) that refuses to sample a token ({status})")
    choice = _get_first_choice(answer)
    if missing := _list_missing_fields(answer, choice):
        return _note(f"an engine ({owner}) that answers without {missing}: {TOKENLESS}")
    trainable = f"an engine that can be trained on ({owner})"
    return _good(trainable) if choice.get("weight_versions") else _note(f"{trainable}; {NAMELESS}")


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


def _check_store(store: Store) -> Iterator[Finding]:
    fitness = store.summary().fitness
    if not fitness:
        yield _note("store: no turns yet")
    for reason, count in fitness.items():
        if reason != Fitness.FIT:
            turns = "turn is" if count == 1 else "turns are"
            yield _note(f"store: {count:,} {turns} unfit for training: {reason}{_REMEDIES.get(reason, '')}")
    trust = Trust.of([*store.settings(VERSION), *store.settings(SERVER)])
    if trust.stopped is not None:
        yield _bad(f"store: capture for training is stopped: {trust.stopped}")
    for url, said in trust.servers.doubted.items():
        yield _bad(f"store: capture for training is stopped for what {url} samples: {said.get('reason')}")
    for model, found in sorted(check_newest_sessions(store).items()):
        yield _note(
            f"store: of {found.pairs:,} turns of {model} ({SESSIONS_READ} newest sessions) "
            f"{found.held / found.pairs:.1%} extend what came before token for token"
        )
        for cause, count in found.causes().most_common():
            yield _note(f"store: {model}: {count:,} don't: {cause}: {CAUSES[cause]}")
