"""`crosswind policy`: serve a policy, list versions; its other commands are in `imports`, `versions` and
`compare`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from crosswind.policies.commands.compare import compare
from crosswind.policies.commands.exits import fail, refuse
from crosswind.policies.commands.imports import find_directory, import_
from crosswind.policies.commands.versions import (
    TOLERANCE,
    exit_on_failure,
    publish,
    rollback,
    verify,
)
from crosswind.policies.server import ATTACHED_WITHIN_S, STARTED_WITHIN_S, ServeError, ServeRequest, servers
from crosswind.policies.versions.journal import VersionStatus
from crosswind.policies.versions.version import PolicyVersion, Registry


@click.group(
    short_help="Serve policies and manage their versions.",
    epilog="""\b
Examples:
  crosswind policy serve retail --embedded
  crosswind policy list runs/first/versions
""",
)
def policy() -> None:
    """Models that are served, and their versions."""


for command in (import_, publish, rollback, compare, verify):
    policy.add_command(command)


@policy.command(
    short_help="Serve a policy.",
    epilog="""\b
Examples:
  crosswind policy serve retail --embedded --port 8000
  crosswind policy serve runs/first/versions/train-00007 -- --max-model-len 4096
  crosswind policy serve retail --attach http://10.0.0.5:8000
""",
)
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
@click.option(
    "--start-within",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds until the server must answer.  "
    f"[default: {STARTED_WITHIN_S:g}; {ATTACHED_WITHIN_S:g} with --attach]",
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
    start_within: float | None,
    tolerance: float,
    arguments: tuple[str, ...],
) -> None:
    """Serve DIRECTORY: a version's, the name of a policy that comes with the package (`retail`), or any
    model's directory or hub id.

    ARGUMENTS, after `--`, go to the engine's own command line.
    """

    kinds = servers()
    if engine not in kinds:
        refuse(f"--engine {engine}: the kinds are {', '.join(sorted(kinds))}")
    request = ServeRequest(
        find_directory(directory),
        host,
        port,
        seed,
        rows,
        attach,
        log,
        arguments,
        control,
        start_within,
        tolerance,
    )
    try:
        kinds[engine].serve(request, click.echo)
    except ServeError as error:
        if error.usage:
            refuse(str(error))
        fail(str(error))


@policy.command(
    "list",
    short_help="List versions, the oldest first.",
    epilog="""\b
Examples:
  crosswind policy list runs/first/versions
  crosswind policy list runs/first/versions --json
""",
)
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="A JSON line per version.")
def list_versions(root: Path, *, as_json: bool) -> None:
    """List the versions under ROOT, the oldest first, and how they stand."""
    registry = Registry(root)
    with exit_on_failure():
        statuses = registry.journal.read_statuses()
        for version in registry.list_all():
            status = statuses.get(version.version)
            if as_json:
                click.echo(json.dumps(_row(version, status), default=str))
            else:
                fields = (version.version, f"step {version.step}", f"parent {version.parent or '-'}")
                kind = version.kind if version.base is None else f"{version.kind} of {version.base}"
                click.echo(
                    "\t".join([*fields, version.checksum[:16], kind, version.run or "-", _describe(status)])
                )


def _row(version: PolicyVersion, status: VersionStatus | None) -> dict[str, Any]:
    return version.metadata() | {"path": version.path} | asdict(status or VersionStatus())


def _describe(status: VersionStatus | None) -> str:
    if status is None:
        return "-"
    if status.bad is not None:
        return f"bad: {status.bad}"
    if status.confirmed is not None:
        return f"confirmed within {status.confirmed:.2g}"
    return "published" if status.published else "-"
