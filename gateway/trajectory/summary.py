"""Statistics of a store: traffic, noise, failures by source, latencies and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a store. Counts are turns unless noted otherwise."""

    protocols: Mapping[str, tuple[int, int]]
    """Turns per protocol, and how many of them were streamed."""
    fitness: Mapping[str, int]
    """Turns per fitness."""
    failures: Mapping[tuple[str, str], int]
    """Failures by source (ours, upstream, tool, client, injected) and kind."""
    noise: Mapping[str, tuple[int, int]]
    """Events per operator: injected, and withheld."""
    without_noise: Mapping[str, int]
    """Turns to which no operator was applied, by the reason."""
    destroyed_writes: Mapping[str, int]
    """Results destroyed by tool, whose calls were only assumed to be repeatable."""
    times_us: Mapping[str, tuple[int, ...]]
    """The quantiles of `QUANTILES`, in microseconds."""
    usage: Mapping[str, int]
    """Prompt and completion tokens as the upstream counted them."""
    usage_injected: Mapping[str, int]
    """The share of those tokens that noise added."""
    rewards: Mapping[str, int]
    """Sessions by the state of their reward."""
