"""`crosswind policy`: serve a policy; what else it does is in `version_commands` and `compare_command`."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.policies.commands.compare import compare
from crosswind.policies.commands.list import list_versions
from crosswind.policies.commands.versions import TOLERANCE, fail, publish, refuse, rollback, verify


@click.group()
def policy() -> None:
    """Models that are served, and their versions."""


for command in (list_versions, publish, rollback, compare, verify):
    policy.add_command(command)


@policy.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--engine", default="vllm", show_default=True, help="The kind of engine.")
@click.option(
    "--embedded",
    "engine",
    flag_value="embedded",
    help="The in-process torch engine, for laptops, demos and tests.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0: a free one, which is printed.",
)
@click.option("--seed", default=0, show_default=True, help="Of the sampling of requests that bring no seed.")
@click.option(
    "--rows", type=click.IntRange(1), default=64, show_default=True, help="Sequences that decode together."
)
@click.option("--attach", multiple=True, metavar="URL", help="A server that runs already; may be repeated.")
@click.option(
    "--log", type=click.Path(path_type=Path, dir_okay=False), help="Where the engine's output goes."
)
@click.option(
    "--control",
    metavar="URL",
    help="A gateway's control plane: it is told when a server goes away, and each version is confirmed there "
    "before it counts for training.",
)
@TOLERANCE
@click.argument("arguments", nargs=-1)
def serve(
    *,
    directory: Path,
    engine: str,
    host: str,
    port: int,
    seed: int,
    rows: int,
    attach: tuple[str, ...],
    log: Path | None,
    control: str | None,
    tolerance: float,
    arguments: tuple[str, ...],
) -> None:
    """Serve DIRECTORY, a policy directory or the name of a policy that comes with the package (`retail`).

    ARGUMENTS, after `--`, go to the engine's own command line.
    """
    from crosswind.policies.server import ServeError, ServeRequest
    from crosswind.policies.servers.registry import servers
    from crosswind.policies.versions.version import find_policy

    kinds = servers()
    if engine not in kinds:
        refuse(f"--engine {engine}: the kinds are {', '.join(sorted(kinds))}")
    request = ServeRequest(
        find_policy(directory), host, port, seed, rows, attach, log, arguments, control, tolerance
    )
    try:
        kinds[engine].serve(request, click.echo)
    except ServeError as error:
        if error.usage:
            refuse(str(error))
        fail(str(error))
