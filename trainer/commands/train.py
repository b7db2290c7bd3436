"""`crosswind train`: learn from completed groups, or by imitation. Torch is loaded by the commands, not by
their help.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from crosswind.gateway.trajectory.commands.store_option import store_option
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors.cli.packs_option import packs_option
from crosswind.policies.commands.exits import fail, refuse
from crosswind.policies.commands.imports import find_directory
from crosswind.policies.commands.versions import ENGINE_TIMEOUT
from crosswind.policies.deployment.deployment import NotConfirmed
from crosswind.policies.engine import EngineError
from crosswind.policies.signals import stop_on_signals
from crosswind.policies.versions.journal import JournalError
from crosswind.policies.versions.version import NotWritten, Registry, VersionError, read_version
from crosswind.trainer.commands.grading import calibrate, gives_rewards, make_grader, read_judge
from crosswind.trainer.commands.imitation import imitation
from crosswind.trainer.commands.reporting import Reporting, make_progress, reporting_options
from crosswind.trainer.commands.resources import (
    StartDeadline,
    connect_control,
    connect_engine,
    lock_folder,
    lock_store,
    make_observers,
    open_recorded,
    open_trajectory_store,
)
from crosswind.trainer.commands.workers import (
    RepeatableCommand,
    WorkerPlace,
    end_lost,
    end_out_of_memory,
    join_workers,
    owns_process,
    run_follower,
    start_workers,
    worker_options,
)
from crosswind.trainer.config.presets import PRESETS
from crosswind.trainer.errors import OutOfMemory, RunFailed, RunRefused, WorkerLost

if TYPE_CHECKING:
    from crosswind.trainer.config.settings import TrainConfig
    from crosswind.trainer.run.run import Run

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(
    short_help="Train a policy.",
    epilog="""\b
Examples:
  crosswind train run --policy retail --out runs/first --steps 20
  crosswind train presets
""",
)
def train() -> None:
    """Teach a policy: from rewarded groups (`run`), or from demonstrations (`imitation`)."""


train.add_command(imitation)


@train.command(
    short_help="Train on completed groups of rollouts.",
    epilog="""\b
Examples:
  crosswind train run --policy retail --engine http://127.0.0.1:8000 \\
    --control http://127.0.0.1:8081 --out runs/first
  crosswind train run --policy retail --out runs/first --set optimiser.clip_norm=0.5
  crosswind train run --policy retail --out runs/offline --from recorded.db
