"""`crosswind store`: back up, prune, verify and delete, also while a gateway writes to the store."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.migrate import migrate
from crosswind.gateway.trajectory.commands.store_option import UnusableStore, open_named, store_option
from crosswind.gateway.trajectory.record import SessionDeleted
from crosswind.gateway.trajectory.retention import (
    RetentionLimits,
    parse_bytes,
    parse_seconds,
    prune,
    sweep_all,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import StoreError, iterate_sessions

C = TypeVar("C", bound=Callable[..., None])


@click.group(
    short_help="Keep a store in order.",
    epilog="""\b
Examples:
  crosswind store verify
  crosswind store prune --older-than 30d --dry-run
""",
)
def store() -> None:
    """Keep a trajectory store in order, also while a gateway writes to it."""


store.add_command(migrate)


def _store_options(command: C) -> C:
    return store_option(
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
    )


class _Measure(click.ParamType[float]):
    """A value such as 30d or 10GB."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@store.command(
    short_help="Copy the store into one file.",
    epilog="""\b
Examples:
  crosswind store backup --out backup.db
  crosswind store backup --store /data/crosswind.db --out backup.db --force
""",
)
@_store_options
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The copy.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def backup(url: str, as_json: bool, out: Path, force: bool) -> None:
    """Copy a snapshot of the store into one file that only its owner can read."""
    with _open(url) as opened:
        if out.exists() and not force:
            raise click.UsageError(f"--out {out} exists already; name another file, or give --force")
        size = opened.backup(out, force=force)
        _print_result(as_json, {"backup": str(out), "bytes": size}, f"{out}: {size} bytes")


@store.command(
    short_help="Check the store for damage.",
    epilog="""\b
Examples:
  crosswind store verify
  crosswind store verify --store backup.db --json
""",
)
@_store_options
def verify(url: str, as_json: bool) -> None:
    """Decode every turn and follow every reference; exit 1 with a list of what is broken."""
    with _open(url) as opened:
        report = opened.check()
    document = {
        "whole": report.whole,
        "problems": report.problems,
        "more_problems": report.more,
        "checked": report.checked,
    }
    lines = [
        *report.problems,
        *([f"... and {report.more} more"] if report.more else []),
        f"checked: {_format_counts(report.checked)}",
        "the store is whole" if report.whole else "the store is damaged: restore it from a backup",
    ]
    _print_result(as_json, document, *lines)
    sys.exit(0 if report.whole else 1)


@store.command(
    short_help="Delete sessions.",
    epilog="""\b
Examples:
  crosswind store delete --session s-1 --session s-2
  crosswind store delete --label run=trial --tenant team-a --dry-run
""",
)
@_store_options
@click.option("--session", "session_ids", multiple=True, help="This session; may be given again.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Sessions with all of these.")
@click.option("--tenant", help="Sessions of this tenant.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
def delete(
    url: str,
    as_json: bool,
    session_ids: tuple[str, ...],
    labels: tuple[str, ...],
    tenant: str | None,
    dry_run: bool,
) -> None:
    """Delete sessions and their turns, events and rewards."""
    if bool(session_ids) == bool(labels or tenant is not None):
        raise click.UsageError("give either --session, or --label and --tenant")
    wanted = dict(_parse_label(label) for label in labels)
    with _open(url) as opened:
        found = _select_sessions(opened, session_ids, wanted, tenant)
        turns = sum(len(opened.turns_since(one, 0)) for one in found) if dry_run else 0
        if not dry_run:
            for at in range(0, len(found), 20):
                opened.write([SessionDeleted(session_id) for session_id in found[at : at + 20]])
                for _ in sweep_all(opened):
                    pass
            _shrink_fully(opened)
    done = f"with {count(turns, 'turn')} would go" if dry_run else "deleted"
    what = f"{count(len(found), 'session')} {done}"
    document = {"sessions": found, "dry_run": dry_run} | ({"turns": turns} if dry_run else {})
    _print_result(as_json, document, *(found if dry_run else ()), what)


@store.command(
    "prune",
    short_help="Delete the oldest sessions.",
    epilog="""\b
Examples:
  crosswind store prune --older-than 30d
  crosswind store prune --larger-than 10GB --all
""",
)
@_store_options
@click.option("--older-than", type=_Measure("age", parse_seconds), help="Sessions idle for longer: 30d, 12h.")
@click.option(
    "--larger-than", type=_Measure("size", parse_bytes), help="The oldest, till the rest fits: 10GB."
)
@click.option("--all", "everything", is_flag=True, help="Open sessions and those awaiting a reward, too.")
@click.option("--dry-run", is_flag=True, help="Say what would go by age, and delete nothing.")
def prune_command(
    url: str,
    as_json: bool,
    older_than: float | None,
    larger_than: float | None,
    everything: bool,
    dry_run: bool,
) -> None:
    """Delete the oldest sessions, and give the space back."""
    size = None if larger_than is None else int(larger_than)
    if older_than is None and size is None:
        raise click.UsageError("give --older-than, --larger-than or both, such as --older-than 30d")
    if dry_run and older_than is None:
        raise click.UsageError("--dry-run needs --older-than: what goes by size shows as it goes")
    with _open(url) as opened:
        if dry_run:
            ids = opened.prunable_sessions(idle_s=older_than, everything=everything, limit=-1)
            what = f"{count(len(ids), 'session')} would go"
            _print_result(as_json, {"sessions": ids, "dry_run": True}, *ids, what)
            return
        before = opened.used_bytes()
        gone = sum(len(ids) for ids in prune(opened, RetentionLimits(older_than, size, everything)))
        _shrink_fully(opened)
        after = opened.used_bytes()
    document = {"sessions": gone, "bytes_before": before, "bytes_after": after}
    _print_result(
        as_json,
        document,
        f"{count(gone, 'session')} deleted: {before} bytes before, {after} after",
    )
    if size is not None and after > size:
        why = f"{after} bytes are left, more than --larger-than {size}: the rest is open or awaits a reward"
        raise click.ClickException(f"{why}; give --all to take it, too")


def _shrink_fully(opened: SqliteStore) -> None:
    while opened.shrink():
        pass


def _select_sessions(
    opened: SqliteStore, session_ids: tuple[str, ...], labels: dict[str, str], tenant: str | None
) -> list[str]:
    """The ids of the selected sessions. Raises StoreError for an unknown id."""
    if session_ids:
        if missing := [one for one in session_ids if opened.session_state(one) is None]:
            raise StoreError(f"there is no session {missing[0]!r} in {opened.path}; check --session")
        return list(dict.fromkeys(session_ids))
    found = iterate_sessions(opened, label=labels, tenant=tenant)
    return list(dict.fromkeys(session.id for session in found))


def _parse_label(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise click.UsageError(f"--label {text!r} has no value; write --label key=value")
    return key, value


@contextmanager
def _open(url: str) -> Iterator[SqliteStore]:
    """Open the store. Errors become one line; exit code 2 means that it can't be opened."""
    with open_named(url) as found:
        if not isinstance(found, SqliteStore):
            raise UnusableStore(f"store {url!r} has its own tools; `crosswind store` keeps SQLite stores")
        yield found


def _format_counts(figures: dict[str, int]) -> str:
    return ", ".join(count(number, name.removesuffix("s")) for name, number in figures.items())


def _print_result(as_json: bool, document: dict[str, Any], *lines: str) -> None:
    click.echo(json.dumps(document) if as_json else "\n".join(lines))
