"""`crosswind export`: a store's trajectories, in the formats of other libraries."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import BinaryIO

import click

from crosswind.gateway.trajectory.commands.store_option import open_named, store_argument
from crosswind.gateway.trajectory.export_format import (
    ExportFormat,
    ExportRefused,
    Selection,
    ViewName,
    export_formats,
)
from crosswind.gateway.trajectory.store import Store, iterate_sessions
from crosswind.gateway.whole_file import open_whole


def _find_format(context: click.Context, parameter: click.Parameter, name: str) -> ExportFormat:
    known = export_formats()
    if name not in known:
        raise click.BadParameter(f"no format {name!r}: give one of {', '.join(known)}", context, parameter)
    return known[name]


@click.command(
    short_help="Write trajectories for other libraries.",
    epilog="""\b
Examples:
  crosswind export --out trajectories.jsonl
  crosswind export --store backup.db --session s-1 | head -c 400
  crosswind export --format trl --out rollouts.jsonl
  crosswind export --format openai --view clean --out fine-tuning.jsonl
""",
)
@store_argument
@click.option(
    "--format",
    "form",
    default="jsonl",
    show_default=True,
    callback=_find_format,
    help="jsonl (all that is recorded), openai, parquet, sharegpt, trl, verl, or one of a package.",
)
@click.option(
    "--view",
    type=click.Choice([*(view.value for view in ViewName), "both"]),
    default=ViewName.PERTURBED.value,
    show_default=True,
    help="openai, sharegpt: conversations as the agent or as the policy had them. The others hold both.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="trl, verl: what the tokens were sampled at. Rollouts at another temperature are left out.",
)
@click.option("--session", "session_id", help="This session only.")
@click.option("--group", "group_id", help="The sessions of this group only, by rollout index.")
@click.option(
    "--out",
    default="-",
    show_default=True,
    help="The file to write, or - for standard output. A file that exists is replaced once all is written.",
)
def export(
    url: str,
    form: ExportFormat,
    view: str,
    temperature: float,
    session_id: str | None,
    group_id: str | None,
    out: str,
) -> None:
    """Write the trajectories of a store, oldest first. What can't be written is counted on standard error.

    STORE may be given as an argument instead of --store.
    """
    if session_id and group_id:
        raise click.UsageError("--session and --group exclude each other; give one of them")
    views = tuple(ViewName) if view == "both" else (ViewName(view),)
    target = None if out == "-" else Path(out)
    with open_named(url) as opened:
        ids = _sessions(opened, session_id, group_id)
        if not ids and (session_id or group_id):
            wanted = f"session {session_id!r}" if session_id else f"group {group_id!r}"
            raise click.ClickException(f"{url} has no {wanted}; check its id")
        # Another process may have written sessions while the ids were listed: each goes out once.
        selection = Selection(opened, tuple(dict.fromkeys(ids)), views, temperature, target)
        _write(form, selection)
    for reason, count in sorted(selection.left_out.items()):
        click.echo(f"left out: {count} {reason}", err=True)


def _sessions(store: Store, session_id: str | None, group_id: str | None) -> list[str]:
    if session_id:
        return [session_id] if store.session(session_id) else []
    found = [*iterate_sessions(store, group_id=group_id)][::-1]
    if group_id:
        found.sort(key=lambda session: (session.rollout_index is None, session.rollout_index))
    return [session.id for session in found]


def _write(form: ExportFormat, selection: Selection) -> None:
    try:
        with contextlib.ExitStack() as stack:
            file: BinaryIO = sys.stdout.buffer
            if selection.target is not None:
                file = stack.enter_context(open_whole(selection.target))
            form(selection, file)
            file.flush()
    except ExportRefused as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        where = selection.target or "standard output"
        raise click.ClickException(f"--out: {where} can't be written: {error.strerror}") from error
