"""Dose and response as a page of Markdown, with its plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crosswind.studies.dose.response import ENOUGH, FAILED, DoseResponse
from crosswind.studies.prove.cases import ADAPTATIONS
from crosswind.studies.prove.page import describe_adaptation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FAILURES, DISTANCES = "dose-failures.svg", "dose-distances.svg"

_LEAD = """# Dose and response

As severity rises, noise does more. `crosswind noise dose` measures it in the practice domain, through a
gateway over HTTP, for every operator alone at five severities. Where an operator's recovery is to retry, to
take another tool or to ask the user, the response is the share of held-out tasks that a scripted agent
*without* recovery fails: it takes what comes, believes it, calls the tool with the most tempting name as it
is declared, never asks and never tries again. For the rest it is the mean distance per task between what was
and what was shown: words edited, milliseconds waited, requests repeated. An operator meets the same tasks and
draws at each severity. The command fails if Spearman's rank correlation of severity and response is below
{enough:g} for any operator.

What follows was written by

```sh
{command}
```

{tasks} tasks for each operator and severity, {played:,} episodes, {seconds:,.0f} s of CPU time; {rising} of
{all} operators rise.

{plots}
"""

_HEAD = "| operator | recovery | response | at each severity | tasks | ρ |\n|---|---|---|---|---:|---:|\n"


def write_page(responses: Sequence[DoseResponse], *, tasks: int, seconds: float, command: str) -> str:
    """The page; its plots are beside it."""
    played = sum(one.tasks * len(one.severities) for one in responses)
    lead = _LEAD.format(
        enough=ENOUGH,
        command=command,
        tasks=tasks,
        played=played,
        seconds=seconds,
        rising=sum(one.rises for one in responses),
        all=len(responses),
        plots="\n\n".join(_plots(responses)),
    )
    return lead + "".join((*_rows(responses), *_adaptation_lines(responses)))


def _plots(responses: Sequence[DoseResponse]) -> Iterator[str]:
    """The plots that there are."""
    units = {one.unit == FAILED for one in responses}
    if True in units:
        yield f"![Share of tasks failed, by severity]({FAILURES})"
    if False in units:
        yield f"![Distance per task, by severity]({DISTANCES})"


def _rows(responses: Sequence[DoseResponse]) -> Iterator[str]:
    for failures, title in ((True, "Tasks failed"), (False, "Distance per task")):
        yield f"\n## {title}\n\n"
        yield _HEAD
        for one in responses:
            if (one.unit == FAILED) == failures:
                values = ", ".join(f"{value:.0%}" if failures else f"{value:,.1f}" for value in one.values)
                operator = one.operator
                yield (
                    f"| `{operator.name}` | {operator.recovery} | {one.unit} | {values} | {one.tasks} | "
                    f"{show_coefficient(one)} |\n"
                )


def show_coefficient(one: DoseResponse) -> str:
    """The rank correlation as a page shows it."""
    return "none" if math.isnan(one.coefficient) else f"{one.coefficient:.2f}"


def _adaptation_lines(responses: Sequence[DoseResponse]) -> Iterator[str]:
    shown = [one.operator.name for one in responses if one.operator.name in ADAPTATIONS]
    if shown:
        yield "\nFitted to the domain:\n\n"
    for name in shown:
        yield f"- {describe_adaptation(name)}\n"


COLUMNS = 6
COLOURS = {
    "retry": "#d1622b",
    "other_tool": "#2a78b8",
    "ask_user": "#5b8c3a",
    "ignore": "#7a5ea8",
    "none_needed": "#8a8f98",
}


def draw_plots(responses: Sequence[DoseResponse], out: Path) -> None:
    """A panel per operator, as SVG: its response over severity, with a standard error."""
    import matplotlib
    from matplotlib.figure import Figure

    rows = -(-len(responses) // COLUMNS)
    figure = Figure(figsize=(2.3 * COLUMNS, 1.75 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False)
    for axes in panels.flat[len(responses) :]:
        axes.set_visible(False)
    for axes, response in zip(panels.flat, responses, strict=False):
        _panel(axes, response)
    shown = [name for name in COLOURS if any(one.operator.recovery == name for one in responses)]
    handles = [matplotlib.lines.Line2D([], [], color=COLOURS[name], label=name) for name in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(shown), frameon=False, fontsize=8)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "crosswind"}):
        # Without a date the same figures give the same file.
        figure.savefig(out, metadata={"Date": None})


def _panel(axes: Axes, response: DoseResponse) -> None:
    from matplotlib.ticker import PercentFormatter

    colour = COLOURS[response.operator.recovery]
    axes.fill_between(response.severities, response.low, response.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(response.severities, response.values, color=colour, marker="o", markersize=2.5, linewidth=1.2)
    axes.set_title(_title(response), fontsize=7)
    axes.tick_params(labelsize=6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_xlim(left=0)
    if response.unit == FAILED:
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    else:
        axes.set_ylim(bottom=0)
        axes.set_ylabel(response.unit, fontsize=6)


def _title(response: DoseResponse) -> str:
    """The operator's name, in two lines where it is long."""
    site, _, name = response.operator.name.partition(".")
    words = name.split("_")
    if len(name) <= 24:
        return f"{site}.{name}"
    middle = len(words) // 2
    return f"{site}.{'_'.join(words[:middle])}_\n{'_'.join(words[middle:])}"
