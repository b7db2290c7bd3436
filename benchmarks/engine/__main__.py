"""The benchmark of policies on real vLLM: `make bench-engine`, or `python -m benchmarks.engine --quick`.

What is compared takes turns in one run: swaps with none, the gateway with the bare engine, noisy sessions
with clean ones. Ratios are what to look at; the rest depends on the machine.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

import click
import httpx

from benchmarks.engine.load import Generator, Round, Shape
from benchmarks.engine.report import section
from benchmarks.engine.sessions import TURNS, measure_hits
from benchmarks.engine.stack import Server, engine, gateway, versions
from benchmarks.engine.swaps import measure_pauses, measure_steady, measure_swapping
from benchmarks.gateway.compiled import build
from benchmarks.gateway.machine import machine
from benchmarks.processes import DidNotStart
from benchmarks.sections import put_section
from crosswind.policies.vllm.environment import NotInstalled, find

FOLDER = Path("runs/bench-engine")
PROFILE = "noisyagent"
STREAMS = Shape(connections=32, streams=3, tokens=64)


@click.command()
@click.option("--quick", is_flag=True, help="One round of each: for development.")
@click.option("--rounds", type=click.IntRange(1), help="How often all is measured.  [5; quick: 1]")
@click.option("--out", type=click.Path(path_type=Path), help="The page.  [runs/bench-engine/table.md]")
def main(quick: bool, rounds: int | None, out: Path | None) -> None:
    """Measure policies on vLLM, and write a section of the page and its figures as JSON."""
    rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        environment = find()
    except NotInstalled as error:
        raise click.ClickException(str(error)) from None
    run: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": " ".join(["python -m benchmarks.engine", *map(shlex.quote, sys.argv[1:])]),
        "rounds": rounds or (1 if quick else 5),
        "machine": machine(),
        "build": environment.build.upper(),
    }
    try:
        raw = _measure(run, quick=quick)
    except DidNotStart as error:
        raise click.ClickException(str(error)) from None
    page = out or FOLDER / "table.md"
    put_section(page, "engine", section(run, json.dumps(raw)))
    (FOLDER / "figures.json").write_text(json.dumps({"run": run, "raw": raw}, indent=1) + "\n")
    click.echo(f"{page} and {FOLDER / 'figures.json'} written")


def _measure(run: dict[str, Any], *, quick: bool) -> dict[str, Any]:
    generator = Generator(build("load", FOLDER).resolve(), FOLDER.resolve())
    first, moved = versions(FOLDER / "versions")
    with engine(FOLDER, first.path) as served:
        run["vllm"] = httpx.get(f"{served.url}/version", trust_env=False).json()["version"]
        generator.run(STREAMS, served)
        paused = [
            one.swap_ms for one in measure_pauses(generator, served, (moved, first), 5 if quick else 20)
        ]
        run |= {"swaps": len(paused), "pause": statistics.median(paused), "pause_most": max(paused)}
        told: dict[str, Any] = {"pause_ms": [round(one, 1) for one in paused]}
        told |= _measure_swaps(run, generator, served, (moved, first))
        with gateway(FOLDER, served) as through:
            told |= _measure_gateway(run, generator, served, through)
        with gateway(FOLDER, served, "--profile", PROFILE) as through:
            told |= asyncio.run(_measure_cache(run, through, 8 if quick else 40))
    return told


def _measure_swaps(run: dict[str, Any], generator: Generator, served: Server, between: Any) -> dict[str, Any]:
    rates: dict[str, list[float]] = {"steady_tokens_s": [], "swapping_tokens_s": []}
    swapped = 0
    for number in range(run["rounds"]):
        _say(run, number, "swaps")
        without, (along, published) = (
            measure_steady(generator, served),
            measure_swapping(generator, served, between),
        )
        _check(without, along)
        swapped += len(published)
        rates["steady_tokens_s"].append(without.tokens_per_s)
        rates["swapping_tokens_s"].append(along.tokens_per_s)
    shares = [along / without for without, along in zip(*rates.values(), strict=True)]
    run |= {"swapped": swapped, "swapping": _describe(shares)}
    return {name: [round(value) for value in values] for name, values in rates.items()}


def _measure_gateway(
    run: dict[str, Any], generator: Generator, served: Server, through: Server
) -> dict[str, Any]:
    bare, captured, passed = list[Round](), list[Round](), list[Round]()
    generator.run(STREAMS, through)
    for number in range(run["rounds"]):
        _say(run, number, "gateway")
        ways: list[tuple[list[Round], Callable[[], Round]]] = [
            (bare, lambda: generator.run(STREAMS, served, served)),
            (captured, lambda: generator.run(STREAMS, served, served, captured=True)),
            (passed, lambda: generator.run(STREAMS, through, served, through)),
        ]
        for rounds, measure in ways if number % 2 == 0 else ways[::-1]:
            rounds.append(measure())
    _check(*bare, *captured, *passed)
    for name, rounds, others in (
        ("", passed, captured),
        ("_whole", passed, bare),
        ("_asked", captured, bare),
    ):
        firsts = [one.first_ms / other.first_ms - 1 for one, other in zip(rounds, others, strict=True)]
        tokens = [
            other.tokens_per_s / one.tokens_per_s - 1 for one, other in zip(rounds, others, strict=True)
        ]
        run |= {f"first{name}": _describe(firsts, sign="+"), f"token{name}": _describe(tokens, sign="+")}
    run |= {
        "engine_cpu": _cpu_us(bare, 0),
        "captured_cpu": _cpu_us(captured, 0),
        "behind_cpu": _cpu_us(passed, 0),
        "gateway_cpu": _cpu_us(passed, 1),
        "bare_first": statistics.median(one.first_ms for one in bare),
        "bare_rate": statistics.median(one.tokens_per_s for one in bare),
        "captured_first": statistics.median(one.first_ms for one in captured),
        "captured_rate": statistics.median(one.tokens_per_s for one in captured),
        "gateway_first": statistics.median(one.first_ms for one in passed),
        "gateway_rate": statistics.median(one.tokens_per_s for one in passed),
    }
    run["cpu"] = run["gateway_cpu"] / run["captured_cpu"]
    told = {"bare": bare, "captured": captured, "gateway": passed}
    return {
        name: [
            (round(one.first_ms, 1), round(one.tokens_per_s), *(round(cpu_s, 2) for cpu_s in one.cpu_s))
            for one in rounds
        ]
        for name, rounds in told.items()
    }


def _cpu_us(rounds: Sequence[Round], watched: int) -> float:
    """CPU microseconds per token of a server that was watched."""
    return 1e6 * sum(one.cpu_s[watched] for one in rounds) / sum(one.tokens for one in rounds)


async def _measure_cache(run: dict[str, Any], through: Server, sessions: int) -> dict[str, Any]:
    clean, noisy = (
        await measure_hits(through, "clean", sessions),
        await measure_hits(through, "noisy", sessions),
    )
    run |= {"clean": clean.share, "noisy": noisy.share, "least": clean.share - 0.02}
    run |= {"sessions": sessions, "turns": TURNS, "profile": PROFILE}
    return {"cached": {"clean": (clean.cached, clean.asked), "noisy": (noisy.cached, noisy.asked)}}


def _check(*rounds: Round) -> None:
    if failed := sum(one.failed for one in rounds):
        raise click.ClickException(f"{failed} streams failed; see the logs in {FOLDER}")


def _describe(values: Sequence[float], *, sign: str = "") -> str:
    """The median, the least and the most."""
    median, least, most = (
        f"{value:{sign}.1%}" for value in (statistics.median(values), min(values), max(values))
    )
    return f"{median} ({least} to {most})"


def _say(run: dict[str, Any], number: int, what: str) -> None:
    click.echo(f"round {number + 1} of {run['rounds']}: {what}", err=True)


if __name__ == "__main__":
    main()
