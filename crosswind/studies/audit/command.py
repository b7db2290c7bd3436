"""The command `crosswind noise audit`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.store_option import open_named, store_argument

if TYPE_CHECKING:
    from rich.console import Console

    from crosswind.studies.audit.tally import Tally


@click.command(
    short_help="Check the guard's promises on a store.",
    epilog="""\b
Examples:
  crosswind noise audit
  crosswind noise audit --store backup.db --json
""",
)
@store_argument
@click.option("--session", "session_ids", multiple=True, help="This session only; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def audit(url: str, session_ids: tuple[str, ...], as_json: bool) -> None:
    """Derive the guard's guarantees once more from what a store holds: clean text, before and after.

    Exit 1 where one was broken, naming session, turn and event. STORE may be given as an argument instead of
    --store.
    """
    from crosswind.studies.audit.tally import audit_store

    with open_named(url) as store:
        for session_id in session_ids:
            if store.session(session_id) is None:
                raise click.UsageError(f"--session: {url} has no session {session_id!r}; check its id")
        try:
            tally = audit_store(store, session_ids or None)
        except ValueError as error:
            raise click.ClickException(f"{url}: a session's plan can't be read: {error}") from error
    if as_json:
        click.echo(json.dumps(tally.document()))
    else:
        _print(tally)
    sys.exit(1 if tally.breaches else 0)


def _print(tally: Tally) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    from crosswind.studies.audit.guarantees import GUARANTEES

    console = Console()
    document = tally.document()
    console.print(f"{count(tally.sessions, 'session')}, {tally.noisy} of them noisy", highlight=False)
    table = Table("guarantee", "broken", "what it says", title="Guarantees", title_justify="left")
    for name, check in GUARANTEES.items():
        broken, says = document["guarantees"][name], " ".join((check.__doc__ or "").split())
        table.add_row(name, f"[red]{broken}[/]" if broken else "0", says)
    console.print(table)
    table = Table(
        "class", "results", "with noise", "destroyed", title="Tools, by class", title_justify="left"
    )
    for name, one in document["tool_classes"].items():
        share = f"{one['injected']} ({one['share_injected']:.1%})"
        table.add_row(name, str(one["results"]), share, str(one["destroyed"]))
    console.print(table)
    if document["destroyed_writes"]:
        console.print(
            f"{count(document['destroyed_writes'], 'result')} destroyed of tools that aren't known to be "
            "repeatable",
            highlight=False,
        )
    operator = Column("operator", no_wrap=True)
    table = Table(operator, "severity", "injected", "withheld", title="Noise", title_justify="left")
    for one in document["operators"]:
        withheld = f"{one['withheld']} ({one['share_withheld']:.1%})"
        table.add_row(one["operator"], f"{one['severity']:g}", str(one["injected"]), withheld)
    console.print(table)
    for name, reasons in document["reasons"].items():
        for why, times in reasons.items():
            console.print(f"{name}, {count(times, 'time')}: {why}", markup=False, highlight=False)
    for why, number in tally.not_audited.items():
        console.print(
            f"{count(number, 'noisy session')} can't be audited: {why}", markup=False, highlight=False
        )
    _print_verdict(console, tally)


def _print_verdict(console: Console, tally: Tally) -> None:
    for one in tally.breaches:
        event = "no event" if one.event is None else f"event {one.event} ({one.operator})"
        where = f"session {one.session}, turn {one.turn}, {event}"
        console.print(
            f"BROKEN {one.guarantee}: {where}: {one.what}", markup=False, highlight=False, style="red"
        )
    share = f" ({tally.held / tally.audited:.1%})" if tally.audited else ""
    console.print(
        f"the guarantees held in {tally.held} of {tally.audited} noisy sessions{share}", highlight=False
    )
