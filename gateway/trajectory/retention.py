"""Retention: delete sessions that are too old, or the oldest sessions of a store that is too large.

The work is done in short steps, so that writers never wait long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crosswind.gateway.trajectory.record import SessionDeleted
from crosswind.gateway.trajectory.store import Store

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SESSIONS = 20
"""Sessions deleted per step."""


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """What to keep: sessions idle for less than `idle_s`, and of those the newest that fit into `size_bytes`.

    None means no limit. Open sessions and those that await a reward are kept, unless `everything`.
    """

    idle_s: float | None = None
    size_bytes: int | None = None
    everything: bool = False


def prune(store: Store, limits: RetentionLimits) -> Iterator[list[str]]:
    """Delete sessions beyond the limits step by step; yield the ids of the sessions each step deleted.

    A step without ids released content or space. Raises StoreError if the store can't be written.
    """
    yield from sweep_all(store)
    for idle_s, over in _pruning_steps(store, limits):
        while over() and (
            ids := store.prunable_sessions(idle_s=idle_s, everything=limits.everything, limit=_SESSIONS)
        ):
            store.write([SessionDeleted(session_id) for session_id in ids])
            yield ids
            yield from sweep_all(store)
    while store.shrink():
        yield []


def sweep_all(store: Store) -> Iterator[list[str]]:
    """Release the content of deleted sessions, step by step."""
    while store.sweep():
        yield []


def _pruning_steps(
    store: Store, limits: RetentionLimits
) -> Iterator[tuple[float | None, Callable[[], bool]]]:
    if (idle_s := limits.idle_s) is not None:
        yield idle_s, lambda: True
    if (size := limits.size_bytes) is not None:
        yield None, lambda: store.used_bytes() > size


def parse_seconds(text: str) -> float:
    """Parse `30d`, `12h` or `90m` into seconds. ValueError names the value and the accepted forms."""
    return _parse_measure(text, _SECONDS, "a duration such as 30d, 12h, 90m or 45s")


def parse_bytes(text: str) -> int:
    """Parse `10GB` or `512MiB` into bytes. ValueError names the value and the accepted forms."""
    return int(_parse_measure(text, _BYTES, "a size such as 10GB, 512MiB or 1000000"))


def _parse_measure(text: str, units: dict[str, int], wanted: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2] not in units:
        raise ValueError(f"{text!r} is not {wanted}")
    return float(match[1]) * units[match[2]]
