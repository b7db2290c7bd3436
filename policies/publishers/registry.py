"""The kinds of engines there are, and which of them a server is."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from crosswind.policies.engine import Engine, EngineAway, EngineError

ENTRY_POINTS = "crosswind.publishers"
_RECOGNISED_WITHIN = 10.0
"""Seconds that a server may take to say what it is."""


@cache
def publishers() -> dict[str, type[Engine]]:
    """The engine classes by the names of their kinds: this package's, and those of entry points, each of
    which names a module.
    """
    package = importlib.import_module("crosswind.policies.publishers")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
        if found.name != "registry"
    ]
    modules += [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    kinds: list[type[Engine]] = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "recognises")
    ]
    return {kind.name: kind for kind in kinds}


def connect(url: str, *, timeout: float = 60.0) -> Engine:
    """The engine at this URL, by what it says of itself. The caller closes it. Raises EngineError.

    A server with which nothing can be done but ask it (a hosted provider) is an engine too: see `hosted`.
    """
    known = publishers()
    for kind in sorted(known.values(), key=lambda kind: kind.name == "hosted"):
        if kind.recognises(url, min(timeout, _RECOGNISED_WITHIN)):
            return kind(url, timeout=timeout)
    if "://" not in url:
        raise EngineError(f"{url}: it is no URL of an engine; give its URL, as http://host:port")
    raise EngineAway(f"{url}: no engine answers there that is one of {', '.join(sorted(known))}; is it up?")
