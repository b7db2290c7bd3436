"""The command `crosswind compare`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from crosswind.figures.gate import Gate
from crosswind.gateway.trajectory.commands.store_option import open_named
from crosswind.studies.drop.outputs import Outputs, gate_options, output_options
from crosswind.studies.label_option import label_option

Labels = Mapping[str, str]


@click.command(
    short_help="Compare two sets of recorded sessions.",
    epilog="""\b
Examples:
  crosswind compare monday.db tuesday.db
  crosswind compare runs.db runs.db --before agent=v1 --after agent=v2
  crosswind compare main.db branch.db --max-drop 0.05 --markdown comment.md

Exit status: 0 passed, 3 inconclusive, 4 failed.
""",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@label_option("--only", "Of both, only the sessions with this label. Repeatable.")
@label_option("--before", "Of A, only the sessions with this label. Repeatable.")
@label_option("--after", "Of B, only the sessions with this label. Repeatable.")
@gate_options
@output_options
def compare(
    a: str, b: str, only: Labels, before: Labels, after: Labels, gate: Gate | None, outputs: Outputs
) -> None:
    """Compare the sessions of store A with those of store B, which came after: success by arm, paired by
    task, the drop under noise, and the tasks that flipped. The gate is on B: `--max-drop` is the drop from
    A to B.
    """
    from crosswind.figures.attempts import Attempt
    from crosswind.figures.breakdown import kind_by_name
    from crosswind.figures.comparison import measure_comparison
    from crosswind.figures.gate import judge_change
    from crosswind.studies.attempts import read_attempts, with_labels
    from crosswind.studies.compare.sections import describe_comparison

    def read(name: str, place: str, labels: Labels) -> tuple[Attempt, ...]:
        with open_named(place) as store:
            found = read_attempts(store, with_labels({**only, **labels}), read_in_full=0, kinds=kind_by_name)
        if not found.attempts:
            wanted = ", ".join(f"{key}={value}" for key, value in {**only, **labels}.items())
            raise click.UsageError(f"{name}: {place} has no sessions" + (f" with {wanted}" if wanted else ""))
        return found.attempts

    with _keeping_everything():
        old, new = read("A", a, before), read("B", b, after)
        found = measure_comparison(old, new)
    result = None if gate is None else judge_change(old, new, gate)
    text = outputs.write(
        describe_comparison(found, result), found.to_json, new, "Crosswind: before and after", b, result
    )
    click.echo(text, nl=False)
    sys.exit(0 if result is None else result.exit_status)


@contextmanager
def _keeping_everything() -> Iterator[None]:
    """Collect no garbage within the block: large stores give a million small objects, all of which stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
