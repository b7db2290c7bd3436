"""The settings that can change while the gateway serves, and the difference of two configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError

LIVE = frozenset(
    {
        "upstream", "upstream_key", "token_ids", "upstreams", "websockets", "public_url",
        "retries.attempts", "retries.backoff", "retries.on_status", "retries.longest_wait",
        "health.failures", "health.eject", "health.eject_longest", "health.probe", "health.probe_every",
        "tools.mcp", "tools.apis",
        "profile", "tool_classes", "tools_read_only", "seed", "sessions", "auth", "keys",
        "control_key", "control_keys", "allowed_hosts", "allowed_origins",
        "markers", "steering", "steering_cap.profiles", "steering_cap.seed",
        "capture", "capture_top", "body_secrets", "durability", "acknowledge_wait",
        "timeouts.connect", "timeouts.pool_wait", "timeouts.first_byte", "timeouts.between_chunks",
        "timeouts.after_completion", "timeouts.expression", "timeouts.total",
        "timeouts.header", "timeouts.body", "timeouts.send", "timeouts.linger",
        "limits.bodies", "limits.header_lines", "limits.url",
        "limits.clients", "limits.clients_per_address", "limits.clients_half_open",
        "limits.body", "limits.control_body", "limits.header", "limits.event", "limits.answer",
        "limits.stream",
        "limits.decoded",
        "limits.connections",
        "limits.live_bytes",
        "limits.live_sessions",
        "dose.share", "dose.tenants", "dose.drill_share", "dose.events_per_session", "dose.events_per_tool",
        "train.lag_limit", "train.lag_every", "train.retry_after",
        "log.level", "log.access",
    }
)  # fmt: skip
"""Settings that take effect at once on a reload; all others need a restart."""


def find_changes(old: Settings, new: Settings) -> tuple[str, ...]:
    """The settings that differ, as dotted names.

    Raises ConfigurationError if one of them can't change while the gateway serves.
    """
    changed = tuple(sorted(_iter_differences(old, new)))
    if fixed := [name for name in changed if name not in LIVE]:
        raise ConfigurationError(
            f"{', '.join(fixed)} can't be changed while the gateway serves; "
            "undo that, or restart: nothing was changed"
        )
    return changed


def _iter_differences(old: BaseModel, new: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(old).model_fields:
        before: Any = getattr(old, name)
        after: Any = getattr(new, name)
        if isinstance(before, BaseModel) and type(before) is type(after):
            yield from _iter_differences(before, after, f"{prefix}{name}.")
        elif before != after:
            yield prefix + name
