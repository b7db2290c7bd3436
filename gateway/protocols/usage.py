"""What several exchanges used, as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def add_usages(usages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Usages added up, member by member."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in usage.items():
            known = total.get(name)
            if isinstance(value, dict):
                total[name] = add_usages([known if isinstance(known, dict) else {}, value])
            elif isinstance(value, int | float) and isinstance(known, int | float):
                total[name] = known + value
            else:
                total[name] = value
    return total
