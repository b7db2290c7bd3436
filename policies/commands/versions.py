"""`crosswind policy publish | rollback | verify`: versions in engines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from crosswind.policies.deployment.deployment import Service
    from crosswind.policies.engine import Health
    from crosswind.policies.versions.version import PolicyVersion, Registry

ENGINE = click.option(
    "--engine", default="http://127.0.0.1:8000", show_default=True, help="The engine's root URL."
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
    default=1e-3,
    show_default=True,
    callback=_finite,
    help="Largest difference of log-probabilities: 1e-3 is ample for float32, bfloat16 needs 0.1.",
)


@click.command()
@click.argument("version", type=click.Path(path_type=Path))
@ENGINE
@VERSIONS
@CONTROL
@TOLERANCE
@click.option("--confirm/--no-confirm", default=True, show_default=True, help="Compare log-probabilities.")
@click.option("--force", is_flag=True, help="Though it was found bad.")
def publish(
    version: Path,
    engine: str,
    versions: Path | None,
    control: str | None,
    tolerance: float,
    *,
    confirm: bool,
    force: bool,
) -> None:
    """Swap VERSION, a directory or a registry's version by name, into a running engine, and confirm it."""
    registry, wanted = chosen(version, versions)
    standing = registry.journal.standings().get(wanted.version)
    if standing is not None and standing.bad is not None and not force:
        refuse(f"version {wanted.version!r} was found bad ({standing.bad}); publish it with --force")
    from crosswind.policies.deployment.confirmation import Probe
    from crosswind.policies.deployment.deployment import serves

    def unconfirmed(_: PolicyVersion) -> Probe:
        return Probe([], [], [])

    probe_of = _reference() if confirm else unconfirmed
    with service(registry, engine, control, tolerance) as at_work:
        health = at_work.engine.health()
        if serves(health, wanted):
            fail(f"{wanted.version} is what {engine} serves already; `crosswind policy verify` confirms it")
        previous = known(registry, health.version)
        done = at_work.put(wanted, previous, probe_of)
        in_flight = f"{health.in_flight} requests in flight"
        click.echo(f"{done.version} serves ({done.swap_ms:.3g} ms, {in_flight}); {_confirmed(done)}")
        complain(done.troubles)


def _confirmed(done: Any) -> str:
    if not done.tokens:
        return "it was not confirmed"
    return f"log-probabilities agree within {done.max_difference:.2g} over {done.tokens} tokens"


@click.command()
@click.argument("root", type=click.Path(path_type=Path, exists=True, file_okay=False))
@ENGINE
@CONTROL
@TOLERANCE
@click.option("--from", "bad", help="The version that is to go.  [default: what the engine serves]")
@click.option("--to", help="The version that is to serve.  [default: the nearest good ancestor]")
@click.option("--reason", default="rolled back by hand", show_default=True)
def rollback(
    root: Path,
    engine: str,
    control: str | None,
    tolerance: float,
    bad: str | None,
    to: str | None,
    reason: str,
) -> None:
    """Mark a version of ROOT bad and serve an earlier one: its nearest good ancestor, or the one named."""
    from crosswind.policies.deployment.deployment import last_good
    from crosswind.policies.versions.version import Registry

    registry, probe_of = Registry(root), _reference()
    with service(registry, engine, control, tolerance) as at_work:
        health = at_work.engine.health()
        if health.untrainable is not None:
            fail(f"{engine}: no version can be rolled back there: {health.untrainable}")
        going = registry.get(bad or _named(health, engine))
        target = registry.get(to) if to else last_good(registry, going)
        if target.version == going.version:
            refuse(f"--to: {to!r} is the version that is to go; name another one")
        at_work.doubt(going.version, reason)
        done = at_work.put(target, None, probe_of)
        click.echo(f"{done.version} serves, {going.version} is marked bad ({reason}); {_confirmed(done)}")
        complain(done.troubles)


def _named(health: Health, url: str) -> str:
    """The one version that an engine serves. Ends the command where it says of none, or its replicas of
    several.
    """
    if not health.version or " and " in health.version:
        said = health.version or "a version that it doesn't name"
        refuse(f"{url} serves {said}: name the version that is to go with --from")
    return health.version


