"""What no session may exceed, whatever its rules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from crosswind.injectors.numbers import Whole

Bound = Annotated[Whole, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of one session, along each branch."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    faults_per_call: Bound = 1
    """Destroyed results per logical call: after that many, the call returns the truth."""
    faults_per_session: Bound = 10
    """Destroyed results in all."""
    events_per_session: Bound = 100
    """Injections in all."""
    events_per_tool: Bound | None = None
    """Injections into one tool's results; None: as many as the session may have."""


DEFAULT = Bounds()
