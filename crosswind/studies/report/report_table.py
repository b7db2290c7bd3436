"""A table of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table: its title, a line on what it shows, its heads and rows."""

    title: str
    about: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
