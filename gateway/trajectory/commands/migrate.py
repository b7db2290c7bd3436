"""`crosswind store migrate`: carry an older store over to this version's schema."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.store_option import UnusableStore, store_argument
from crosswind.gateway.trajectory.sqlite.schema import VERSION
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import StoreError, location

if TYPE_CHECKING:
    from crosswind.gateway.trajectory.sqlite_blocks.migration import Migration, Plan

_EVERY_S = 2.0
"""Seconds between two lines of progress."""


@click.command(
    short_help="Carry an older store over to this version's schema.",
    epilog="""\b
Examples:
  crosswind store migrate crosswind.db --dry-run
  crosswind store migrate crosswind.db
""",
)
@store_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--compact", is_flag=True, help="Rewrite the file so that it can shrink; writers wait.")
def migrate(url: str, as_json: bool, dry_run: bool, compact: bool) -> None:
    """Carry an older store over into a new file, compare the two, and put the new one in its place.

    No gateway may have the store open. The old file stays beside the new one. A migration that was stopped
    goes on where it was; until it is complete, the store is the old one.
    """
    from crosswind.gateway.trajectory.sqlite_blocks.migration import Migration

    with _report_errors(UnusableStore):
        path = _locate(url)
        migration = Migration(path)
        plan = migration.plan() if migration.needed else None
    with _report_errors(click.ClickException):
        if plan is None:
            document, lines = _keep(migration, path, dry_run, compact)
        elif dry_run:
            document, lines = _tell(path, plan)
        else:
            document, lines = _run(migration, path, plan, as_json)
    click.echo(json.dumps(document | {"dry_run": dry_run}) if as_json else "\n".join(lines))


def _locate(url: str) -> Path:
    if "://" in url and not url.startswith("sqlite://"):
        raise StoreError(f"store {url!r} has its own tools; `crosswind store` keeps SQLite stores")
    return Path(location(url) if "://" in url else url)


@contextmanager
def _report_errors(kind: type[click.ClickException]) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise kind(str(error)) from error


def _keep(migration: Migration, path: Path, dry_run: bool, compact: bool) -> tuple[dict[str, Any], list[str]]:
    """A store of this version; an earlier run may have stopped before its last step."""
    if not dry_run:
        migration.finish()
    if compact and not dry_run:
        with closing(SqliteStore(path, create=False)) as store:
            store.compact()
    return {"from": VERSION, "to": VERSION, "kept": None}, [f"schema version {VERSION} is the newest"]


def _tell(path: Path, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    document = {
        "from": plan.version,
        "to": VERSION,
        "sessions": plan.sessions,
        "turns": plan.turns,
        "bytes_before": plan.size,
        "bytes_needed": plan.needed,
        "bytes_free": plan.free,
        "kept": None,
    }
    return document, [
        str(path),
        f"schema version {plan.version}, to be {VERSION}: {_count(plan)}, {_format_bytes(plan.size)}",
        f"needs about {_format_bytes(plan.needed)} of disk; {_format_bytes(plan.free)} are free",
    ]


def _count(plan: Plan) -> str:
    return f"{count(plan.sessions, 'session')}, {count(plan.turns, 'turn')}"


def _run(migration: Migration, path: Path, plan: Plan, as_json: bool) -> tuple[dict[str, Any], list[str]]:
    document, lines = _tell(path, plan)
    if plan.needed > plan.free:
        raise StoreError(
            f"the migration of {path} needs about {_format_bytes(plan.needed)} of disk, and "
            f"{_format_bytes(plan.free)} are free: free some, or move the store to a larger disk"
        )
    progress = _Progress(silent=as_json)
    progress.say(*lines)
    begun = time.monotonic()
    outcome = migration.run(progress)
    took_s = time.monotonic() - begun
    document |= {
        "bytes_after": outcome.size,
        "seconds": round(took_s, 3),
        "kept": str(outcome.kept),
        "left_out": outcome.left_out,
    }
    left_out = f"{count(outcome.left_out, 'ledger row')} of sessions without a turn left out"
    return document, [
        f"schema version {VERSION}: {_count(plan)}, each compared",
        *([left_out] if outcome.left_out else []),
        f"{_format_bytes(plan.size)} before, {_format_bytes(outcome.size)} after, in {took_s:.1f} s",
        "the old store; delete it when you need it no longer:",
        str(outcome.kept),
    ]


class _Progress:
    """Lines of progress on standard error, at most one in two seconds."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._begun = self._said = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        first = self._first = done if self._first is None else self._first
        if now - self._said < _EVERY_S:
            return
        self._said = now
        rate = (done - first) / (now - self._begun)
        left = f", {(total - done) / rate:,.0f} s left" if rate else ""
        self.say(f"{done:,} of {total:,} turns ({done / total:.0%}), {rate:,.0f} turns/s{left}")

    def say(self, *lines: str) -> None:
        if not self._silent:
            click.echo("\n".join(lines), err=True)


def _format_bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