@click.command()
@click.argument("version", type=click.Path(path_type=Path))
@click.option("--engine", help="The engine's root URL; absent: only the files are checked.")
@VERSIONS
@CONTROL
@TOLERANCE
@click.option("--rollback", "back", is_flag=True, help="Where they don't agree, serve the last good one.")
def verify(
    version: Path,
    engine: str | None,
    versions: Path | None,
    control: str | None,
    tolerance: float,
    *,
    back: bool,
) -> None:
    """Check VERSION's files, and that an engine serves it: its log-probabilities and transformers' must
    agree.

    A gateway that is named with --control is told: where they don't agree, nothing that is recorded counts
    for training until a version is confirmed.
    """
    from crosswind.policies.deployment.deployment import disagreement, last_good, left_out
    from crosswind.policies.versions.version import verify as verify_files

    registry, wanted = chosen(version, versions)
    with failing():
        verify_files(wanted)
    click.echo(f"{wanted.version}: its files are whole ({wanted.checksum[:16]}…)")
    if engine is None:
        return
    probe_of = _reference()
    with service(registry, engine, control, tolerance) as at_work:
        found = at_work.confirm(wanted, probe_of)
        if found.max_difference > tolerance:
            outcome = "it serves other weights"
            if back:
                outcome = at_work.back_to(last_good(registry, wanted), probe_of)
            complain(at_work.untold)
            fail(f"{wanted.version}: {disagreement(found, tolerance)}; {outcome}")
        complain([*left_out(wanted.version, found.away), *at_work.untold])
        click.echo(
            f"{wanted.version} is what {engine} serves: log-probabilities agree within "
            f"{found.max_difference:.2g} over {found.tokens} tokens"
        )


def chosen(version: Path, versions: Path | None) -> tuple[Registry, PolicyVersion]:
    """The version and its registry. Ends the command where there is none."""
    from crosswind.policies.versions.version import Registry, VersionError, find_policy, read_version

    try:
        if versions is not None and len(version.parts) == 1 and not version.is_dir():
            return Registry(versions), Registry(versions).get(str(version))
        directory = find_policy(version)
        return Registry(versions or directory.parent), read_version(directory)
    except VersionError as error:
        refuse(str(error))


def known(registry: Registry, name: str) -> PolicyVersion | None:
    """The version of that name; None where the registry hasn't it."""
    from crosswind.policies.versions.version import VersionError

    try:
        return registry.get(name)
    except VersionError:
        return None


@contextmanager
def service(registry: Registry, engine: str, control: str | None, tolerance: float) -> Iterator[Service]:
    """The engine with its witnesses. Within the block, what goes wrong ends the command with one line."""
    from crosswind.policies.deployment.deployment import JournalWitness, Service, Witness
    from crosswind.policies.deployment.gateway_observer import CaptureWitness
    from crosswind.policies.publishers.registry import connect

    with failing(), ExitStack() as stack:
        witnesses: list[Witness] = []
        if control is not None:
            gateway = CaptureWitness(control, engine)
            stack.callback(gateway.close)
            witnesses.append(gateway)
        witnesses.append(JournalWitness(registry.journal, engine))
        yield Service(stack.enter_context(connect(engine)), witnesses, tolerance)


def _reference() -> Callable[[PolicyVersion], Any]:
    """What makes probes. Ends the command where torch isn't there."""
    try:
        import torch

        from crosswind.policies.deployment.reference import probe
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train], or publish with --no-confirm")
    torch.set_num_threads(1)
    return probe


@contextmanager
def failing() -> Iterator[None]:
    """What goes wrong with an engine or a version is one line and exit code 1."""
    from crosswind.policies.deployment.deployment import NotConfirmed
    from crosswind.policies.engine import EngineError
    from crosswind.policies.versions.journal import JournalError
    from crosswind.policies.versions.version import VersionError

    try:
        yield
    except (EngineError, JournalError, NotConfirmed, VersionError) as error:
        fail(str(error))


def complain(untold: Any) -> None:
    """Say who couldn't be told."""
    for trouble in untold:
        click.echo(trouble, err=True)


def refuse(message: str) -> NoReturn:
    """Usage or configuration."""
    click.echo(message, err=True)
    sys.exit(2)


def fail(message: str) -> NoReturn:
    """The work failed."""
    click.echo(message, err=True)
    sys.exit(1)