""",
    cls=RepeatableCommand,
)
@store_option
@click.option(
    "--policy",
    type=FOLDER,
    required=True,
    help="The first version: its directory, a shipped name, or any model's directory or hub id.",
)
@click.option("--out", type=FOLDER, required=True, help="Folder for checkpoints.")
@click.option("--versions", type=FOLDER, help="Folder for policy versions.  [default: OUT/versions]")
@click.option(
    "--from",
    "recorded",
    metavar="STORE",
    help="Offline: train on this store's groups, of any run and any policy. Nothing is written to it.",
)
@click.option("--engine", "engine_url", help="The engine's root URL; absent: versions are only exported.")
@click.option("--control", "control_url", help="The gateway's control plane; absent: noise isn't steered.")
@click.option("--run", "name", help="The run's name in the store and in versions.  [default: OUT's name]")
@click.option("--preset", default="demo", show_default=True, help="`crosswind train presets` lists them.")
@click.option("--objective", help="gspo, grpo, dapo, reinforce, or one that a package adds.")
@click.option("--curriculum", metavar="KIND", help="gap, off, fixed, randomised, coin, or a package's.")
@click.option("--reward", metavar="NAME", help="given, toolrl, state_augmentation, or MODULE:FUNCTION.")
@click.option("--judge", metavar="URL/MODEL", help="Judge that gives the rewards: https://host/v1/MODEL.")
@click.option("--rubric", type=click.Path(dir_okay=False, path_type=Path), help="File with its rubric.")
@click.option("--steps", type=int)
@click.option("--groups-per-step", type=int)
@click.option("--group-size", type=int, help="Groups of another size train too, and are counted.")
@click.option("--seed", type=int)
@click.option("--evaluate-every", type=int, help="Run `crosswind bench` every so many steps.")
@click.option("--evaluate-with", help="What the bench is given, in one string.")
@click.option("--wait", "wait_seconds", type=float, help="Give up after so many seconds without a group.")
@click.option(
    "--start-within",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Seconds that the engine and the gateway may take to answer.",
)
@ENGINE_TIMEOUT
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="optimiser.clip_norm=0.5, say.")
@packs_option
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Only sessions that carry it.")
@click.option("--resume/--fresh", default=True, show_default=True, help="Go on from OUT's checkpoint.")
@worker_options
@reporting_options
def run(
    *,
    url: str,
    policy: Path,
    out: Path,
    versions: Path | None,
    recorded: str | None,
    engine_url: str | None,
    control_url: str | None,
    name: str | None,
    preset: str,
    labels: tuple[str, ...],
    start_within: float,
    engine_timeout: float,
    resume: bool,
    reporting: Reporting,
    workers: int | None,
    launcher: str,
    **settings: Any,
) -> None:
    """Train on completed groups until the steps are done. SIGTERM ends it cleanly after the current step."""
    config = _configure(preset, settings | read_judge(settings.pop("judge"), settings.pop("rubric")))
    chosen = _read_labels(labels)
    if (place := WorkerPlace.read(workers)).rank > 0:
        return run_follower(place, config)
    policy = _find_policy(policy)  # before anything is made: a store, locks, the folder
    if recorded is not None:
        _check_offline(config, engine_url, control_url)
    if place.size == 1 and (workers or 1) > 1:
        start_workers(workers or 1, launcher, config)
    stop = stop_on_signals() if owns_process() else Event()
    with ExitStack() as stack:
        group = join_workers(stack, place, config)
        lock_folder(stack, out)
        deadline = StartDeadline(start_within, stop)
        groups = None if recorded is None else stack.enter_context(open_recorded(recorded))
        run_name = name or out.resolve().name
        kept = _open_store(stack, url, groups, run_name, engine_url, out)
        make_run, grader = _load_run(config), make_grader(stack, config)
        _train(
            make_run(
                config,
                run_name,
                policy,
                out,
                Registry(versions or out / "versions"),
                kept,
                make_progress(stack, config.steps, reporting),
                stop,
                connect_engine(stack, engine_url, deadline, engine_timeout),
                connect_control(stack, control_url, deadline),
                fresh=not resume,
                recorded=groups,
                labels=chosen,
                observers=make_observers(stack, control_url, engine_url),
                grader=grader,
                workers=group,
            )
        )


@train.command(
    short_help="List the presets, or print one.",
    epilog="""\b
Examples:
  crosswind train presets
  crosswind train presets demo
