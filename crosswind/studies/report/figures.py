"""The report's plots, as SVG text, drawn by matplotlib: without it there are none."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITHOUT_PLOTS = "The plots are left out, because matplotlib isn't installed: pip install matplotlib"
CLEAN, NOISY, MUTED = "#2a78b8", "#d1622b", "#8a8f98"


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot; None marks a step without a value."""

    name: str
    values: Sequence[float | None]
    colour: str | None = None


def can_draw() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def plot_lines(
    steps: Sequence[int], series: Sequence[Series], label: str, *, share: bool = False, whole: bool = False
) -> str:
    """Lines over training steps. With `share` the axis is 0 to 100 %, with `whole` in integers."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _canvas(6.4, 3.0)
    for each in series:
        points = [(step, value) for step, value in zip(steps, each.values, strict=True) if value is not None]
        if points:
            axes.plot(
                *zip(*points, strict=True), marker="o", markersize=3, label=each.name, color=each.colour
            )
    axes.set_xlabel("training step")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if share:
        _percent(axes)
    if whole:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(series) > 1:
        axes.legend(frameon=False, fontsize=8)
    return _svg(figure)


def plot_before_after(arms: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Success per arm before and after training, with each one's 95 % interval."""
    figure, axes = _canvas(7.2, 0.9 + 0.42 * len(arms))
    measurable = [
        (name, pair) for name, pair in arms.items() if all(one["success"] is not None for one in pair)
    ]
    rows = list(reversed(measurable))
    for offset, index, name, colour in ((0.18, 0, "before", MUTED), (-0.18, 1, "after", CLEAN)):
        measured = [pair[index] for _, pair in rows]
        values = [float(each["success"]) for each in measured]
        low = [max(0.0, value - float(each["low"])) for value, each in zip(values, measured, strict=True)]
        high = [max(0.0, float(each["high"]) - value) for value, each in zip(values, measured, strict=True)]
        axes.errorbar(
            values,
            [row + offset for row in range(len(rows))],
            xerr=[low, high],
            fmt="o",
            color=colour,
            capsize=3,
            label=name,
        )
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(_percent_format())
    axes.set_xlabel("success on held-out tasks, 95 % interval")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _svg(figure)


def plot_bars(values: Mapping[str, float], label: str) -> str:
    """A horizontal bar per name."""
    figure, axes = _canvas(6.4, 0.8 + 0.3 * max(1, len(values)))
    names = sorted(values, key=lambda name: values[name])
    axes.barh(names, [values[name] for name in names], color=NOISY, height=0.6)
    axes.set_xlabel(label)
    return _svg(figure)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=8)
    return figure, axes


def _percent_format() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=0)


def _percent(axes: Axes) -> None:
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(_percent_format())


def _svg(figure: Figure) -> str:
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "crosswind"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
