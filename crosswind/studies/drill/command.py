"""The command `crosswind drill`."""

from __future__ import annotations

import getpass
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.trajectory.retention import parse_seconds
from crosswind.gateway.whole_file import OutFile
from crosswind.studies.label_option import label_option

_ASK_EVERY_S = 1.0
_LATE_S = 30.0
"""How long after the deadline a gateway that doesn't answer is asked."""
_AS_PLANNED = ("deadline", "order", "max_injections")


def _read_duration(context: click.Context, parameter: click.Parameter, given: str) -> float:
    try:
        return parse_seconds(given)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.command(
    short_help="Put noise on a share of live traffic.",
    epilog="""\b
Examples:
  crosswind drill --control http://127.0.0.1:8081 --for 10m --share 0.05 --profile chaos/flaky-tools
  crosswind drill --control URL --for 1h --share 0.01 --profile P --max-injections 100 --abort-above 0.2

Exit status: 0 ended by its deadline, its count or Ctrl-C; 1 by the kill switch or --abort-above.
""",
)
@click.option("--control", required=True, metavar="URL", help="The control plane of the gateway.")
@click.option(
    "--for",
    "seconds",
    required=True,
    metavar="DURATION",
    callback=_read_duration,
    help="How long it may last: 10m, 1h. The gateway ends it, also without this command.",
)
@click.option(
    "--share",
    required=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="The share of the sessions opened from now on. dose.drill_share is the most.",
)
@click.option("--profile", required=True, help="The noise profile that they get.")
@click.option("--max-injections", type=click.IntRange(min=1), help="End it after so many injections.")
@click.option(
    "--abort-above",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="End it if more turns of drilled sessions fail. Injected failures don't count.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds all draws.")
@label_option("--label", "A label for the sessions opened meanwhile. Repeatable.")
@click.option(
    "--out",
    type=OutFile(),
    metavar="FILE",
    help="Write the page here, as HTML.",
)
def drill(control: str, seconds: float, out: Path | None, label: Mapping[str, str], **order: Any) -> None:
    """Give a share of the sessions that live traffic opens a noise profile, for a while. Ctrl-C ends the
    drill at once. At the end: the drilled sessions against the others over the same time.
    """
    from crosswind.gateway.client import Client, GatewayError
    from crosswind.studies.drill.page import DrillRecord, describe_drill
    from crosswind.studies.drop.outputs import Outputs

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    client = Client(control)
    try:
        begun = client.begin_drill(seconds=seconds, labels=dict(label), by=getpass.getuser(), **order)
        click.echo(f"Drill {begun['id']} runs for {seconds:g} s at most. Ctrl-C ends it.", err=True)
        ended = _follow(client, begun["id"], seconds)
        record = DrillRecord.of(client.drill_record(begun["id"]))
    except GatewayError as error:
        raise click.ClickException(str(error)) from error
    finally:
        client.close()
    sections, figures, attempts = describe_drill(ended, record)
    files = {} if out is None else {"html": out}
    click.echo(Outputs(files).write(sections, lambda: figures, attempts, "Crosswind: a drill", ""), nl=False)
    sys.exit(0 if ended["end"] in _AS_PLANNED else 1)


def _follow(client: Any, drill_id: str, seconds: float) -> dict[str, Any]:
    """Wait for the drill's end, or end it at an interrupt. Raises GatewayError."""
    from crosswind.gateway.client import GatewayError

    last = time.monotonic() + seconds + _LATE_S
    try:
        while True:
            try:
                state: dict[str, Any] = client.drill(drill_id)
            except GatewayError as error:
                if error.status is not None or time.monotonic() > last:
                    raise
            else:
                if state["end"] is not None:
                    return state
            time.sleep(min(_ASK_EVERY_S, seconds))
    except KeyboardInterrupt:
        return dict(client.end_drill(drill_id, by=getpass.getuser()))
