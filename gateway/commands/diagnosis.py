"""The checks of `crosswind doctor` on this machine: could the gateway serve, who would reach it, and what
makes stored turns unfit for training?
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx

from crosswind.gateway.commands.findings import Finding, bad, good, note
from crosswind.gateway.commands.listeners import (
    PortInUse,
    bind,
    describe_exposure,
    find_own_addresses,
    share_an_address,
)
from crosswind.gateway.commands.store_claim import find_claim
from crosswind.gateway.commands.upstream_diagnosis import diagnose_upstream
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.counts import count
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, SWITCH_ON, find_reason, switch_file
from crosswind.gateway.sessions.profiles import PROFILE, Profiles, read_profile_files
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.prefixes import CAUSES, SESSIONS_READ, check_newest_sessions
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store, StoreError, location, open_store
from crosswind.gateway.trajectory.trust import VERSION, Trust
from crosswind.gateway.upstreams.tool_servers import read_rules

_REMEDIES: dict[str, str] = {
    Fitness.CONSTRAINED_SAMPLING: " (a grammar or a mask forced tokens: have the agent leave out `strict` in "
    "tools, `parallel_tool_calls: false`, a `tool_choice` that demands calls, and `response_format`)",
}
"""The fix by the reason why turns are unfit."""
_HEALTH_TIMEOUT_S = 2.0


def diagnose(settings: Settings) -> Iterator[Finding]:
    """Check what the configuration names on this machine: addresses, upstreams' keys, the store, profiles."""
    yield from _check_listener(settings.host, settings.port, "")
    yield from _check_listener(settings.control_host, settings.control_port, "control_")
    if share_an_address(settings):
        yield bad(f"port and control_port are both {settings.port}: give another --control-port")
    yield from (note(one) for one in describe_exposure(settings))
    for upstream in settings.every_upstream:
        key = "the gateway's key" if upstream.credential else "the clients' own credentials"
        yield good(
            f"upstream {upstream.name}: {', '.join(upstream.bases)}: a valid URL, to be used with {key}"
        )
    yield from _check_tool_servers(settings)
    yield from (bad(one) for one in find_own_addresses(settings))
    yield from _check_store_and_profiles(settings)


def _check_tool_servers(settings: Settings) -> Iterator[Finding]:
    """The servers of tools, with the path that clients use, and whether an API's calls can be told."""
    for name, server in settings.tools.mcp.items():
        yield good(f"tools.mcp.{name}: {server.url}: a valid URL; clients use /s/SESSION/mcp/{name}")
    for name, api in settings.tools.apis.items():
        field = f"tools.apis.{name}"
        try:
            rules, _ = read_rules(api)
        except ValueError as error:
            yield bad(f"{field}.{error}")
            continue
        if rules:
            yield good(f"{field}: {api.url}: a valid URL; clients use /s/SESSION/tools/{name}/…")
        else:
            yield note(f"{field}: no request is a call, so that none gets noise: give `openapi` or `rules`")


def _check_listener(host: str, port: int, prefix: str) -> Iterator[Finding]:
    """Whether `serve` could listen there. A gateway that serves there already is none to be mended."""
    try:
        bind(host, port, prefix).close()
    except PortInUse as error:
        if _answers_as_gateway(host, port):
            yield note(f"{prefix}port {port} on {host}: a gateway serves there already")
        else:
            yield bad(str(error))
    except ConfigurationError as error:
        yield bad(str(error))
    else:
        where = f"port {port} on {host}" if port else f"a port on {host}, chosen at the start,"
        yield good(f"{prefix}{where} could be bound")


def _answers_as_gateway(host: str, port: int) -> bool:
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    url = f"http://{f'[{name}]' if ':' in name else name}:{port}/healthz"
    try:
        answer = httpx.get(url, timeout=_HEALTH_TIMEOUT_S, trust_env=False)
    except httpx.HTTPError:
        return False
    return answer.content == b'{"status":"ok"}'


def _check_store_and_profiles(settings: Settings) -> Iterator[Finding]:
    profiles = Profiles()
    switch = None
    serving = find_claim(settings.store)
    try:
        with closing(open_store(settings.store, create=False)) as store:
            stored, switch = store.settings(PROFILE), store.setting(NOISE, SWITCH)
    except StoreError as error:
        stored = []
        yield _check_absent_store(settings.store, error, serving)
    else:
        yield good(f"store {settings.store}: it was opened and read; nothing was written")
    if serving is not None:
        yield note(f"store {settings.store}: the gateway of process {serving} serves it")
    if (reason := find_reason(switch_file(settings), switch)) is not None:
        yield note(f"noise is off, and stays off over a restart: {reason}; {SWITCH_ON}")
    for one in stored:
        try:
            profiles.put(one.name, str(one.value["yaml"]))
        except (ValueError, KeyError) as error:
            yield bad(f"store {settings.store}: profile {one.name!r} can't be read: {error}")
    try:
        read_profile_files(settings, profiles, 0)
    except ConfigurationError as error:
        yield from (bad(problem) for problem in error.problems)
    else:
        yield good(f"profile {settings.profile}: its rules are valid")


def _check_absent_store(url: str, error: StoreError, serving: str | None) -> Finding:
    """A store that isn't there is made by `serve`, if its folder can be written. One that is served was taken
    away from its gateway.
    """
    if not url.startswith("sqlite://"):
        return bad(f"store {url}: {error}")
    try:
        file = Path(location(url))
    except StoreError as wrong:
        return bad(f"store: {wrong}")
    if not file.exists() and serving is not None:
        return bad(
            f"store {url}: its file was deleted or moved while the gateway of process {serving} serves it. "
            "New rows wait in its memory: rename the file, or a backup, to this path before that process ends"
        )
    if not file.exists() and file.parent.is_dir() and os.access(file.parent, os.W_OK):
        return good(
            f"store {url}: it isn't there yet, and its folder can be written: `crosswind serve` makes it"
        )
    return bad(f"store {url}: {error}")


def diagnose_training(settings: Settings) -> Iterator[Finding]:
    """Ask the upstreams, and read what the store says of training."""
    for upstream in settings.every_upstream:
        for found in diagnose_upstream(upstream):
            yield Finding(found.mark, f"upstream {upstream.name}: {found.text}")
    try:
        store = open_store(settings.store, create=False)
    except StoreError:
        yield note("store: no turns yet")  # What is wrong with it was said before.
        return
    with closing(store):
        yield from _check_store(store)


def _check_store(store: Store) -> Iterator[Finding]:
    fitness = store.summary().fitness
    if not fitness:
        yield note("store: no turns yet")
    for reason, turns in fitness.items():
        if reason != Fitness.FIT:
            unfit = count(turns, "turn is", "turns are")
            yield note(f"store: {unfit} unfit for training: {reason}{_REMEDIES.get(reason, '')}")
    trust = Trust.of([*store.settings(VERSION), *store.settings(SERVER)])
    if trust.stopped is not None:
        yield bad(f"store: capture for training is stopped: {trust.stopped}")
    for url, said in trust.servers.doubted.items():
        yield bad(f"store: capture for training is stopped for what {url} samples: {said.get('reason')}")
    for model, found in sorted(check_newest_sessions(store).items()):
        yield note(
            f"store: of {found.pairs:,} turns of {model} ({SESSIONS_READ} newest sessions) "
            f"{found.held / found.pairs:.1%} extend what came before token for token"
        )
        for cause, pairs in found.causes().most_common():
            yield note(f"store: {model}: {pairs:,} don't: {cause}: {CAUSES[cause]}")
