"""The bounds that no session may exceed, whatever its rules say, and the number types of profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

NO_NUMBER = "a boolean is no number: write the number"


def _refuse_boolean(value: Any) -> Any:
    """YAML's `true` is no number, though Python counts it as 1."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean", NO_NUMBER)
    return value


Whole = Annotated[int, BeforeValidator(_refuse_boolean)]
Real = Annotated[float, BeforeValidator(_refuse_boolean)]
Bound = Annotated[Whole, Field(ge=0)]


def holds_boolean(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    return any(map(holds_boolean, value)) if isinstance(value, list | tuple) else isinstance(value, bool)


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
