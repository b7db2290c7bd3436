"""The clients, one file for each kind: a file's `ROWS` are its lines of the matrix."""

from __future__ import annotations

import importlib
import pkgutil

from tests.clients.job import Row


def rows(*modules: str) -> list[Row]:
    """The rows of these modules; of every module where none is named. In the order of their names."""
    names = modules or tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))
    return [row for name in names for row in importlib.import_module(f"{__name__}.{name}").ROWS]
