"""Print a forecast for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from crosswind.gateway.counts import count
from crosswind.studies.check.forecast import Forecast

_COUNTS = ("eligible", "decided", "injected", "withheld")
_HEADS = ("severity", "assigned", *_COUNTS, "exposed")
_ABOUT = (
    "assigned: the share of the sessions with a rule for it; eligible: places that the rule could act on; "
    "decided: where its operator did; injected, withheld: what came of that; all per session, on average; "
    "exposed: the share of the assigned sessions in which it was injected"
)
_FIX = (
    "If one only reads, say so: `tool_classes: {NAME: read_only}` in the profile, or "
    "`--tools-read-only NAME` here and for `crosswind serve`."
)


def print_forecast(found: Forecast, conversations: int) -> None:
    """A line for each operator, then why noise was withheld, and the sums."""
    console = Console(highlight=False)
    rows = [
        (
            operator,
            (
                f"{severity:g}",
                f"{one.assigned / found.sessions:.0%}",
                *(f"{getattr(one, what) / found.sessions:.2f}" for what in _COUNTS),
                f"{one.exposure_rate or 0:.0%}",
            ),
        )
        for (operator, severity), one in sorted(found.operators.items())
    ]
    table = (("operator", _HEADS), *rows)
    column = min(max(len(name) for name, _ in table), console.width - len(_pad(_HEADS)))
    for name, figures in table:
        console.print(Text("\n".join(_lay_out(name, figures, column, console.width))), soft_wrap=True)
    console.print(Text(_ABOUT, style="dim"))
    _print_reasons(console, found)
    _print_sums(console, found, conversations)


def _lay_out(name: str, figures: Sequence[str], column: int, width: int) -> list[str]:
    """A row of the table: in one line, or where a name is longer than its column, in one more; in as many as
    it takes where the terminal has no room for all figures."""
    if column < len("operator"):
        return [name, *_fold(figures, width)]
    if len(name) <= column:
        return [name.ljust(column) + _pad(figures)]
    return [name, " " * column + _pad(figures)]


def _pad(figures: Iterable[str]) -> str:
    return "".join(f" {figure:>8}" for figure in figures)


def _fold(figures: Sequence[str], width: int) -> list[str]:
    """The figures in lines that fit a narrow terminal."""
    most = max(1, width // len(_pad([""])))
    return [_pad(figures[start : start + most]) for start in range(0, len(figures), most)]


def _print_reasons(console: Console, found: Forecast) -> None:
    """The most frequent reason of each operator, and the tools that nothing is known about."""
    reasons = {
        operator: reasons.most_common(1)[0][0].removeprefix("Withheld: ")
        for (operator, _), reasons in sorted(found.reasons.items())
    }
    if reasons:
        console.print("\nWhy noise was withheld, most often:")
    for operator, why in reasons.items():
        console.print(Text(f"  {operator}"), Padding(Text(why), (0, 0, 0, 4)), sep="\n")
    if found.unknown_tools:
        tools = ", ".join(sorted(found.unknown_tools))
        console.print(Text(f"\nNothing says what these tools do: {tools}", style="yellow"))
        console.print(Text(_FIX))


def _print_sums(console: Console, found: Forecast, conversations: int) -> None:
    sessions = max(1, found.sessions)
    calm, seeds = 1 - found.noisy / sessions, sessions // max(1, conversations)
    counted, each = count(conversations, "conversation"), count(seeds, "seed")
    console.print(f"\n{found.injected:.2f} injections a session; none in {calm:.0%} of the sessions")
    console.print(f"({counted}, {each} each)")
