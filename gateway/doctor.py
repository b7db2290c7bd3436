"""`crosswind doctor`: the effective configuration, with secrets hidden, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gateway.serve import with_options


@click.command()
@with_options
def doctor(config: Path | None, **flags: Any) -> None:
    """Print the effective configuration, with secrets hidden."""
    import yaml

    from gateway.configuration.loading import load

    settings = load(config, flags)
    click.echo(
        yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, default_flow_style=False), nl=False
    )
