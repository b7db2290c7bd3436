"""Profiles: named, versioned YAML documents that say which operators act, how hard, when and where.

Validated once, here at the edge. A session gets a `Plan` that is compiled from a profile (`injectors.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import ValidationError

from injectors import registry
from injectors.bounds import Bounds
from injectors.marked_yaml import MarkedYaml, YamlSyntaxError
from injectors.profile_checks import checked
from injectors.profile_errors import ProfileError, Trouble, of_validation
from injectors.profile_model import LEVEL, Companion, Compose, Profile, Rule, Where
from injectors.profile_sense import check_tools

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
        document = MarkedYaml(yaml_text)
    except YamlSyntaxError as error:
        raise ProfileError(
            f"{origin}:{error.line}: not valid YAML: {error}; mend the syntax there"
        ) from error
    if not isinstance(document.data, dict):
        raise ProfileError(
            f"{origin}:1: a profile is a mapping with `name` and `rules`, not {document.data!r:.60}"
        )
    try:
        if (cycle := document.cycle()) is not None:
            raise Trouble(cycle, None, "a cycle: it holds itself; write out what is meant").located(
                document, origin
            )
        profile = Profile.model_validate(document.data)
    except ValidationError as error:
        raise of_validation(error, Profile, document, origin) from error
    except RecursionError as error:
        raise ProfileError(f"{origin}:1: nested too deeply: a profile needs four levels at most") from error
    try:
        if tools:
            check_tools(profile, tools)
        return checked(profile)
    except Trouble as trouble:
        raise trouble.located(document, origin) from trouble


@cache
def _built_in() -> Mapping[str, Traversable]:
    found: dict[str, Traversable] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif entry.name.endswith(".yaml"):
                found[prefix + entry.name.removesuffix(".yaml")] = entry

    walk(files("injectors") / "profiles", "")
    return dict(sorted(found.items()))


def names() -> list[str]:
    """The built-in profiles' names."""
    return list(_built_in())


def source(name: str) -> str:
    """The YAML text of a built-in profile. Unknown: ProfileError naming the nearest."""
    try:
        return _built_in()[name].read_text(encoding="utf-8")
    except KeyError:
        raise ProfileError(f"unknown profile {name!r}; {registry.nearest(name, names())}") from None


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
