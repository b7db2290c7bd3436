"""`crosswind config`: the configuration that is in force."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.commands.serve import with_options


@click.group(
    short_help="Print the effective configuration.",
    epilog="""\b
Example:
  crosswind config show --changed
""",
)
def config() -> None:
    """The gateway's configuration."""


@config.command(
    short_help="Print the effective configuration, secrets hidden.",
    epilog="""\b
Examples:
  crosswind config show --config crosswind.yaml
  CROSSWIND_PORT=9000 crosswind config show --changed
""",
)
@with_options
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
def show(config: Path | None, changed: bool, **flags: Any) -> None:
    """Print the effective configuration as YAML: of the file, the CROSSWIND_* variables and these options.

    Secrets are hidden. An upstream need not be given.
    """
    import yaml

    from crosswind.gateway.config.loading import load
    from crosswind.gateway.config.settings import Settings

    settings = load(config, flags, complete=False)
    shown = settings.model_dump(mode="json")
    if changed:
        shown = _keep_changes(shown, Settings.model_construct().model_dump(mode="json"))
    if shown:
        text = yaml.safe_dump(shown, sort_keys=False, default_flow_style=False, allow_unicode=True)
        click.echo(text, nl=False)


def _keep_changes(shown: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from the defaults; of a section, only its own keys that differ."""
    kept: dict[str, Any] = {}
    for name, value in shown.items():
        default = defaults.get(name)
        if value == default:
            continue
        if isinstance(value, dict) and isinstance(default, dict):
            kept[name] = _keep_changes(value, default)
        else:
            kept[name] = value
    return kept
