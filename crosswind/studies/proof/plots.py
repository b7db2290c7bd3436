"""Small multiples of responses, as SVG. Matplotlib comes with the `simulators` extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crosswind.studies.proof.dose import FAILED, Response

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 6
COLOURS = {
    "retry": "#d1622b",
    "other_tool": "#2a78b8",
    "ask_user": "#5b8c3a",
    "ignore": "#7a5ea8",
    "none_needed": "#8a8f98",
}


def draw(responses: Sequence[Response], out: Path) -> None:
    """A panel per operator: its response over severity, with a standard error."""
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
        figure.savefig(out, format=out.suffix.removeprefix("."), metadata=_undated(out))


def _undated(out: Path) -> dict[str, None]:
    return {"Date": None} if out.suffix == ".svg" else {}


def _panel(axes: Axes, response: Response) -> None:
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


def _title(response: Response) -> str:
    """The operator's name, in two lines where it is long."""
    site, _, name = response.operator.name.partition(".")
    words = name.split("_")
    if len(name) <= 24:
        return f"{site}.{name}"
    middle = len(words) // 2
    return f"{site}.{'_'.join(words[:middle])}_\n{'_'.join(words[middle:])}"
