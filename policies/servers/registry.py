"""The kinds of engines that can be started, by name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from crosswind.policies.server import PolicyServer

ENTRY_POINTS = "crosswind.servers"
_NO_KINDS = ("registry", "server")


@cache
def servers() -> dict[str, type[PolicyServer]]:
    """This package's kinds, and those of entry points, each of which names a module."""
    package = importlib.import_module("crosswind.policies.servers")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if found.name not in _NO_KINDS
    ]
    modules += [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    kinds: list[type[PolicyServer]] = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "serve")
    ]
    return {kind.name: kind for kind in kinds}
