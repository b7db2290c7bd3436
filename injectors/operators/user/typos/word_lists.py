"""Read the lists of words beside this file: a word a line, with what stands for it; or plain words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@lru_cache(32)
def read_words(name: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(word for line in _read_lines(name) for word in line)


@lru_cache(32)
def read_variants(name: str) -> dict[str, tuple[str, ...]]:
    """The first word of each line to the others."""
    return {word: tuple(others) for word, *others in _read_lines(name)}


def _read_lines(name: str) -> Iterator[list[str]]:
    for line in (_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split()
