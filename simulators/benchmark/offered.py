"""What the gateway has to play under, as it says itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click
import httpx
import yaml

from crosswind.simulators.errors import UsageError

_LEVEL = re.compile(r"/level-\d+$")
"""What a session may add to a profile's name."""


def types_of_profile(control: str, profile: str) -> list[str]:
    """The noise types of a profile that draws one type for each session; else a usage error."""
    try:
        types = _types(_profile(control, "--profile", _LEVEL.sub("", profile)))
    except httpx.HTTPError:
        raise UsageError(f"--control: nothing answers at {control}; start `crosswind serve`") from None
    if not types or any("*" in name for name in types):
        raise UsageError(
            f"--profile: {profile!r} doesn't name its noise types one by one; name them with --noise"
        )
    return types


def check_offered(control: str, types: Iterable[str], profiles: Iterable[tuple[str, str]]) -> None:
    """A usage error where the gateway lacks one of these noise types, or of these profiles (each with the
    option that names it). Where no gateway answers that is said, and nothing refused: it may come up later,
    and what it has is known to it alone.
    """
    try:
        has = _operators(control)
        for name in types:
            if name not in has:
                near = get_close_matches(name, has, 1)
                mend = f"did you mean {near[0]!r}?" if near else "`crosswind noise list` names them"
                raise UsageError(f"--noise: the gateway has no noise type {name!r}; {mend}")
        for option, name in profiles:
            if not name.endswith((".yaml", ".yml")):  # The gateway reads files when a session asks for them.
                _profile(control, option, _LEVEL.sub("", name))
    except httpx.HTTPError:
        click.echo(f"nothing answers at {control}: its noise types and profiles weren't checked", err=True)


def _operators(control: str) -> set[str]:
    """The names and aliases of all operators."""
    answer = _asked(control, "operators")
    entries: list[dict[str, Any]] = answer.raise_for_status().json()["operators"]
    return {str(name) for entry in entries for name in (entry["name"], *entry["aliases"])}


def _profile(control: str, option: str, name: str) -> str:
    answer = _asked(control, f"profiles/{name}")
    if answer.status_code != 200:
        raise UsageError(
            f"{option}: the gateway has no {name!r}; `crosswind noise list` names those there are"
        )
    return str(answer.json()["yaml"])


def _types(profile: str) -> list[str]:
    return [str(rule["operator"]) for rule in yaml.safe_load(profile)["rules"]]


def _asked(control: str, path: str) -> httpx.Response:
    return httpx.get(f"{control.rstrip('/')}/api/{path}", trust_env=False)
