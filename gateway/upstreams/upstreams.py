"""All upstreams, and the choice of one for a request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.codec import codec_of_resource
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.gateway.upstreams.upstream import Upstream

_log = structlog.get_logger("crosswind.upstreams")


class Upstreams:
    """The upstreams in the order in which their globs are matched with a model's name."""

    def __init__(self, members: Sequence[Upstream], default: Upstream) -> None:
        self._members = tuple(members)
        self.default = default
        """For requests that name no model: the short form's upstream, else the first one."""

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def choose(self, protocol: str, model: str | None) -> Upstream:
        """Choose the first upstream that has the model and speaks the protocol; the default one if none has
        the model.

        Raises ServiceError 501 if the upstreams that have the model don't speak the protocol.
        """
        candidates = [one for one in self._members if model is not None and one.models.match(model)]
        for upstream in candidates or (self.default,):
            if upstream.speaks(protocol):
                return upstream
        names = ", ".join(repr(one.name) for one in candidates or (self.default,))
        raise ServiceError(
            501,
            f"the upstream {names}, which has model {model!r}, does not speak {protocol}; "
            "use a protocol of its own, or name one that speaks it under `upstreams`",
            kind="not_implemented_error",
            code="protocol_not_supported",
        )

    def ignore_model(self, protocol: str) -> bool:
        """Whether all requests of a protocol go to one upstream, which gets the model's name unchanged."""
        one = self.default
        return self._members == (one,) and one.speaks(protocol) and not one.settings.model_map

    def for_model(self, model: str) -> Upstream:
        """The first upstream that has the model, whatever the protocol."""
        return next((one for one in self._members if one.models.match(model)), self.default)

    def for_path(self, path: str) -> Upstream:
        """The upstream for a request that is passed through: one that speaks the protocol of the path."""
        codec = codec_of_resource(path)
        if codec is None or self.default.speaks(codec.name):
            return self.default
        return next((one for one in self._members if one.speaks(codec.name)), self.default)

    def refuse_own(self, via: bytes | None) -> None:
        """Raise ServiceError 508 for a request that we sent to an upstream ourselves, by its header `VIA`."""
        if via is None:
            return
        for upstream in self._members:
            if upstream.mark in via:
                _log.error("an upstream leads back to this gateway", upstream=upstream.name)
                raise ServiceError(
                    508,
                    f"upstream {upstream.name!r} ({', '.join(upstream.settings.bases)}) leads back to this "
                    "gateway; give the model server's own URL",
                    code="upstream_loop",
                )

    def states(self) -> dict[str, dict[str, ReplicaState]]:
        """The health of every replica, by upstream name and base URL."""
        return {one.name: {each.base: each.state for each in one.replicas.members} for one in self._members}

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._members))


def build_upstreams(settings: Settings, known: Upstreams | None, run: str) -> Upstreams:
    """Build the upstreams of a configuration, for the run of this name. Unchanged upstreams of `known` are
    kept, with their connections and the health of their replicas.
    """
    kept = {one.name: one for one in known or ()}
    members = []
    for each in settings.every_upstream:
        upstream = Upstream(each, settings, run)
        before = kept.get(upstream.name)
        members.append(before if before is not None and before.identity == upstream.identity else upstream)
    default = members[-1] if settings.upstream is not None else members[0]
    return Upstreams(members, default)
