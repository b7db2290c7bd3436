"""The secrets of a configuration, to be masked wherever something is stored or told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from crosswind.gateway.config.sections import ServerKey
from crosswind.gateway.config.settings import Settings


def collect_secrets(settings: Settings) -> list[str]:
    """All of its keys, wherever they stand; keys that are given as digests are unknown. The values of an
    upstream's query are secrets, unless they name a version.
    """
    queries = [upstream.query or {} for upstream in settings.every_upstream]
    values = [value for query in queries for name, value in query.items() if "version" not in name.lower()]
    return [*_walk(settings), *values]


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        if isinstance(value, ServerKey) and value.secret is not None:
            yield value.secret
        yield from _walk([getattr(value, name) for name in type(value).model_fields])
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _walk(one)
