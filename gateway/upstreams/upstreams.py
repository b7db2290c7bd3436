"""All upstreams, and which of them a request goes to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.codec import codec_of_resource
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.gateway.upstreams.upstream import Upstream


class Upstreams:
    """The upstreams in the order in which a model's name is held against them."""

    def __init__(self, members: Sequence[Upstream], default: Upstream) -> None:
        self._members = tuple(members)
        self.default = default
        """What has no model's name in it goes there: the short form's upstream, else the first one."""

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def choose(self, protocol: str, model: str | None) -> Upstream:
        """The upstream of a turn: the first that has the model and speaks the protocol, else the default one.

        ServiceError 501 where those that have the model don't speak the protocol.
        """
        having = [one for one in self._members if model is not None and one.models.match(model)]
        for upstream in having or (self.default,):
            if upstream.speaks(protocol):
                return upstream
        names = ", ".join(repr(one.name) for one in having or (self.default,))
        raise ServiceError(
            501,
            f"the upstream {names}, which has model {model!r}, does not speak {protocol}; "
            "use a protocol of its own, or name one that speaks it under `upstreams`",
            kind="not_implemented_error",
            code="protocol_not_supported",
        )

    def of_model(self, model: str) -> Upstream:
        """The upstream of a model, whatever the protocol."""
        return next((one for one in self._members if one.models.match(model)), self.default)

    def of_path(self, path: str) -> Upstream:
        """The upstream of a request that is passed through: one that speaks the protocol whose path it is."""
        codec = codec_of_resource(path)
        if codec is None or self.default.speaks(codec.name):
            return self.default
        return next((one for one in self._members if one.speaks(codec.name)), self.default)

    def states(self) -> dict[str, dict[str, ReplicaState]]:
        """How every replica fares, by the upstream's name and the replica's address."""
        return {one.name: {each.base: each.state for each in one.replicas.members} for one in self._members}

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(one.close() for one in self._members))


def build_upstreams(settings: Settings, known: Upstreams | None = None) -> Upstreams:
    """The upstreams of a configuration. Those of `known` whose settings are the same are taken over, with
    their connections and what is known of their replicas.
    """
    kept = {one.name: one for one in known or ()}
    members = []
    for each in settings.every_upstream:
        upstream = Upstream(
            each,
            timeouts=settings.timeouts,
            limits=settings.limits,
            retries=settings.retries,
            health=settings.health,
        )
        same = kept.get(upstream.name)
        members.append(same if same is not None and same.identity == upstream.identity else upstream)
    default = members[-1] if settings.upstream is not None else members[0]
    return Upstreams(members, default)
