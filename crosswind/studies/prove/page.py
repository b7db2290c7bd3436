"""The proof of solvability as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.prove.cases import ADAPTATIONS, SEVERITIES, STAGES
from crosswind.studies.prove.proof import BOUNDED, LEFT_CLEAN, MOST_WITHHELD, TOOK_PLACE, Proof, Row

_LEAD = """# The proof of solvability

After noise a task can still be done. `crosswind noise prove` shows it in the practice domain, through a
gateway over HTTP: a scripted oracle that knows what an agent sees, and recovers as operators declare (it
repeats what failed, calls another tool where one isn't there, asks the user, ignores the rest), is put before
held-out tasks under every built-in profile, severity and stage, and under every operator alone. Every other
episode is streamed. The command fails if a task isn't solved, if an operator or a profile injects nothing, or
if the guard withholds more than {most:.0%} of an operator's injections at a severity.

What follows was written by

```sh
{command}
```

{played:,} episodes, {solved:,} solved, in {seconds:,.0f} s of CPU time.{problems}
"""

_LEGS = {
    Leg.MODEL: "",
    Leg.MCP: """
An MCP server provides the tools, and the agent calls them through the gateway. The table has the profiles and
operators that act on this leg. It counts injections on this leg only: calls, results, the tool list and the
link.
""",
    Leg.STDIO: """
An MCP server over stdio provides the tools, and the agent calls them through a relay (`crosswind mcp`) that
is attached to its session. The table has the profiles and operators that act on this leg. It counts
injections on this leg only: calls, results, the tool list and the link.
""",
    Leg.HTTP: """
An HTTP API provides the tools, and the agent calls them through the gateway. The table has the profiles and
operators that act on this leg. It counts injections on this leg only: calls, results, the link.
""",
}

_PROFILES = """
## Profiles

As written: {written} held-out tasks for each profile, at each level of those that have levels. At
{severities}: all of a profile's rules at that severity and in one stage (thirds of {turns} expected turns),
{varied} tasks each. Schemas are decided when a tool is first seen, hence in the early stage. Counts are
injections that took place.

"""

_OPERATORS = """
## Operators

Each operator alone, {alone} tasks at each of five severities ({severities}, unless said otherwise below), the
tools that write declared repeatable.
Cells: injections that took place, and the share that the guard withheld. *Bounded* are further faults on a
call that had met as many as it may: it returned the truth. *Left clean* are texts and tools of which the
operator itself said that it can do nothing there, and answers that turned out to be no place for a fault
that was decided with the request: without a call or a text to damage, or streams that ended before it.

"""


def write_page(
    proof: Proof, *, tasks: Sequence[int], turns: int, seconds: float, command: str, leg: Leg
) -> str:
    """The page. `tasks` are those of each profile as written, of each varied one, and of each operator."""
    problems = list(proof.find_problems())
    rows = [*proof.profiles.values(), *proof.operators.values()]
    lead = _LEAD.format(
        most=MOST_WITHHELD,
        command=command,
        played=proof.played,
        solved=sum(row.solved for row in rows),
        seconds=seconds,
        problems="".join(f"\n\n**{problem}**" for problem in problems),
    )
    severities = ", ".join(f"{one:g}" for one in SEVERITIES)
    profiles = _PROFILES.format(written=tasks[0], varied=tasks[1], severities=severities, turns=turns)
    operators = _OPERATORS.format(alone=tasks[2], severities=severities)
    parts = (profiles, *_profile_rows(proof), operators, *_operator_rows(proof), *_adaptation_lines(proof))
    return lead + _LEGS[leg] + "".join(parts)


def _profile_rows(proof: Proof) -> Iterator[str]:
    heads = ("profile", "as written: solved", "injected", *(f"{one:g}: solved" for one in SEVERITIES))
    yield _line(*heads, *(f"{stage}: injected" for stage in STAGES))
    yield _rule(len(heads) + len(STAGES))
    for name in sorted({name for name, _, _ in proof.profiles}):
        written = proof.of_profile(name)
        by_severity = [proof.of_profile(name, severity=severity) for severity in SEVERITIES]
        by_stage = [proof.of_profile(name, stage=stage) for stage in STAGES]
        yield _line(
            f"`{name}`",
            _show_solved(written),
            str(written.fates[TOOK_PLACE]),
            *(_show_solved(row) for row in by_severity),
            *(str(row.fates[TOOK_PLACE]) if row.played else "" for row in by_stage),
        )


def _operator_rows(proof: Proof) -> Iterator[str]:
    heads = (
        "operator",
        "recovery",
        "solved",
        *(f"severity {number}" for number in range(1, 1 + len(SEVERITIES))),
        "bounded",
        "left clean",
    )
    yield _line(*heads)
    yield _rule(len(heads))
    for name in sorted({name for name, _ in proof.operators}):
        rows = [row for (own, _), row in sorted(proof.operators.items()) if own == name]
        whole = sum(rows, Row())
        yield _line(
            f"`{name}`",
            proof.catalogue.operators[name].recovery,
            _show_solved(whole),
            *(f"{row.fates[TOOK_PLACE]} ({row.withheld_share:.0%})" for row in rows),
            str(whole.fates[BOUNDED]),
            str(whole.fates[LEFT_CLEAN]),
        )


def _adaptation_lines(proof: Proof) -> Iterator[str]:
    shown = [name for name in ADAPTATIONS if any(name == own for own, _ in proof.operators)]
    if shown:
        yield "\nFitted to the domain:\n\n"
    for name in shown:
        yield f"- {describe_adaptation(name)}\n"


def describe_adaptation(name: str) -> str:
    """How an operator is fitted to the practice domain, and why, in words."""
    adaptation = ADAPTATIONS[name]
    told = []
    if adaptation.kinds:
        told.append(f"tasks of the kinds {', '.join(adaptation.kinds)}")
    if adaptation.severities != SEVERITIES:
        told.append(f"severities {', '.join(f'{one:g}' for one in adaptation.severities)}")
    if adaptation.options:
        told.append(", ".join(f"`{option}: {value}`" for option, value in adaptation.options.items()))
    if adaptation.stream is not None:
        told.append("streams only" if adaptation.stream else "plain answers only")
    if adaptation.distance:
        told.append("its distance is the response")
    return f"`{name}`: {', '.join(told)} ({adaptation.why})."


def _show_solved(row: Row) -> str:
    return f"{row.solved}/{row.played}" if row.played else ""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rule(columns: int) -> str:
    return f"|---|{'---:|' * (columns - 1)}\n"
