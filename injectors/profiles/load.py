"""Profiles: named, versioned YAML documents that say which operators act, how hard, when and where.

Validated once, here at the edge. A session gets a `Plan` that is compiled from a profile
(`crosswind.injectors.engine.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from crosswind.injectors import registry
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.profiles.checks import check_profile, check_tools
from crosswind.injectors.profiles.errors import InvalidField, ProfileError, explain
from crosswind.injectors.profiles.located_yaml import LocatedYaml, YamlSyntaxError, find_cycle
from crosswind.injectors.profiles.model import LEVEL, Companion, Compose, Profile, Rule, Where

__all__ = [
    "Bounds",
    "Companion",
    "Compose",
    "Profile",
    "ProfileError",
    "Rule",
    "Where",
    "load",
    "names",
    "parse",
]


def parse(yaml_text: str, origin: str, *, tools: Sequence[str] = ()) -> Profile:
    """The profile that the YAML text describes. `origin` (a file's name, say) stands before errors; `tools`
    are those that are known of the traffic it is for. ProfileError."""
    try:
        document = LocatedYaml(yaml_text)
    except YamlSyntaxError as error:
        raise ProfileError(f"{origin}:{error.line}: not valid YAML: {error}; fix the syntax there") from error
    if not isinstance(document.data, dict):
        fix = f"a profile is a mapping with `name` and `rules`, not {document.data!r:.60}"
        raise ProfileError(f"{origin}:1: {fix}")
    try:
        if (cycle := find_cycle(document.data)) is not None:
            raise InvalidField(cycle, None, "a cycle: it holds itself; write out what is meant")
        profile = Profile.model_validate(document.data)
        if tools:
            check_tools(profile, tools)
        return check_profile(profile)
    except ValidationError as error:
        raise explain(error, Profile, document.data).locate(document, origin) from error
    except RecursionError as error:
        raise ProfileError(f"{origin}:1: nested too deeply: a profile needs four levels at most") from error
    except InvalidField as error:
        raise error.locate(document, origin) from error


@cache
def _built_in() -> Mapping[str, Path]:
    root = Path(__file__).with_name("builtin")
    found = {file.relative_to(root).with_suffix("").as_posix(): file for file in root.rglob("*.yaml")}
    return dict(sorted(found.items()))


def names() -> list[str]:
    return list(_built_in())


def levels(name: str) -> list[str]:
    """The names of a built-in profile's levels: `NAME/level-0` and so on; none where it has no levels."""
    highest = load(name).highest_level
    return [] if highest is None else [f"{name}{LEVEL}{level}" for level in range(highest + 1)]


def source(name: str) -> str:
    """The YAML text of a built-in profile, also by an operator's alias: `robustbench-tc/CD` is
    `robustbench-tc/MisDesc`. Unknown: ProfileError naming the nearest."""
    found = _built_in().get(name) or _built_in().get(_by_alias(name))
    if found is None:
        raise ProfileError(f"unknown profile {name!r}; {registry.nearest(name, names())}")
    return found.read_text(encoding="utf-8")


def _by_alias(name: str) -> str:
    """The profile in the same folder that is named after the same operator: by our name for it, or by
    another of the papers' names."""
    folder, slash, alias = name.rpartition("/")
    entry = registry.operators().get(registry.aliases().get(alias, alias)) if slash else None
    others = () if entry is None else (entry.name, *entry.aliases)
    return next((one for other in others if (one := f"{folder}/{other}") in _built_in()), "")


@cache
def load(name: str) -> Profile:
    """The built-in profile of that name; `NAME/level-K` is NAME at level K. Unknown: ProfileError naming
    the nearest."""
    base, marker, level = name.rpartition(LEVEL)
    if not marker:
        return parse(source(name), f"{name}.yaml")
    if not (level.isascii() and level.isdigit()):
        raise ProfileError(f"profile {name!r}: the level {level!r} is no number: write {base}{LEVEL}1, say")
    return load(base).at_level(int(level))
