"""The option `--assume-replayable`: whether a forecast believes a profile that says that every call may be
repeated, as `crosswind serve` does with the same option only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from crosswind.injectors.profiles.load import Profile

C = TypeVar("C", bound=Callable[..., Any])


def replayable_option(command: C) -> C:
    return click.option(
        "--assume-replayable/--no-assume-replayable",
        envvar="CROSSWIND_ASSUME_REPLAYABLE",
        show_envvar=True,
        help="Show what a gateway with this option does: it believes profiles that say that every tool call "
        "may be repeated.",
    )(command)


def as_served(profile: Profile, assume_replayable: bool) -> Profile:
    """The profile as a gateway acts on it."""
    if assume_replayable or profile.assume_tools == "declared":
        return profile
    return profile.model_copy(update={"assume_tools": "declared"})


def describe_assumption(profile: Profile, assume_replayable: bool) -> str:
    """What the profile assumes of tools, and whether that counts here; empty where it assumes nothing."""
    if profile.assume_tools == "declared":
        return ""
    counts = (
        "This is what `crosswind serve --assume-replayable` does."
        if assume_replayable
        else "`crosswind serve` believes that with --assume-replayable only. This is what it does without."
    )
    return f"The profile says that every call may be repeated (assume_tools: replayable). {counts}"
