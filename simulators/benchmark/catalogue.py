"""The noise types and profiles that the gateway offers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click
import httpx
import yaml

from crosswind.gateway.client import authorization
from crosswind.simulators.errors import UsageError

_AT_ONCE_S = 2.0
_LEVEL = re.compile(r"/level-\d+$")
"""What a session may add to a profile's name."""


def read_profile_types(control: str, profile: str) -> list[str]:
    """The noise types of a profile that draws one type for each session. Raises UsageError for others."""
    try:
        document = yaml.safe_load(_read_profile(control, "--profile", _LEVEL.sub("", profile)))
    except httpx.HTTPError:
        raise UsageError(f"--control: nothing answers at {control}; start `crosswind serve`") from None
    types = [str(rule["operator"]) for rule in document["rules"]]
    if not types or any("*" in name for name in types):
        raise UsageError(
            f"--profile: {profile!r} doesn't name its noise types one by one; name them with --noise"
        )
    return types


def list_profiles(control: str) -> list[str]:
    """The names of the gateway's profiles; none if it doesn't answer at once."""
    try:
        answer = httpx.get(
            f"{control.rstrip('/')}/api/profiles",
            headers=authorization(None),
            trust_env=False,
            timeout=_AT_ONCE_S,
        )
        return [str(name) for name in answer.raise_for_status().json()["profiles"]]
    except (httpx.HTTPError, ValueError, KeyError):
        return []


def check_offered(control: str, types: Iterable[str], profiles: Iterable[tuple[str, str]]) -> None:
    """Raise UsageError if the gateway lacks one of these noise types, or of these profiles (each with the
    option that names it). If no gateway answers, say so and pass: it may come up later, and nobody else knows
    what it offers.
    """
    try:
        has = _read_operators(control)
        for name in types:
            if name not in has:
                near = get_close_matches(name, has, 1)
                fix = f"did you mean {near[0]!r}?" if near else "`crosswind noise list` names them"
                raise UsageError(f"--noise: the gateway has no noise type {name!r}; {fix}")
        for option, name in profiles:
            _read_profile(control, option, _LEVEL.sub("", name))
    except httpx.HTTPError:
        click.echo(f"nothing answers at {control}: its noise types and profiles weren't checked", err=True)


def _read_operators(control: str) -> set[str]:
    """The names and aliases of all operators."""
    answer = _get(control, "operators")
    entries: list[dict[str, Any]] = answer.raise_for_status().json()["operators"]
    return {str(name) for entry in entries for name in (entry["name"], *entry["aliases"])}


def _read_profile(control: str, option: str, name: str) -> str:
    answer = _get(control, f"profiles/{name}")
    if answer.status_code != 200:
        raise UsageError(
            f"{option}: the gateway has no {name!r}; `crosswind noise list` names those there are"
        )
    return str(answer.json()["yaml"])


def _get(control: str, path: str) -> httpx.Response:
    url = f"{control.rstrip('/')}/api/{path}"
    answer = httpx.get(url, headers=authorization(None), trust_env=False)
    if answer.status_code in (401, 403):
        raise UsageError(f"--control: {control}: {answer.json()['error']['message']}")
    return answer
