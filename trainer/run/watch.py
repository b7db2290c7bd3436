"""`crosswind train run --watch`: the run as a table that is drawn again after each step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

_BARS = "▁▂▃▄▅▆▇█"
_NOTES = 4


class Watch:
    """A reporter for people. What else the run has to say is shown under the table, newest last."""

    def __init__(self, console: Console, steps: int, width: int = 30) -> None:
        self._steps = steps
        self._rewards: dict[str, deque[float]] = {arm: deque(maxlen=width) for arm in ("clean", "noisy")}
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._figures: Mapping[str, Any] | None = None
        self._live = Live(self._draw(), console=console, auto_refresh=False)
        self._live.start(refresh=True)

    def note(self, message: str) -> None:
        self._notes.append(message)
        self._live.update(self._draw(), refresh=True)

    def step(self, figures: Mapping[str, Any]) -> None:
        self._figures = figures
        for arm, row in self._rewards.items():
            if (value := figures["rewards"].get(arm)) is not None:
                row.append(value)
        self._live.update(self._draw(), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _draw(self) -> Group:
        notes = [Text(f"· {each}", style="dim", overflow="ellipsis", no_wrap=True) for each in self._notes]
        if self._figures is None:
            return Group(Text("waiting for the first step"), *notes)
        return Group(self._draw_run(self._figures), *self._draw_types(self._figures), *notes)

    def _draw_run(self, figures: Mapping[str, Any]) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row("step", f"{figures['step']} of {self._steps}", "version", str(figures["version"]))
        for arm, row in self._rewards.items():
            last = f"{row[-1]:.3f}" if row else "–"
            table.add_row(f"reward, {arm}", last, "", draw_line(list(row)))
        table.add_row(
            *(
                "groups",
                f"{figures['groups']}, {figures['filtered_groups']} even; {figures['flat_arms']} flat arms",
            ),
            *("rollouts", f"{figures['trained_rollouts']} of {figures['rollouts']} trained"),
        )
        table.add_row(
            *("staleness", str(figures["staleness"])),
            *("tokens", f"{figures['tokens']}, {figures['tokens_per_second']:.0f} a second"),
        )
        table.add_row(
            "entropy", f"{figures['entropy']:.3f}", "kl, clipped", _pair(figures["kl"], figures["clip_share"])
        )
        table.add_row(
            *("rho", f"{figures['rho']:.2f}"),
            *("step took", f"{figures['seconds']:.1f} s, after {figures['waited_seconds']:.1f} s of waiting"),
        )
        return table

    def _draw_types(self, figures: Mapping[str, Any]) -> list[Table]:
        if not figures["levels"]:
            return []
        table = Table(box=None, padding=(0, 2, 0, 0))
        for title in ("type", "level", "share", "gap", "as assigned", "exposed"):
            table.add_column(title, justify="left" if title == "type" else "right", no_wrap=True)
        for name, level in figures["levels"].items():
            gap, counted, rate = (figures[key][name] for key in ("gaps", "counted_gaps", "exposure_rates"))
            table.add_row(
                *(name, str(level), f"{figures['shares'][name]:.3f}"),
                *("–" if gap is None else f"{gap:+.3f}", "–" if counted is None else f"{counted:+.3f}"),
                "–" if rate is None else f"{100 * rate:.0f} %",
            )
        return [table]


def draw_line(values: list[float]) -> str:
    """The values as a row of bars, from their smallest to their largest."""
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)


def _pair(kl: float, clipped: float) -> str:
    return f"{kl:.1e}, {100 * clipped:.0f} %"