""",
)
@click.argument("name", required=False)
def presets(name: str | None) -> None:
    """List the presets, or print all settings of one as JSON."""
    from crosswind.trainer.config.settings import SettingsError, configure  # with pydantic

    if name is None:
        for each in sorted(PRESETS):
            click.echo(each)
        return
    try:
        click.echo(configure(name, {}).model_dump_json(indent=2))
    except SettingsError as error:
        refuse(str(error))


def _configure(preset: str, settings: dict[str, Any]) -> TrainConfig:
    """The preset as the flags change it. Flags win over --set."""
    from crosswind.trainer.config.settings import SettingsError, configure  # with pydantic

    changes: dict[str, Any] = dict(_read_pairs("--set", settings.pop("changes")))
    changes = {name: _read_value(text) for name, text in changes.items()}
    bench = settings.pop("evaluate_with")
    if bench is not None:
        changes["evaluate_arguments"] = _split_words(bench)
    curriculum = settings.pop("curriculum")
    if curriculum is not None:
        changes["curriculum.kind"] = curriculum
    changes |= {name: value for name, value in settings.items() if value is not None}
    try:
        config = configure(preset, changes)
    except SettingsError as error:
        refuse(str(error))
    if bench is not None and not config.evaluate_every:
        refuse("--evaluate-with: nothing is evaluated: say every how many steps with --evaluate-every")
    return config


def _find_policy(named: Path) -> Path:
    directory = find_directory(named, "--policy: ")
    try:
        read_version(directory)
    except VersionError as error:
        refuse(f"--policy: {error}")
    return directory


def _check_offline(config: TrainConfig, engine_url: str | None, control_url: str | None) -> None:
    if engine_url or control_url:
        refuse("--from: recorded groups need no engine and no gateway; leave --engine and --control out")
    if gives_rewards(config):
        refuse("--from: nothing is written to that store, rewards neither; leave --reward or --judge out")


def _open_store(
    stack: ExitStack, url: str, recorded: Store | None, name: str, engine_url: str | None, out: Path
) -> Store:
    """The store of the run's own rows, which no other run may use meanwhile. It isn't the recorded one."""
    if recorded is not None and _is_default("url"):
        url = f"sqlite:///{out / 'train.db'}"
    store = open_trajectory_store(stack, url)
    if isinstance(file := getattr(store, "path", None), Path):
        lock_store(stack, file, name, engine_url, out)
    if recorded is not None and _find_file(recorded) == _find_file(store) is not None:
        refuse("--store: it is what --from reads, and that isn't written to; leave --store out")
    return store


def _find_file(store: Store) -> Path | None:
    file = getattr(store, "path", None)
    return file.resolve() if isinstance(file, Path) else None


def _load_run(config: TrainConfig) -> type[Run]:
    """Ends the command where the bench would refuse its arguments."""
    try:  # not at the top: torch is an extra, and takes seconds to import
        from crosswind.trainer.run.progress import check_bench
        from crosswind.trainer.run.run import Run
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train]")
    if config.evaluate_every and (wrong := check_bench(config.evaluate_arguments)) is not None:
        refuse(f"--evaluate-with: `crosswind bench` can't be run so: {wrong}")
    return Run


def _is_default(parameter: str) -> bool:
    return click.get_current_context().get_parameter_source(parameter) is ParameterSource.DEFAULT


def _train(run: Run) -> None:
    # Not at the top: torch takes long to import.
    from crosswind.trainer.run.loop import train as train_loop

    try:
        calibrate(run)
        state = train_loop(run)
    except WorkerLost as error:
        end_lost(error)
    except OutOfMemory as error:
        end_out_of_memory(error)
    except (RunFailed, EngineError, NotConfirmed, NotWritten, JournalError, StoreError) as error:
        fail(str(error))
    except (RunRefused, VersionError) as error:
        refuse(str(error))
    finally:
        with suppress(StoreError):
            run.tell_backlog(0, 0, at_work=False)
    run.progress.note(
        f"done: step {state.step}, version {state.version}", step=state.step, version=state.version
    )


def _read_labels(texts: tuple[str, ...]) -> dict[str, str]:
    """The labels that groups must carry. Ends the command if no trainable group can carry them."""
    labels: dict[str, str] = {}
    for name, value in _read_pairs("--label", texts):
        if labels.setdefault(name, value) != value:
            refuse(f"--label: no session carries {name}={labels[name]} and {name}={value} at once; name one")
    if labels.get("purpose") == "eval":
        refuse("--label: sessions of purpose=eval are evaluations, which never train; name another label")
    return labels


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        reason = f"{text!r} can't be read as a command line ({error})"
        refuse(f"--evaluate-with: {reason}; quote it as a shell wants it")


def _read_pairs(option: str, texts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            refuse(f"{option}: {text!r} isn't NAME=VALUE; write it so")
        yield name, value


def _read_value(text: str) -> Any:
    """The value of a text that is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
