"""What the noise is held against, and who is exempt."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.noise_quality.doses import FULL, PAPER
from benchmarks.noise_quality.measures import Measured, Share
from benchmarks.noise_quality.solved import Solved

FIXED = frozenset(
    {
        *("tool.timeout", "tool.rate_limit", "tool.auth_error", "tool.server_error"),
        *("tool.malformed_response", "tool.schema_drift"),
        *("schema.misleading_description", "schema.misleading_description_neutral"),
        *("schema.misleading_description_abbreviated", "schema.misleading_time"),
        *("schema.misleading_time_neutral", "schema.misleading_time_abbreviated"),
        *("schema.duplicate_description", "schema.duplicate_no_description", "schema.reorder"),
        "schema.duplicate_wrong_parameters",
    }
)
"""RobustBench-TC fixes their texts or their form: neither detectability nor variety is theirs to choose. A
duplicate without a description is found by its lack."""
ERRORS = frozenset({"tool.execution_failure", "tool.prerequisite"})
"""An error stands in place of the result: they are judged against real errors, not against results."""
WITHHOLDS = frozenset({"user.ambiguous"})
"""What is withheld is given back when the agent asks: it isn't broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An aim with what was measured. `operators` are those that miss it."""

    measure: str
    aim: str
    measured: str
    met: bool | None
    """None: there is nothing to judge."""
    operators: tuple[str, ...] = ()


def judge_solvability(rows: Sequence[Solved]) -> Finding:
    """Whether the gold agent solved each entry under every built-in profile, and met noise in each."""
    measure = "BFCL's entries that the gold agent still solves"
    noisy = [row for row in rows if row.noisy]
    if not noisy:
        return Finding(measure, "100 %", "–", None)
    played, solved = sum(row.played for row in noisy), sum(row.solved for row in noisy)
    injected = sum(row.injected for row in noisy)
    measured = f"{solved} of {played} episodes, {injected} injections"
    idle = {row.profile for row in noisy} - {row.profile for row in noisy if row.injected}
    missed = tuple(sorted({row.profile for row in noisy if row.unsolved} | idle))
    return Finding(measure, "100 %", measured, not missed, missed)


def judge(found: Sequence[Measured]) -> list[Finding]:
    paper = [one for one in found if one.dose == PAPER]
    full = [one for one in found if one.dose == FULL]
    free = [one for one in paper if one.operator not in FIXED]
    texts = [one for one in free if one.distinct and one.site in ("user_text", "tool_result", "instructions")]
    return [
        *_judge_shares(
            "application, of the eligible, severity 1",
            {one.operator: one.applied_eligible for one in full},
            (0.8, 0.6),
            at_least=True,
        ),
        *_judge_shares("five phrases, recall", {one.operator: one.phrases for one in free}, (0.2, 0.4)),
        _judge_each("logistic regression, recall", "≤ 0.6", free, lambda one: one.regression.rate, most=0.6),
        _judge_each("distinct texts over 200 seeds", "≥ 150", texts, _middle, least=150),
        _judge_each(
            "gold values broken",
            "0",
            [one for one in found if one.operator not in WITHHOLDS],
            lambda one: None if one.broken is None else one.broken.count,
            most=0,
        ),
        _judge_each(
            "length of a result after `tool.redundant`",
            "1.5 to 3",
            [one for one in paper if one.operator == "tool.redundant"],
            lambda one: one.growth,
            least=1.5,
            most=3.0,
        ),
    ]


def _middle(one: Measured) -> float:
    return statistics.median(one.distinct)


def _judge_shares(
    measure: str, shares: Mapping[str, Share], limits: tuple[float, float], *, at_least: bool = False
) -> Iterator[Finding]:
    """The median and the worst of the operators."""
    sign, word = ("≥", "lowest") if at_least else ("≤", "highest")
    rates = {name: one.rate for name, one in shares.items() if one.rate is not None}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    for limit, kind in zip(limits, ("median", word), strict=True):
        title = f"{measure}: {kind}"
        if not known:
            yield Finding(title, f"{sign} {limit}", "–", None)
            continue
        fails = {name for name, rate in known.items() if (rate < limit if at_least else rate > limit)}
        value = statistics.median(known.values())
        if kind != "median":
            value = min(known.values()) if at_least else max(known.values())
        met = value >= limit if at_least else value <= limit
        names = tuple(sorted(fails)) if kind != "median" else ()
        yield Finding(title, f"{sign} {limit}", f"{value:.2f}", met, names)


def _judge_each(
    measure: str,
    aim: str,
    found: Sequence[Measured],
    read: Callable[[Measured], float | None],
    *,
    least: float = float("-inf"),
    most: float = float("inf"),
) -> Finding:
    values = [(one.operator, value) for one in found if (value := read(one)) is not None]
    fails = tuple(sorted({name for name, value in values if not least <= value <= most}))
    if not values:
        return Finding(measure, aim, "–", None)
    low, high = min(value for _, value in values), max(value for _, value in values)
    return Finding(measure, aim, f"{low:.3g} to {high:.3g}", not fails, fails)
