"""`crosswind policy publish | rollback | verify`: versions in engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite
from pathlib import Path

import click

from crosswind.policies.commands.exits import fail, refuse
from crosswind.policies.commands.imports import find_directory
from crosswind.policies.deployment.confirmation import TOLERANCE as DEFAULT_TOLERANCE
from crosswind.policies.deployment.confirmation import Probe
from crosswind.policies.deployment.deployment import (
    DeployedVersion,
    Deployment,
    DeploymentObserver,
    JournalObserver,
    NotConfirmed,
    ProbeOf,
    describe_difference,
    describe_missed,
    find_last_good,
    is_serving,
)
from crosswind.policies.deployment.gateway_observer import GatewayObserver
from crosswind.policies.deployment.reference import load_probe
from crosswind.policies.engine import REQUEST_TIMEOUT_S, EngineError, EngineHealth
from crosswind.policies.publishers.registry import connect
from crosswind.policies.versions.journal import JournalError
from crosswind.policies.versions.version import (
    PolicyVersion,
    Registry,
    VersionError,
    read_version,
)
from crosswind.policies.versions.version import verify as verify_files

ENGINE = click.option(
    "--engine", default="http://127.0.0.1:8000", show_default=True, help="The engine's root URL."
)
ENGINE_TIMEOUT = click.option(
    "--engine-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=REQUEST_TIMEOUT_S,
    show_default=True,
    help="Seconds that an engine, or one replica of it, may take for one request.",
)
VERSIONS = click.option(
    "--versions",
    type=click.Path(path_type=Path, file_okay=False),
    help="The registry's folder, where VERSION is a name.  [default: the folder that VERSION is in]",
)
CONTROL = click.option(
    "--control", help="A gateway's control plane, to be told which versions may be trained on."
)


def _finite(_: click.Context, __: click.Parameter, value: float) -> float:
    """Nothing is above a NaN: what an engine serves wrongly would be called confirmed."""
    if not isfinite(value):
        raise click.BadParameter(f"{value} is no difference; give a finite number above 0")
    return value


TOLERANCE = click.option(
    "--tolerance",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TOLERANCE,
    show_default=True,
    callback=_finite,
    help="Difference of log-probabilities, on average and at the 99th percentile, that is rounding: 1e-3 is "
    "ample for float32, bfloat16 needs 0.1.",
)


@click.command(
    short_help="Swap a version into a running engine.",
    epilog="""\b
Examples:
  crosswind policy publish runs/first/versions/train-00007
  crosswind policy publish train-00007 --versions runs/first/versions --engine http://127.0.0.1:8000
""",
)
@click.argument("version", type=click.Path(path_type=Path))
@ENGINE
@VERSIONS
@CONTROL
@TOLERANCE
@ENGINE_TIMEOUT
@click.option("--confirm/--no-confirm", default=True, show_default=True, help="Compare log-probabilities.")
@click.option("--force", is_flag=True, help="Though it was found bad.")
def publish(
    version: Path,
    engine: str,
    versions: Path | None,
    control: str | None,
    tolerance: float,
    engine_timeout: float,
    *,
    confirm: bool,
    force: bool,
) -> None:
    """Swap VERSION, a directory or a registry's version by name, into a running engine, and confirm it."""
    registry, wanted = find_version(version, versions)
    status = registry.journal.read_statuses().get(wanted.version)
    if status is not None and status.bad is not None and not force:
        refuse(f"version {wanted.version!r} was found bad ({status.bad}); publish it with --force")
    probe_of = load_reference() if confirm else lambda _: Probe([], [], [])
    with open_deployment(registry, engine, control, tolerance, engine_timeout) as deployment:
        health = deployment.engine.health()
        if is_serving(health, wanted):
            fail(f"{wanted.version} is what {engine} serves already; `crosswind policy verify` confirms it")
        previous = find_known(registry, health.version)
        done = deployment.deploy(wanted, previous, probe_of)
        in_flight = f"{health.in_flight} requests in flight"
        click.echo(
            f"{done.version} serves ({done.swap_ms:.3g} ms, {in_flight}); {_describe_confirmation(done)}"
        )
        print_problems(done.problems)


def _describe_confirmation(done: DeployedVersion) -> str:
    if not done.difference.tokens:
        return "it was not confirmed"
    return f"log-probabilities agree {done.difference.describe_agreement()}"


