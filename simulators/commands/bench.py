"""`crosswind bench`: held-out tasks with and without noise; `--compare` compares two such runs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from crosswind.simulators.benchmark.suites import NoiseArm, Suite, jobs, parse_noise
from crosswind.simulators.commands.options import (
    agent_options,
    campaign_settings,
    cant_write,
    complete_profiles,
    control_options,
    find_environment,
    task_options,
)
from crosswind.simulators.errors import UsageError, require_extra


@click.command(
    short_help="Measure clean and noisy success.",
    epilog="""\b
Examples:
  crosswind bench --tasks 64 --noise tool.timeout@3,user.typos@2
  crosswind bench --under chaos/flaky-tools --json after.json
  crosswind bench --compare before.json after.json
""",
)
@control_options
@task_options("test")
@agent_options
@click.option("--tasks", type=click.IntRange(1), default=256, show_default=True)
@click.option(
    "--samples", type=click.IntRange(1), default=1, show_default=True, help="Episodes per task and arm."
)
@click.option("--noise", default="", help="Noise types, each with its level: tool.timeout@3,user.typos@2")
@click.option(
    "--profile",
    shell_complete=complete_profiles,
    help="Noise profile; without --noise, its types are the arms.",
)
@click.option("--level", type=click.IntRange(0), help="Level of the types that name none.")
@click.option(
    "--phrases",
    type=click.Choice(["train", "test"]),
    help="Half of the phrase packs that noise draws from. By default the profile's.",
)
@click.option(
    "--under",
    multiple=True,
    metavar="PROFILE",
    shell_complete=complete_profiles,
    help="An arm under this whole profile, with all that it composes; may be given several times.",
)
@click.option("--calm/--no-calm", default=True, show_default=True, help="Whether to play without noise, too.")
@click.option("--rotate", is_flag=True, help="Each task under one noise type in turn, not under all.")
@click.option("--run", "run_name", default="bench", show_default=True, help="Label `run` of the sessions.")
@click.option(
    "--json", "json_out", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here."
)
@click.option(
    "--compare",
    nargs=2,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="BEFORE AFTER",
    help="Play nothing: compare two files written with --json.",
)
@click.option("--check", is_flag=True, help="Play nothing: say whether these flags could be played.")
def bench(**given: Any) -> None:
    """Measure the policy behind the gateway on held-out tasks."""
    if given["compare"]:
        if given["check"]:
            raise UsageError(
                "--compare: it plays nothing, so that --check has nothing to check; leave one out"
            )
        before, after = given["compare"]
        _compare(before, after, given["json_out"])
        return
    environment = find_environment(given["environment"], given["kinds"])
    with require_extra():
        from crosswind.simulators.benchmark.results import play_benchmark

    suite = _read_suite(given)
    todo = list(jobs(environment, suite))
    if given["check"]:
        _check_offered(given["control"], suite)
        return
    started, clock = datetime.now(UTC), time.monotonic()
    code, played = play_benchmark(environment, todo, campaign_settings(given))
    if code:
        sys.exit(code)
    results = {
        "environment": environment.name,
        "split": suite.split,
        "kinds": suite.kinds,
        "seed": suite.seed,
        "temperature": given["temperature"],
        "policy_version": played.policy_version,
        "tasks": suite.tasks,
        "samples": suite.samples,
        "phrases": suite.phrases,
        "started": started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "seconds": round(time.monotonic() - clock, 2),
        "arms": played.arms,
    }
    if not given["json_progress"]:
        from crosswind.simulators.benchmark.table import dose_table, results_table

        _print(results_table(results))
        if (doses := dose_table(results)) is not None:
            _print(doses)
    _save(results, given["json_out"])
    sys.exit(1 if any(arm["n"] == 0 for arm in played.arms.values()) else 0)


def _send_profiles(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the names under which the gateway knows the profiles in files."""
    from crosswind.simulators.episodes.profile_files import send_profile

    control, profile = given["control"], given["profile"]
    return {
        **given,
        "profile": None if profile is None else send_profile(control, "--profile", profile),
        "under": tuple(send_profile(control, "--under", name) for name in given["under"]),
    }


def _read_suite(given: Mapping[str, Any]) -> Suite:
    given = _send_profiles(given)
    noise = _read_noise(given)
    if not noise and not given["calm"]:
        raise UsageError("--no-calm: nothing is left to play; name noise with --noise, --profile or --under")
    return Suite(
        given["split"],
        given["kinds"],
        given["tasks"],
        given["samples"],
        given["seed"],
        given["profile"],
        noise,
        given["rotate"],
        given["run_name"],
        given["calm"],
        given["phrases"],
    )


def _read_noise(given: Mapping[str, Any]) -> tuple[NoiseArm, ...]:
    try:
        named = parse_noise(given["noise"])
    except ValueError as error:
        raise UsageError(f"--noise: {error}") from None
    if not named and given["profile"]:
        from crosswind.simulators.benchmark.catalogue import read_profile_types

        named = tuple(NoiseArm(name) for name in read_profile_types(given["control"], given["profile"]))
    types = (NoiseArm(arm.noise_type, given["level"] if arm.level is None else arm.level) for arm in named)
    return (*types, *(NoiseArm(profile=name) for name in given["under"]))


def _check_offered(control: str, suite: Suite) -> None:
    from crosswind.simulators.benchmark.catalogue import check_offered

    types = [arm.noise_type for arm in suite.noise if arm.noise_type is not None]
    profiles = [] if suite.profile is None else [("--profile", suite.profile)]
    profiles += [("--under", arm.profile) for arm in suite.noise if arm.profile is not None]
    if types or profiles:
        check_offered(control, types, profiles)


def _compare(before: Path, after: Path, out: Path | None) -> None:
    from crosswind.simulators.benchmark.compare import (
        NotABenchmarkError,
        compare_benchmarks,
        find_asleep,
        read_benchmark,
    )
    from crosswind.simulators.benchmark.table import differences_table

    try:
        old, new = read_benchmark(before), read_benchmark(after)
        found = compare_benchmarks(old, new)
    except NotABenchmarkError as error:
        raise UsageError(f"--compare: {error}") from None
    if not found:
        raise UsageError(
            "--compare: the two files have no task in common; play both with the same --seed and --split"
        )
    _print(differences_table(found))
    for name in find_asleep(old, new):
        click.echo(f"{name}: no noise acted, so it has no success to compare")
    _save({"arms": {name: structs.asdict(difference) for name, difference in found.items()}}, out)


def _print(table: object) -> None:
    from rich.console import Console

    console = Console()
    # For a file or a pipe rich assumes 80 columns, which are too few for the table.
    (console if console.is_terminal else Console(width=120)).print(table)


def _save(results: Mapping[str, Any], out: Path | None) -> None:
    if out is None:
        return
    try:
        out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise cant_write("--json", out, error) from None
