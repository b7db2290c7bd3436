"""Data that the gateway stores as JSON: plans, decisions, lists of tools, curricula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from crosswind.injectors.plain_data import convert


class StoredData:
    """A dataclass or Struct that is stored. Stores keep its keys, so a field's name never changes."""

    __slots__ = ()
    stored_as: ClassVar[str]
    """What an error calls it."""

    def to_json(self) -> dict[str, Any]:
        return dict(msgspec.to_builtins(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The value that `to_json` gave. ValueError where the data describe none."""
        try:
            return convert(data, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"not a {cls.stored_as}: {error}; fix that field") from error
