"""What a person watches during the demo: one line of rollouts, and a row per training step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crosswind.gateway.counts import count


class TrainingProgress:
    """A live table fed with the JSON lines of `crosswind rollout` and `crosswind train`."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._rows: list[Mapping[str, Any]] = []
        self._rollouts: Mapping[str, Any] = {}
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=2, transient=False)

    def __enter__(self) -> TrainingProgress:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """The training steps so far."""
        return self._rows

    def rollouts(self, line: Mapping[str, Any]) -> None:
        """The newest progress line of the rollouts."""
        self._rollouts = line

    def step(self, line: Mapping[str, Any]) -> None:
        """A training step was taken and its version published."""
        self._rows.append(line)
        if not self._console.is_terminal:
            self._console.print(
                f"  step {line['step']}: version {line['version']}, clean {_share(line['clean_success'])}, "
                f"noisy {_share(line['noisy_success'])}, noisy share {_share(line['rho'])}, "
                f"levels: {levels(line['levels'])}",
                soft_wrap=True,
            )

    def _render(self) -> RenderableType:
        if not self._console.is_terminal:
            return Text("")
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in (
            "step",
            "version",
            "clean",
            "noisy",
            "noisy share",
            "severity levels",
            "loss",
            "seconds",
        ):
            table.add_column(name, justify="left" if name in {"version", "severity levels"} else "right")
        for row in self._rows:
            table.add_row(
                f"{row['step']}/{self._steps}",
                str(row.get("version", "")),
                _share(row.get("clean_success")),
                _share(row.get("noisy_success")),
                _share(row.get("rho")),
                levels(row.get("levels") or {}),
                f"{row.get('loss') or 0.0:.3f}",
                f"{row.get('seconds') or 0.0:.1f}",
            )
        return Group(Text(f"  {_rollout_line(self._rollouts)}", style="cyan"), table)


def levels(by_type: Mapping[str, Any]) -> str:
    """Levels of the noise types as one short text, such as `timeout 2, typos 1`."""
    return ", ".join(f"{name.rpartition('.')[2]} {level}" for name, level in sorted(by_type.items())) or "–"


def _share(value: Any) -> str:
    return "–" if value is None else f"{float(value):.0%}"


def _rollout_line(line: Mapping[str, Any]) -> str:
    if not line:
        return "rollouts: starting"
    return f"rollouts: {count(line.get('episodes', 0), 'episode')}, {count(line.get('errors', 0), 'error')}"
