"""Asks replicas regularly how they are, where the configuration names a path to ask (`health.probe`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.upstreams.replicas import Replica
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.upstream import Upstream

_MAX_READ = 1 << 20
"""Bytes of an answer; that there is more says nothing of how a replica fares."""


class HealthProbes:
    """One task for each upstream that is to be asked. `stop` ends them all."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, upstreams: Iterable[Upstream]) -> None:
        """Ask these from now on, and no others."""
        self.stop()
        for upstream in upstreams:
            if upstream.health.probe is not None:
                self._tasks.add(asyncio.create_task(_probe_regularly(upstream, upstream.health.probe)))

    def stop(self) -> None:
        """Ask no more."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()


async def _probe_regularly(upstream: Upstream, path: str) -> None:
    while True:
        await asyncio.gather(*(probe_replica(upstream, replica, path) for replica in upstream.replicas.members))
        await asyncio.sleep(upstream.health.probe_every)


async def probe_replica(upstream: Upstream, replica: Replica, path: str) -> None:
    """Ask one replica once, with the upstream's own key. It fares well if it answers in time with no 5xx."""
    nobody = Caller()
    outgoing = UpstreamRequest("GET", upstream.path(path, "", nobody), upstream.headers((), nobody, {}), None)
    try:
        async with asyncio.timeout(upstream.health.probe_every):
            answer = await upstream.pool.send(replica.base, outgoing, replica.failed)
            try:
                await answer.upto(_MAX_READ)
            finally:
                answer.close()
    except UpstreamError as error:
        replica.failed(error.code)
    except TimeoutError:
        replica.failed("probe_timeout")
    else:
        if answer.status >= 500:
            replica.failed(f"status_{answer.status}")
        else:
            replica.succeeded()
