"""`crosswind policy compare`: what differs between two versions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.policies.bench import BenchError, run_bench
from crosswind.policies.commands.exits import fail, refuse
from crosswind.policies.commands.versions import (
    ENGINE_TIMEOUT,
    VERSIONS,
    exit_on_failure,
    find_known,
    find_version,
    open_deployment,
)
from crosswind.policies.engine import EngineHealth
from crosswind.policies.versions.version import PolicyVersion, Registry, VersionError, read_version

if TYPE_CHECKING:
    from crosswind.policies.deployment.comparison import Comparison


@click.command(
    short_help="Say what differs between two versions.",
    epilog="""\b
Example:
  crosswind policy compare runs/first/versions/train-00003 runs/first/versions/train-00007
""",
)
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@VERSIONS
@ENGINE_TIMEOUT
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.option("--engine", help="With --evaluate-with: the engine that serves one after the other.")
@click.option(
    "--evaluate-with",
    help="Success on held-out tasks too: what `crosswind bench` is given, in one string.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default=True,
    help="With --evaluate-with: where the bench's files go.",
)
def compare(
    before: Path,
    after: Path,
    versions: Path | None,
    engine: str | None,
    evaluate_with: str | None,
    out: Path,
    engine_timeout: float,
    *,
    as_json: bool,
) -> None:
    """What differs between two versions: figures, weights, and what they say of the same tokens."""
    if (engine is None) != (evaluate_with is None):
        refuse("--engine and --evaluate-with go together: give both or none")
    (registry, first), (_, second) = find_version(before, versions), find_version(after, versions)
    try:
        from crosswind.policies.deployment.comparison import compare as compared
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train]")
    with exit_on_failure():
        found = compared(first, second)
    success = None
    if engine is not None and evaluate_with is not None:
        success = _evaluate(
            registry, (first, second), engine, shlex.split(evaluate_with), out, engine_timeout
        )
    if as_json:
        click.echo(json.dumps(found.to_json() | {"success": success}, indent=1))
    else:
        _show(found, success)


def _show(found: Comparison, success: dict[str, Any] | None) -> None:
    weights, outputs = found.weights, found.outputs
    click.echo(f"{found.before} -> {found.after}")
    click.echo(
        f"weights   {weights.changed} of {weights.total} tensors differ; |B - A| / |A| = "
        f"{weights.relative:.3g}, the largest change of one weight is {weights.largest:.3g}"
    )
    for name, relative in weights.tensors.items():
        click.echo(f"          {relative:.3g}  {name}")
    click.echo(
        f"outputs   KL(A || B) {outputs.kl:.3g} nats a token (at most {outputs.largest_kl:.3g}), "
        f"log-probabilities {outputs.logprobs:.3g} apart (at most {outputs.largest_logprob:.3g}), the same "
        f"likeliest token at {outputs.same_choice:.0%} of {outputs.tokens} places"
    )
    for name, (one, other) in found.metrics.items():
        if one != other:
            click.echo(f"figure    {name}: {_figure(one)} -> {_figure(other)}")
    for name, arm in (success or {}).get("arms", {}).items():
        click.echo(
            f"success   {name}: {arm['before']:.1%} -> {arm['after']:.1%}, paired difference "
            f"{arm['difference']:+.1%} [{arm['low']:+.1%}, {arm['high']:+.1%}], {arm['n']} tasks"
        )


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _evaluate(
    registry: Registry,
    both: tuple[PolicyVersion, PolicyVersion],
    engine: str,
    arguments: list[str],
    out: Path,
    timeout_s: float,
) -> dict[str, Any]:
    """Bench one after the other in the engine, then compare the files; what served before serves again."""
    files = [out / f"{version.version}.json" for version in both]
    result = out / f"{both[0].version}-{both[1].version}.json"
    out.mkdir(parents=True, exist_ok=True)
    with open_deployment(registry, engine, None, 1.0, timeout_s) as at_work:
        before = _find_served(registry, at_work.engine.health(), engine)
        try:
            for version, file in zip(both, files, strict=True):
                at_work.engine.publish(version)
                _bench([*arguments, "--json", str(file)])
        finally:
            at_work.engine.publish(before)
    _bench(["--compare", *map(str, files), "--json", str(result)])
    compared: dict[str, Any] = json.loads(result.read_text())
    return compared


def _find_served(registry: Registry, health: EngineHealth, engine: str) -> PolicyVersion:
    """What the engine serves now, to be given back to it. Ends the command where that isn't found."""
    found = find_known(registry, health.version)
    try:
        return found or read_version(Path(health.path or health.version))
    except VersionError:
        fail(
            f"{engine} serves {health.version!r}, which isn't in {registry.root}: it couldn't be served "
            "again afterwards; name its registry with --versions"
        )


def _bench(arguments: list[str]) -> None:
    try:
        run_bench(arguments)
    except BenchError as error:
        fail(f"`crosswind bench` ended with exit code {error.code}: {error}")
