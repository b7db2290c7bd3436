"""The figures of a run, printed, and written into its folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from crosswind.figures.figures import Figures, measure
from crosswind.figures.gate import GateResult
from crosswind.gateway.trajectory.store import open_existing
from crosswind.studies.attempts import StoredAttempts, read_attempts, with_labels
from crosswind.studies.chaos.run_folder import STORE
from crosswind.studies.components import kind_of
from crosswind.studies.drop.outputs import Outputs
from crosswind.studies.drop.sections import describe, show_gate

TITLE = "Crosswind: success under noise"
FILES = {"json": "report.json", "markdown": "report.md", "html": "report.html"}
"""Written in any case."""


def read_run(place: str, run: str, *, times: bool = True) -> StoredAttempts:
    """The attempts of a run; without times where a report must be the same each time."""
    with closing(open_existing(place)) as store:
        found = read_attempts(store, with_labels({"run": run}))
    if times:
        return found
    return StoredAttempts(tuple(replace(one, seconds=None) for one in found.attempts), found.read)


def write_report(
    found: StoredAttempts, folder: Path, outputs: Outputs, gate: GateResult | None, *, seed: int
) -> tuple[str, Figures]:
    """Write the files; gives the text for the terminal, and the figures."""
    figures = measure(found.attempts, kind_of, seed=seed)
    sections = describe(figures, read=found.read, of=len(found.attempts))
    sections = show_gate(sections, figures.drop, gate)
    files = {name: folder / file for name, file in FILES.items()}
    text = Outputs({**files, **outputs.files}).write(
        sections, figures.to_json, found.attempts, TITLE, str(folder / STORE), gate
    )
    return text, figures
