"""The kinds of engines and of servers: one file each, here or in a package that names its module."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import Any


@cache
def find_kinds(package: str, group: str, member: str) -> dict[str, type[Any]]:
    """The classes with this member, by their names: those in the modules of the package, and in the modules
    that the entry points of the group name.
    """
    folder = importlib.import_module(package)
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.iter_modules(folder.__path__, f"{package}.")
        if not found.name.endswith(".registry")
    ]
    modules += [entry.load() for entry in entry_points(group=group)]
    kinds: list[Any] = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, member)
    ]
    return {kind.name: kind for kind in kinds}
