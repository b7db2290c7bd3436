"""`crosswind policy`: serve a policy; what else it does is in `versioning` and `comparing`."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import click

from policies.comparing import compare
from policies.versioning import list_versions, publish, rollback, verify


@click.group()
def policy() -> None:
    """Models that are served, and their versions."""


for command in (list_versions, publish, rollback, compare, verify):
    policy.add_command(command)


@policy.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--embedded", is_flag=True, help="The in-process torch engine, for laptops, demos and tests.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, help="0: a free one, which is printed.")
@click.option("--seed", default=0, show_default=True, help="Of the sampling of requests that bring no seed.")
@click.option("--rows", default=64, show_default=True, help="Sequences that decode together.")
def serve(*, directory: Path, embedded: bool, host: str, port: int, seed: int, rows: int) -> None:
    """Serve DIRECTORY, a policy directory or the name of a policy that comes with the package (`retail`)."""
    from policies.version import VersionError, find_policy

    if not embedded:
        _refuse("--embedded is missing: the embedded engine is the only one so far; add --embedded")
    try:
        from policies.embedded.batch import Limits
        from policies.embedded.server import serve as serve_embedded
    except ModuleNotFoundError as error:
        _refuse(f"{error.name} isn't installed: install crosswind[train]")
    found = find_policy(directory)
    try:
        serve_embedded(
            found,
            host=host,
            port=port,
            seed=seed,
            limits=Limits(rows=rows),
            ready=lambda url: click.echo(f"serving {found.name} at {url}"),
        )
    except VersionError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"--host {host} --port {port}: {error.strerror or error}; choose another port")


def _refuse(message: str) -> NoReturn:
    click.echo(message, err=True)
    raise SystemExit(2)
