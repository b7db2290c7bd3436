"""Dose and response as a page of Markdown, with its plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from crosswind.studies.proof.cases import FITTINGS
from crosswind.studies.proof.dose import ENOUGH, FAILED, Response
from crosswind.studies.proof.proof_page import fitted

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

{tasks} tasks for each operator and severity, {played:,} episodes, {seconds:,.0f} s; {rising} of {all}
operators rise.

{plots}
"""

_HEAD = "| operator | recovery | response | at each severity | tasks | ρ |\n|---|---|---|---|---:|---:|\n"


def page(responses: Sequence[Response], *, tasks: int, seconds: float, command: str) -> str:
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
    return lead + "".join((*_rows(responses), *_fittings(responses)))


def _plots(responses: Sequence[Response]) -> Iterator[str]:
    """The plots that there are."""
    units = {one.unit == FAILED for one in responses}
    if True in units:
        yield f"![Share of tasks failed, by severity]({FAILURES})"
    if False in units:
        yield f"![Distance per task, by severity]({DISTANCES})"


def _rows(responses: Sequence[Response]) -> Iterator[str]:
    for failures, title in ((True, "Tasks failed"), (False, "Distance per task")):
        yield f"\n## {title}\n\n"
        yield _HEAD
        for one in responses:
            if (one.unit == FAILED) == failures:
                values = ", ".join(f"{value:.0%}" if failures else f"{value:,.1f}" for value in one.values)
                operator = one.operator
                yield (
                    f"| `{operator.name}` | {operator.recovery} | {one.unit} | {values} | {one.tasks} | "
                    f"{coefficient(one)} |\n"
                )


def coefficient(one: Response) -> str:
    """The rank correlation as a page shows it."""
    return "none" if math.isnan(one.coefficient) else f"{one.coefficient:.2f}"


def _fittings(responses: Sequence[Response]) -> Iterator[str]:
    shown = [one.operator.name for one in responses if one.operator.name in FITTINGS]
    if shown:
        yield "\nFitted to the domain:\n\n"
    for name in shown:
        yield f"- {fitted(name)}\n"
