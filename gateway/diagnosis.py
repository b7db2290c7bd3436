"""What `crosswind doctor --check` finds: upstreams that can't be trained on, and why prompts don't extend
what came before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import httpx

from gateway.config import Settings
from gateway.configuration.upstreams import UpstreamSettings
from gateway.report.prefixes import SESSIONS_READ, prefixes
from gateway.trajectory.prefixes import CAUSES
from gateway.trajectory.record import FIT
from gateway.trajectory.store import Store, StoreError, open_store
from gateway.trajectory.trust import VERSION, Trust

ENGINES = frozenset({"vllm", "crosswind"})
"""Owners of models, as engines name themselves, that give token ids."""
HOSTED = (
    "a hosted model: it gives no token ids and its weights can't be set. Noise, recording, rollouts, bench "
    "and report work; training doesn't"
)
_WITHIN_S = 5.0


def findings(settings: Settings) -> Iterator[str]:
    """One line each."""
    for upstream in settings.every_upstream:
        yield from (f"upstream {upstream.name}: {said}" for said in _upstream(upstream))
    try:
        store = open_store(settings.store, create=False)
    except StoreError as error:
        yield f"store: {error}"
        return
    with closing(store):
        yield from _store(store)


def _upstream(upstream: UpstreamSettings) -> Iterator[str]:
    for base in upstream.bases:
        try:
            response = httpx.get(f"{base}/models", timeout=_WITHIN_S, trust_env=False, headers=_key(upstream))
            owners = _owners(response.json())
        except (httpx.HTTPError, ValueError) as error:
            yield f"{base}: no list of models ({type(error).__name__}: {error})"
            continue
        if owners & ENGINES:
            yield f"{base}: an engine that can be trained on ({', '.join(sorted(owners))})"
        else:
            yield f"{base}: {HOSTED}"


def _key(upstream: UpstreamSettings) -> dict[str, str]:
    style, key = upstream.spoken.auth, upstream.secret
    if key is None or style == "none":
        return {}
    return {style: key} if style.startswith(("api-", "x-")) else {"authorization": f"Bearer {key}"}


def _owners(body: Any) -> set[str]:
    models = body.get("data") if isinstance(body, Mapping) else None
    return {str(one.get("owned_by")) for one in models or () if isinstance(one, Mapping)}


def _store(store: Store) -> Iterator[str]:
    fitness = store.summary().fitness
    if not fitness:
        yield "store: no turns yet"
    for reason, count in fitness.items():
        if reason != FIT:
            yield f"store: {count:,} turns are unfit for training: {reason}"
    if (stopped := Trust.of(store.settings(VERSION)).stopped) is not None:
        yield f"store: capture for training is stopped: {stopped}"
    for model, found in sorted(prefixes(store).items()):
        yield (
            f"store: of {found.pairs:,} turns of {model} ({SESSIONS_READ} newest sessions) "
            f"{found.held / found.pairs:.1%} extend what came before token for token"
        )
        for cause, count in found.causes().most_common():
            yield f"store: {model}: {count:,} don't: {cause}: {CAUSES[cause]}"
