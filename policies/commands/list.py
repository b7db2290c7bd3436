"""`crosswind policy list`: versions on disk, and how they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.policies.commands.versions import exit_on_failure

if TYPE_CHECKING:
    from crosswind.policies.versions.journal import VersionStatus
    from crosswind.policies.versions.version import PolicyVersion


@click.command("list")
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="A JSON line per version.")
def list_versions(root: Path, *, as_json: bool) -> None:
    """List the versions under ROOT, the oldest first, and how they stand."""
    from crosswind.policies.versions.version import Registry

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
    known = {"bad": None, "confirmed": None, "published": None}
    if status is not None:
        known = {name: getattr(status, name) for name in known}
    return version.metadata() | {"path": version.path} | known


def _describe(status: VersionStatus | None) -> str:
    if status is None:
        return "-"
    if status.bad is not None:
        return f"bad: {status.bad}"
    if status.confirmed is not None:
        return f"confirmed within {status.confirmed:.2g}"
    return "published" if status.published else "-"
