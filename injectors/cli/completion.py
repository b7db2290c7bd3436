"""How a shell completes the names of profiles and operators."""

from __future__ import annotations

import click

from crosswind.injectors import registry
from crosswind.injectors.profiles import load as profiles


def complete_profiles(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    return [name for name in profiles.names() if name.startswith(typed)]


def complete_noise(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Operators and profiles."""
    operators = (name for name in sorted(registry.operators()) if name.startswith(typed))
    return [*operators, *complete_profiles(context, parameter, typed)]
