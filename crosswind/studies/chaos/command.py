"""The command `crosswind chaos`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from crosswind.injectors.cli.packs_option import packs_folder_option, use_packs
from crosswind.studies.drop.outputs import Outputs, gate_options, output_options

NOT_COMPUTABLE = 3
"""The exit status where there is no figure, and no gate that says its own."""


def _complete_profiles(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from crosswind.injectors.cli.completion import complete_profiles

    return complete_profiles(context, parameter, typed)


@click.command(
    short_help="Measure your agent's drop in success under noise.",
    epilog="""\b
Examples:
  crosswind chaos --upstream https://api.openai.com/v1 --profile chaos/flaky-tools \\
      --tasks tasks.jsonl -- python my_agent.py
  crosswind chaos --upstream http://127.0.0.1:8000/v1 --profile chaos/flaky-tools --profile noisyagent \\
      --tasks tasks.jsonl --samples 4 --verify checks:refunded -- node agent.mjs
  crosswind chaos --upstream https://api.anthropic.com/v1 --profile chaos/brownout \\
      --tasks tasks.jsonl --checker ./check.sh --max-drop 0.1 -- claude -p {task}
  crosswind chaos ... --resume -- python my_agent.py
""",
)
@click.option("--upstream", help="Base URL of the model's server, with its version: https://host/v1")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    required=True,
    shell_complete=_complete_profiles,
    help="A noise profile, by name or file. Repeatable: each is compared with the same clean attempts.",
)
@click.option(
    "--tasks",
    "tasks_file",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help='The tasks: a JSON object a line, such as {"id": "t1", "prompt": "…", "expect": "…"}.',
)
@click.option(
    "--samples",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Attempts at a task in each arm.",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), default=4, show_default=True, help="Attempts at once."
)
@click.option("--checker", help='A command that decides: it reads {"task": …, "output": …}.')
@click.option(
    "--verify", metavar="MODULE:FUNCTION", help="A Python function that decides: verify(task, output)."
)
@click.option("--judge", metavar="URL/MODEL", help="A model that decides, as https://host/v1/MODEL.")
@click.option(
    "--rubric", type=click.Path(dir_okay=False, path_type=Path), help="A file with what the judge goes by."
)
@click.option(
    "--judge-samples",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Answers of the judge; their majority counts.",
)
@click.option(
    "--judge-key-env",
    metavar="NAME",
    help="The variable with the judge's key; OPENAI_API_KEY for api.openai.com.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=300.0,
    show_default=True,
    help="Seconds for an attempt; then the agent is killed and has failed.",
)
@click.option(
    "--check-timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds for a checker or function.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=2,
    show_default=True,
    help="How often an attempt that wasn't the agent's failure is made again.",
)
@click.option(
    "--retry-pause",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds before the first of them; doubled each time.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The seed of the noise.")
@click.option("--price", metavar="IN/OUT", help="Dollars for a million tokens, in and out: 1.25/10")
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run's folder.  [runs/chaos-N]",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out, or with the newest.")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A configuration for the gateway, such as with tool servers.",
)
@click.option(
    "--mcp",
    "mcp",
    multiple=True,
    metavar="NAME=URL",
    help="An MCP server whose calls go through the gateway. Repeatable.",
)
@click.option(
    "--tools-read-only", multiple=True, metavar="NAME", help="A tool that only reads, or a glob. Repeatable."
)
@click.option(
    "--assume-replayable", is_flag=True, help="Every tool call may be repeated: the tools are stand-ins."
)
@click.option(
    "--user-answers",
    is_flag=True,
    help="Somebody answers the agent's questions, such as a user that the command simulates. "
    "Otherwise no profile leaves out what a task needs.",
)
@packs_folder_option
@click.option(
    "--key-env",
    metavar="NAME",
    help="The variable with the upstream's key.  "
    "[CROSSWIND_UPSTREAM_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY]",
)
@click.option(
    "--no-times", is_flag=True, help="Leave out how long attempts took: equal runs give equal reports."
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="How the upstream takes its key: anthropic, azure, …  [by its address]",
)
@click.option("--control", help="The control plane of a gateway that runs already; needs --store.")
@click.option("--store", help="The store of that gateway.")
@output_options
@gate_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
def chaos(outputs: Outputs, **given: Any) -> None:
    """Play tasks with your own agent, clean and under noise, and print how much success drops, and where.

    COMMAND is run once for each attempt. It finds the gateway by OPENAI_BASE_URL and OPENAI_API_KEY or
    ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN, and reads the task from its standard input, or where
    its arguments have {task}. {base_url}, {api_key} and {id} are filled in, too. Exit status 0 is success
    unless a checker, the task's `expect` or its last JSON line, such as {"success": false}, says otherwise.
    Nobody answers what the agent asks, so users say all that the task needs; one option says otherwise.
    """
    from crosswind.gateway.client import GatewayError
    from crosswind.gateway.control_characters import escape_control_characters
    from crosswind.gateway.trajectory.store import StoreError
    from crosswind.simulators.errors import UsageError
    from crosswind.studies.chaos.player import RunStopped
    from crosswind.studies.chaos.processes import CommandNotRun
    from crosswind.studies.chaos.report import read_run, write_report
    from crosswind.studies.chaos.run import run
    from crosswind.studies.chaos.run_folder import STORE
    from crosswind.studies.stack import ChildFailed, run_stoppable

    settings = _read_settings(given)
    click.echo(f"run {settings.run} in {settings.folder}", err=True)
    try:
        result = asyncio.run(run_stoppable(run(settings)))
        found = read_run(result.store, settings.run, times=not given["no_times"])
    except (CommandNotRun, UsageError) as error:
        raise click.UsageError(str(error)) from None
    except (RunStopped, ChildFailed, GatewayError, StoreError) as error:
        click.echo(f"crosswind: {escape_control_characters(str(error))}", err=True)
        sys.exit(1)
    except asyncio.CancelledError:
        click.echo(f"crosswind: stopped; go on with --resume --out {settings.folder}", err=True)
        sys.exit(130)
    text, figures = write_report(found, settings.folder, outputs, result.gate, seed=settings.seed)
    click.echo("\n".join(map(escape_control_characters, text.splitlines())))
    click.echo(f"{settings.folder}: report.html, report.md, report.json, {STORE}, outputs/", err=True)
    if result.gate is not None:
        sys.exit(result.gate.exit_status)
    if figures.drop.paired is None:
        sys.exit(NOT_COMPUTABLE)


def _read_settings(given: dict[str, Any]) -> Any:
    """What was asked for. Raises click.UsageError."""
    from crosswind.studies.chaos.episodes import OFF
    from crosswind.studies.chaos.prices import parse_price
    from crosswind.studies.chaos.run import RunSettings
    from crosswind.studies.chaos.run_folder import (
        UnusableFolder,
        choose_folder,
        claim_folder,
        lock_folder,
    )
    from crosswind.studies.chaos.tasks import UnusableTasks, digest, read_tasks
    from crosswind.verdicts.function import function_command

    deciding = _find_deciding(given)
    _check_gateway(given)
    profiles = given["profiles"]
    if len(set(profiles)) != len(profiles) or OFF in profiles:
        raise click.UsageError("--profile: each once, and not `off`, which is the clean arm")
    try:
        tasks = read_tasks(given["tasks_file"], checked=deciding is not None)
        price = parse_price(given["price"]) if given["price"] else None
        folder = choose_folder(given["folder"], resume=given["resume"])
        click.get_current_context().with_resource(lock_folder(folder))
        asked = _describe_run(given, digest(tasks), deciding, folder.name)
        claimed = claim_folder(folder, asked, resume=given["resume"])
    except (UnusableTasks, UnusableFolder, ValueError) as error:
        raise click.UsageError(str(error)) from None
    checker = shlex.split(given["checker"]) if given["checker"] else None
    return RunSettings(
        command=given["command"],
        tasks=tasks,
        profiles=profiles,
        gateway=_choose_gateway(given),
        folder=folder,
        run=claimed["_run"],
        # In a store of its own a run's sessions have the same names each time.
        names=claimed["_run"] if given["control"] else str(given["seed"]),
        samples=given["samples"],
        seed=given["seed"],
        concurrency=given["concurrency"],
        retries=given["retries"],
        pause_s=given["retry_pause"],
        timeout_s=given["timeout"],
        checker=function_command(given["verify"]) if given["verify"] else checker,
        checker_timeout_s=given["check_timeout"],
        judge=_read_judge(given) if given["judge"] else None,
        mcp=_read_servers(given["mcp"]),
        price=price,
        gate=given["gate"],
        user_answers=given["user_answers"],
    )


def _choose_gateway(given: dict[str, Any]) -> Any:
    """The gateway that the run starts, or the one that it is to use."""
    from crosswind.studies.chaos.gateways import GatewayChoice

    options = [part for name in given["tools_read_only"] for part in ("--tools-read-only", name)]
    options += ["--assume-replayable"] if given["assume_replayable"] else []
    options += ["--packs", str(given["packs"])] if given["packs"] else []
    return GatewayChoice(
        given["upstream"],
        given["control"],
        given["store"],
        given["config"],
        given["key_env"],
        options,
        given["dialect"],
    )


def _find_deciding(given: dict[str, Any]) -> str | None:
    """The option that decides on success; None: the agent itself does."""
    deciding = [name for name in ("checker", "verify", "judge") if given[name]]
    if len(deciding) > 1:
        raise click.UsageError(f"--{deciding[0]} and --{deciding[1]} both decide; give one of them")
    return deciding[0] if deciding else None


def _describe_run(given: dict[str, Any], tasks: str, deciding: str | None, folder: str) -> dict[str, Any]:
    """What a run is told from others by when it goes on, with digests of what may hold a key."""
    return {
        "command": _digest(list(given["command"])),
        "tasks": tasks,
        "profiles": [[name, _digest_profile(name)] for name in given["profiles"]],
        "samples": given["samples"],
        "seed": given["seed"],
        "upstream": _digest([given["upstream"] or given["control"]]),
        "decides": _digest([deciding, given[deciding]]) if deciding else None,
        "timeout": given["timeout"],
        "user answers": given["user_answers"],
        "packs": _digest_packs(given),
        "_run": folder if not given["control"] else f"{folder}-{secrets.token_hex(4)}",
    }


def _check_gateway(given: dict[str, Any]) -> None:
    from crosswind.gateway.config.provider_presets import DIALECTS
    from crosswind.gateway.errors import nearest

    if given["control"] and not given["store"]:
        raise click.UsageError("--control needs --store: the figures are read from the gateway's store")
    own = ("upstream", "config", "key_env", "dialect", "tools_read_only", "assume_replayable", "packs")
    source = click.get_current_context().get_parameter_source
    named = [name for name in own if given[name] and source(name) is not ParameterSource.ENVIRONMENT]
    wrong = next(iter(named), None) if given["control"] else None
    if wrong:
        raise click.UsageError(
            f"--{wrong.replace('_', '-')} is for a gateway of the run's own, not --control"
        )
    if not (given["control"] or given["upstream"] or given["config"]):
        raise click.UsageError("--upstream is missing: where is the model? https://host/v1")
    if given["dialect"] and given["dialect"] not in DIALECTS:
        raise click.UsageError(f"--dialect {given['dialect']!r}: {nearest(given['dialect'], DIALECTS)}")
    if given["key_env"] and given["key_env"] not in os.environ:
        raise click.UsageError(f"--key-env: the variable {given['key_env']} isn't set")


def _digest(values: list[str | None]) -> str:
    return hashlib.sha256(repr(values).encode(errors="backslashreplace")).hexdigest()[:16]


def _digest_profile(name: str) -> str | None:
    if not name.endswith((".yaml", ".yml")):
        return None
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ValueError(f"--profile: {name} can't be read ({error}); name a file or a profile") from None


def _digest_packs(given: dict[str, Any]) -> str | None:
    """Of the packs that go before the shipped ones on the run's own gateway. Raises UnusablePacks."""
    from crosswind.gateway.config.loading import read_document
    from crosswind.injectors.packs.load import OWN

    document = read_document(given["config"]) if given["config"] else {}
    folder = given["packs"] or document.get("packs")
    if given["control"] or folder is None:
        return None
    use_packs(Path(folder))
    return _digest([pack.edition for _, pack in sorted(OWN.packs.items())])


def _read_judge(given: dict[str, Any]) -> Any:
    from crosswind.studies.chaos.run import JudgeSettings
    from crosswind.verdicts.judge import RUBRIC, find_judge_key, parse_judge

    try:
        url, model = parse_judge(given["judge"])
        rubric = given["rubric"].read_text("utf-8") if given["rubric"] else RUBRIC
        key = find_judge_key(url, given["judge_key_env"])
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--judge: {error}") from None
    return JudgeSettings(url, model, key, rubric, given["judge_samples"])


def _read_servers(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for one in given:
        name, separator, url = one.partition("=")
        if not separator or not name or not url.startswith(("http://", "https://")):
            raise click.UsageError(f"--mcp {one!r}: write NAME=URL, such as shop=http://127.0.0.1:9100/mcp")
        found[name] = url
    return found
