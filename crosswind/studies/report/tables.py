"""The report's tables: protocols, noise, failures, fitness, times, tokens, and the prefix property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from crosswind.figures.attempts import Attempt
from crosswind.figures.success import measure_arm
from crosswind.gateway.trajectory.prefixes import CAUSES, SESSIONS_READ, Prefixes
from crosswind.gateway.trajectory.summary import QUANTILES, Summary
from crosswind.injectors.engine.dose import CALM, OperatorDose, SessionDose
from crosswind.studies.drop.sections import NO_NOISE, percent
from crosswind.studies.report.report_table import ReportTable

WHOSE = {
    "ours": "the gateway's",
    "upstream": "the upstream's",
    "tool": "a tool's",
    "client": "the client's",
    "injected": "injected",
}


def reward_tables(
    attempts: Sequence[Attempt], purposes: Mapping[str, str], doses: Mapping[str, SessionDose]
) -> list[ReportTable]:
    """Success by arm, whoever played, with the attempts that don't count; nothing where there is no outcome.
    `purposes` and `doses` are by session."""
    arms: dict[tuple[str, str], list[Attempt]] = {}
    for one in attempts:
        arms.setdefault((one.arm.value, purposes.get(one.sessions[0], "")), []).append(one)
    rows = [
        (arm, purpose, *_success(arms[arm, purpose], doses))
        for arm, purpose in sorted(arms)
        if any(one.success is not None for one in arms[arm, purpose])
    ]
    if not rows:
        return []
    return [
        ReportTable(
            "Success by arm",
            "The mean reward (cut to 0 to 1) over tasks, of the attempts that count. Left out: void ones, "
            "which failed for a reason that isn't the agent's, and those without a reward yet. Intervals are "
            "Wilson's, over tasks. Exposed sessions met noise of their type. An arm in which no noise acted "
            "has no success of its own.",
            (
                "arm",
                "purpose",
                "n",
                "exposed",
                "injected",
                "withheld",
                "success",
                "95 % interval",
                "left out",
            ),
            rows,
        )
    ]


def _success(attempts: Sequence[Attempt], doses: Mapping[str, SessionDose]) -> tuple[str, ...]:
    found = measure_arm(attempts)
    met = [doses.get(one.sessions[0], CALM) for one in attempts if one.counts]
    whole = sum((dose for one in met for dose in one.operators.values()), OperatorDose())
    exposed = sum(one.exposed for one in met)
    counts = (f"{len(met):,}", f"{exposed:,}", f"{whole.injected:,}", f"{whole.withheld:,}")
    left_out = [f"{count:,} void ({reason})" for reason, count in found.void.items()]
    left_out += [f"{found.pending:,} without a reward"] if found.pending else []
    if found.success is None or found.low is None or found.high is None:
        return *counts, NO_NOISE if found.asleep else "–", "", ", ".join(left_out)
    interval = f"[{percent(found.low)}, {percent(found.high)}]"
    return *counts, percent(found.success), interval, ", ".join(left_out)


def traffic_tables(found: Summary) -> list[ReportTable]:
    """The tables that have anything to show."""
    tables = [*_noise_tables(found), *_turn_tables(found), *_token_tables(found)]
    return [table for table in tables if table.rows]


def _noise_tables(found: Summary) -> list[ReportTable]:
    return [
        ReportTable(
            "No noise",
            "Turns to which no operator was applied, and why.",
            ("why", "turns"),
            [(note.removeprefix("No noise: "), f"{n:,}") for note, n in found.without_noise.items()],
        ),
        ReportTable(
            "Destroyed writes",
            "Results of tools that aren't known to be repeatable. A profile assumed that they are, and the "
            "operator accepted that.",
            ("tool", "results destroyed"),
            [(name, f"{count:,}") for name, count in found.destroyed_writes.items()],
        ),
    ]


def _turn_tables(found: Summary) -> list[ReportTable]:
    turns = sum(count for count, _ in found.protocols.values())
    return [
        ReportTable(
            "Traffic",
            "Turns by protocol, and how many of them were streamed.",
            ("protocol", "turns", "streamed"),
            [(name, f"{count:,}", f"{streamed:,}") for name, (count, streamed) in found.protocols.items()],
        ),
        ReportTable(
            "Failures, and whose they were",
            "Injected failures are not real ones.",
            ("attributed to", "kind", "turns", "share"),
            [
                (WHOSE.get(source, source), kind, f"{count:,}", _share(count, turns))
                for (source, kind), count in found.failures.items()
            ],
        ),
        ReportTable(
            "Fitness for training",
            "fit, or the reason why not.",
            ("fitness", "turns", "share"),
            _shares(found.fitness.items(), turns),
        ),
        ReportTable(
            "Rewards",
            "A missing reward is pending or expired, never 0.",
            ("state", "sessions", "share"),
            _shares(found.rewards.items(), sum(found.rewards.values())),
        ),
        ReportTable(
            "Times in milliseconds",
            "Queue: until the upstream was asked; first token: from then on; total: till the client had all.",
            ("", *(f"p{100 * quantile:g}" for quantile in QUANTILES)),
            [(name, *(f"{one / 1000:,.1f}" for one in values)) for name, values in found.times_us.items()],
        ),
    ]


def _token_tables(found: Summary) -> list[ReportTable]:
    if not any(found.usage.values()):
        return []
    if not any(found.usage_injected.values()):
        rows: list[Sequence[str]] = [(name, f"{count:,}") for name, count in found.usage.items()]
        return [ReportTable("Tokens", "As the upstream counted them.", ("", "tokens"), rows)]
    return [
        ReportTable(
            "Tokens",
            "As the upstream counted them. In added rounds: used in rounds that the agent did not ask for, "
            "since the model called a tool that noise added.",
            ("", "tokens", "in added rounds"),
            [(name, f"{count:,}", f"{found.usage_injected[name]:,}") for name, count in found.usage.items()],
        )
    ]


def _shares(counts: Iterable[tuple[str, int]], whole: int) -> list[Sequence[str]]:
    return [(name, f"{count:,}", _share(count, whole)) for name, count in counts]


def _share(count: int, whole: int) -> str:
    return f"{count / whole:.1%}" if whole else ""


def prefix_table(found: dict[str, Prefixes]) -> ReportTable:
    """A row per model, and one per cause of a break."""
    rows: list[tuple[str, str, str, str]] = []
    for model, one in sorted(found.items()):
        rows.append((model, f"{one.pairs:,}", f"{one.held:,}", f"{one.held / one.pairs:.1%}"))
        rows += [
            (f"— {cause}: {CAUSES[cause]}", f"{count:,}", "", f"{count / one.pairs:.1%}")
            for cause, count in one.causes().most_common()
        ]
    return ReportTable(
        "Prompts that extend what came before",
        f"Turns with token ids, of the {SESSIONS_READ} newest sessions, whose prompt goes on from the turn "
        "before's prompt and completion token for token; the others begin a new sequence in training.",
        ("model", "turns", "extend", "share"),
        rows,
    )
