"""Globs that a name is held against."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable


class Patterns:
    """Several globs as one: a name matches where any of them does. Case counts."""

    def __init__(self, globs: Iterable[str]) -> None:
        globs = tuple(globs)
        self._pattern = re.compile("|".join(fnmatch.translate(glob) for glob in globs) if globs else r"(?!)")

    def match(self, name: str) -> bool:
        """Whether one of the globs is the name's."""
        return self._pattern.match(name) is not None
