"""A run's figures as a section of the page: everything in it was computed from this one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SECTION = """\
## A trainer's step

Made by `{command}` on {date}; every figure is of this one run, and contestants took turns within a case, one
thread each. Machine: {machine}.
Rounds: {rounds}.{busy}

One optimisation step on {count} rollouts that the demo's parts had just played ({tokens:,} tokens, of which
{sampled:,} were sampled; {distinct:,} distinct beginnings within groups), with the policy of 0.9 M parameters
that comes with the package, in float32: GSPO, AdamW, the log-probabilities of before included wherever they
are needed. Ours is all of a step: measuring, updating, and how far it went. TRL's is its own loss, backward
pass and optimiser step without generation, in the micro-batches that were fastest; of other sizes below. CPU
seconds are medians; memory is the peak above what was resident with the model loaded.

| rollouts | passes | Crosswind | TRL | tokens/s, ratio | aim | memory: Crosswind | TRL | ratio | aim |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{table}

{agreement} Ingestion of these rollouts, from the store to the batch's sequences, takes {ingestion:.0f} ms of
CPU: {one:.1f} % of TRL's step with one pass, {own:.1f} % of ours (aim: 3 % of a step).

| rollouts | passes | contestant | CPU, s | tokens/s | memory, MB |
|---|---:|---|---:|---:|---:|
{every}

```json
{figures}
```
"""
_BUSY = (
    " The machine was busy with other work; CPU seconds bear that better than wall times, which are left out."
)
_AIMS = {"as played": (3.0, 0.5), "without a common beginning": (1.3, None)}
_OURS = "Crosswind"


def section(run: Mapping[str, Any], figures: str) -> str:
    """The section's text."""
    machine, rollouts = run["machine"], run["rollouts"]
    told = (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, load {machine['load_before']} before the start"
    )
    first = run["cases"][0]["contestants"]
    ours, best = first[_OURS], _best(first)[1]
    return _SECTION.format(
        **{name: run[name] for name in ("command", "date", "rounds")},
        **rollouts,
        machine=told,
        busy=_BUSY if machine["load_before"] > machine["cores"] / 2 else "",
        table="\n".join(map(_compare, run["cases"])),
        agreement=_agreement(run["cases"]),
        ingestion=1000 * run["ingestion_s"],
        one=100 * run["ingestion_s"] / best["cpu_s"],
        own=100 * run["ingestion_s"] / ours["cpu_s"],
        every="\n".join(_list(case, rollouts["tokens"]) for case in run["cases"]),
        figures=figures,
    )


def _best(contestants: Mapping[str, Any]) -> tuple[str, Mapping[str, float]]:
    """TRL's fastest."""
    return min(
        ((name, each) for name, each in contestants.items() if name != _OURS), key=lambda it: it[1]["cpu_s"]
    )


def _compare(case: Mapping[str, Any]) -> str:
    ours, (_, best) = case["contestants"][_OURS], _best(case["contestants"])
    speed, memory = _AIMS[case["material"]]
    cells = (
        case["material"],
        str(case["passes"]),
        f"{ours['cpu_s']:.2f} s",
        f"{best['cpu_s']:.2f} s",
        f"**{best['cpu_s'] / ours['cpu_s']:.1f}×**",
        f"{speed:g}×",
        f"{ours['growth_mb']:.0f} MB",
        f"{best['growth_mb']:.0f} MB",
        f"**{ours['growth_mb'] / best['growth_mb']:.2f}×**",
        f"{memory:g}×" if memory else "",
    )
    return f"| {' | '.join(cells)} |"


def _list(case: Mapping[str, Any], tokens: int) -> str:
    rows = []
    for name, each in case["contestants"].items():
        rate = tokens * case["passes"] / each["cpu_s"]
        rows.append(
            f"| {case['material']} | {case['passes']} | {name} | {each['cpu_s']:.2f} | {rate:,.0f} "
            f"| {each['growth_mb']:.0f} |"
        )
    return "\n".join(rows)


def _agreement(cases: Any) -> str:
    norms = [[each["gradient"] for each in case["contestants"].values()] for case in cases]
    apart = max((max(each) - min(each)) / max(each) for each in norms)
    return f"All contestants' first gradients have the same norm within {apart:.0e} of it."
