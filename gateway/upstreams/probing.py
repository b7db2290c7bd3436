"""Active health checks: request a path of each replica regularly (`health.probe`)."""

from __future__ import annotations

import asyncio

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.upstreams.replicas import Replica
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.upstream import Upstream

_MAX_READ = 1 << 20
"""Bytes of a response to read; the rest says nothing about the replica's health."""


async def probe_regularly(upstream: Upstream, path: str) -> None:
    """Probe all replicas of an upstream at intervals, for ever."""
    while True:
        await asyncio.gather(
            *(probe_replica(upstream, replica, path) for replica in upstream.replicas.members)
        )
        await asyncio.sleep(upstream.health.probe_every)


async def probe_replica(upstream: Upstream, replica: Replica, path: str) -> None:
    """Probe a replica once with the upstream's own key: healthy means an answer in time that isn't a 5xx."""
    nobody = Caller()
    outgoing = UpstreamRequest("GET", upstream.path(path, "", nobody), upstream.headers((), nobody, {}), None)
    try:
        async with asyncio.timeout(upstream.health.probe_every):
            answer = await upstream.pool.send(replica.base, outgoing, replica.record_failure)
            try:
                await answer.read_up_to(_MAX_READ)
            finally:
                answer.close()
    except UpstreamError as error:
        replica.record_failure(error.code)
    except TimeoutError:
        replica.record_failure("probe_timeout")
    else:
        replica.record_status(answer.status)
