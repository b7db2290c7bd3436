"""What a gateway offers in noise, as its control plane tells it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import httpx
import yaml


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as the gateway lists it."""

    name: str
    site: str
    recovery: str
    fault: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The gateway's profiles, by name, and its operators."""

    profiles: Mapping[str, Mapping[str, Any]]
    operators: Mapping[str, Operator]

    def matching(self, globs: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """The profiles whose names match one of the globs."""
        return [(name, each) for name, each in self.profiles.items() if _matches(name, globs)]

    def operators_matching(self, globs: Sequence[str]) -> Sequence[Operator]:
        """The operators whose names match one of the globs."""
        return [one for name, one in sorted(self.operators.items()) if _matches(name, globs)]


def nothing_matches(globs: Sequence[str], names: Collection[str]) -> str | None:
    """What is wrong with the first glob that none of the names match, and the nearest name; None: nothing."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            near = get_close_matches(glob, names, n=1)
            return f"{glob!r} matches none; " + (f"did you mean {near[0]!r}?" if near else "widen it")
    return None


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


async def catalogue_of(control: str) -> Catalogue:
    """Ask the gateway's control plane at this URL. httpx.HTTPError where it doesn't answer."""
    async with httpx.AsyncClient(base_url=control, trust_env=False, timeout=30) as http:
        names = (await _json(http, "/api/profiles"))["profiles"]
        texts = {name: (await _json(http, f"/api/profiles/{name}"))["yaml"] for name in names}
        listed = (await _json(http, "/api/operators"))["operators"]
    operators = {
        one["name"]: Operator(one["name"], one["site"], one["recovery"], bool(one["fault"])) for one in listed
    }
    return Catalogue({name: yaml.safe_load(text) for name, text in texts.items()}, operators)


async def _json(http: httpx.AsyncClient, path: str) -> Any:
    answer = await http.get(path)
    answer.raise_for_status()
    return answer.json()
