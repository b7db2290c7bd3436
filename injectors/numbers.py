"""Numbers in profiles: YAML's `true` is none, though Python counts it as 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

NO_NUMBER = "a boolean is no number: write the number"


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError("boolean", NO_NUMBER)
    return value


Whole = Annotated[int, BeforeValidator(_no_boolean)]
Real = Annotated[float, BeforeValidator(_no_boolean)]


def holds_boolean(value: Any) -> bool:
    """Whether a value is a boolean or holds one."""
    if isinstance(value, Mapping):
        return any(map(holds_boolean, value.values()))
    if isinstance(value, list | tuple):
        return any(map(holds_boolean, value))
    return isinstance(value, bool)