@click.command(
    short_help="Mark a version bad and serve an earlier one.",
    epilog="""\b
Examples:
  crosswind policy rollback runs/first/versions
  crosswind policy rollback runs/first/versions --to train-00005
""",
)
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@ENGINE
@CONTROL
@TOLERANCE
@ENGINE_TIMEOUT
@click.option("--from", "bad", help="The version that is to go.  [default: what the engine serves]")
@click.option("--to", help="The version that is to serve.  [default: the nearest good ancestor]")
@click.option("--reason", default="rolled back by hand", show_default=True)
def rollback(
    root: Path,
    engine: str,
    control: str | None,
    tolerance: float,
    engine_timeout: float,
    bad: str | None,
    to: str | None,
    reason: str,
) -> None:
    """Mark a version of ROOT bad and serve an earlier one: its nearest good ancestor, or the one named."""

    registry, probe_of = Registry(root), load_reference()
    with open_deployment(registry, engine, control, tolerance, engine_timeout) as deployment:
        health = deployment.engine.health()
        if health.untrainable is not None:
            fail(f"{engine}: no version can be rolled back there: {health.untrainable}")
        going = registry.get(bad or _require_one_version(health, engine))
        target = registry.get(to) if to else find_last_good(registry, going)
        if target.version == going.version:
            refuse(f"--to: {to!r} is the version that is to go; name another one")
        deployment.report_doubt(going.version, reason)
        done = deployment.deploy(target, None, probe_of)
        click.echo(
            f"{done.version} serves, {going.version} is marked bad ({reason}); {_describe_confirmation(done)}"
        )
        print_problems(done.problems)


def _require_one_version(health: EngineHealth, url: str) -> str:
    """The one version that an engine serves. Ends the command where it says of none, or its replicas of
    several.
    """
    if not health.version or " and " in health.version:
        said = health.version or "a version that it doesn't name"
        refuse(f"{url} serves {said}: name the version that is to go with --from")
    return health.version


@click.command(
    short_help="Check that an engine serves a version.",
    epilog="""\b
Examples:
  crosswind policy verify runs/first/versions/train-00007
  crosswind policy verify runs/first/versions/train-00007 --engine http://127.0.0.1:8000 --rollback
""",
)
@click.argument("version", type=click.Path(path_type=Path))
@click.option("--engine", help="The engine's root URL; absent: only the files are checked.")
@VERSIONS
@CONTROL
@TOLERANCE
@ENGINE_TIMEOUT
@click.option("--rollback", "back", is_flag=True, help="Where they don't agree, serve the last good one.")
def verify(
    version: Path,
    engine: str | None,
    versions: Path | None,
    control: str | None,
    tolerance: float,
    engine_timeout: float,
    *,
    back: bool,
) -> None:
    """Check VERSION's files, and that an engine serves it: its log-probabilities and transformers' must
    agree.

    A gateway that is named with --control is told: where they don't agree, nothing that is recorded counts
    for training until a version is confirmed.
    """

    registry, wanted = find_version(version, versions)
    with exit_on_failure():
        verify_files(wanted)
    click.echo(f"{wanted.version}: its files are whole ({wanted.checksum[:16]}…)")
    if engine is None:
        return
    probe_of = load_reference()
    with open_deployment(registry, engine, control, tolerance, engine_timeout) as deployment:
        found = deployment.confirm(wanted, probe_of)
        if not found.difference.is_rounding(tolerance):
            outcome = "it serves other weights"
            if back:
                outcome = deployment.roll_back_to(find_last_good(registry, wanted), probe_of)
            print_problems(deployment.unreported)
            fail(f"{wanted.version}: {describe_difference(found, tolerance)}; {outcome}")
        print_problems([*describe_missed(wanted.version, found.away), *deployment.unreported])
        agreement = found.difference.describe_agreement()
        click.echo(f"{wanted.version} is what {engine} serves: log-probabilities agree {agreement}")


def find_version(version: Path, versions: Path | None) -> tuple[Registry, PolicyVersion]:
    """The version and its registry. Ends the command if there is none."""

    try:
        if versions is not None and len(version.parts) == 1 and not version.is_dir():
            return Registry(versions), Registry(versions).get(str(version))
        directory = find_directory(version)
        return Registry(versions or directory.parent), read_version(directory)
    except VersionError as error:
        refuse(str(error))


def find_known(registry: Registry, name: str) -> PolicyVersion | None:
    """The version of that name; None if the registry doesn't have it."""

    try:
        return registry.get(name)
    except VersionError:
        return None


@contextmanager
def open_deployment(
    registry: Registry,
    engine: str,
    control: str | None,
    tolerance: float,
    timeout_s: float = REQUEST_TIMEOUT_S,
) -> Iterator[Deployment]:
    """Connect to the engine, with its observers. Errors within the block end the command with one line."""

    with exit_on_failure(), ExitStack() as stack:
        observers: list[DeploymentObserver] = []
        if control is not None:
            gateway = GatewayObserver(control, engine)
            stack.callback(gateway.close)
            observers.append(gateway)
        observers.append(JournalObserver(registry.journal, engine))
        yield Deployment(stack.enter_context(connect(engine, timeout=timeout_s)), observers, tolerance)


def load_reference() -> ProbeOf:
    """What computes probes. Ends the command if torch isn't installed."""
    try:
        return load_probe()
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train], or publish with --no-confirm")


@contextmanager
def exit_on_failure() -> Iterator[None]:
    """Turn errors of an engine or a version into one line and exit code 1."""

    try:
        yield
    except (EngineError, JournalError, NotConfirmed, VersionError) as error:
        fail(str(error))


def print_problems(problems: Iterable[str]) -> None:
    for problem in problems:
        click.echo(f"crosswind: {problem}", err=True)
