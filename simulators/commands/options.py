"""Options that the commands share, and how they refuse a bad value: one line on stderr, exit code 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from crosswind.simulators.environment import SPLITS, Environment, UnknownEnvironmentError, load
from crosswind.simulators.errors import EnvironmentFailedError, UsageError
from crosswind.simulators.tool_legs.leg import Leg

if TYPE_CHECKING:
    from crosswind.simulators.episodes.campaign import CampaignSettings

CONTROL = "http://127.0.0.1:8081"
F = TypeVar("F", bound=Callable[..., Any])


def find_environment(name: str, kinds: str = "all") -> Environment:
    """The environment of that name or URL. Raises UsageError, also where it lacks the set of kinds."""
    try:
        environment = load(name)
        known = environment.kinds
    except UnknownEnvironmentError as error:
        raise UsageError(f"--{error}") from None
    except (EnvironmentFailedError, ValueError) as error:
        raise UsageError(f"--environment: {name}: {error}") from None
    if kinds not in known:
        raise UsageError(f"--kinds: {name} has no {kinds!r}; use one of {', '.join(known)}")
    return environment


def campaign_settings(
    given: Mapping[str, Any], *, grace_s: float = 0.0, retries: int = 0, lag_within_s: float | None = None
) -> CampaignSettings:
    """The settings that `control_options` and `agent_options` describe."""
    # Not imported at the top: the OpenAI SDK takes longer to import than a command's help may.
    from crosswind.simulators.episodes.agent import AgentSettings
    from crosswind.simulators.episodes.campaign import CampaignSettings
    from crosswind.simulators.episodes.runner import LAG_WITHIN_S
    from crosswind.simulators.episodes.users import DifficultUsers, UserModel, Users
    from crosswind.simulators.tool_legs.behind_gateway import serve_tools

    name, profile, timeout_s = given["user_model"], given["user_profile"], given["timeout"]
    agent = AgentSettings(
        given["model"],
        given["temperature"],
        given["max_tokens"],
        given["max_turns"],
        given["stream"],
        timeout_s,
    )
    control, leg = given["control"], Leg(given["leg"])
    users: Users | None = None if profile is None else DifficultUsers(profile)
    if name is not None:
        users = UserModel(name, profile, timeout_s=timeout_s)
    return CampaignSettings(
        control,
        given["concurrency"],
        agent,
        users,
        given["json_progress"],
        grace_s,
        retries=retries,
        lag_within_s=LAG_WITHIN_S if lag_within_s is None else lag_within_s,
        serve_tools=None if leg is Leg.MODEL else partial(serve_tools, leg, control),
    )


def complete_profiles(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Complete the names of the gateway's own profiles, the stored ones included."""
    from crosswind.simulators.benchmark.catalogue import list_profiles

    found = list_profiles(context.params.get("control") or CONTROL)
    return [name for name in found if name.startswith(typed)]


def apply_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that gives a command these options, in their order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def task_options(split: str) -> Callable[[F], F]:
    """Which tasks: environment, split, kinds and seed."""
    return apply_options(
        click.option("--environment", default="retail", show_default=True, help="Its name, or its URL."),
        click.option("--split", type=click.Choice(SPLITS), default=split, show_default=True),
        click.option(
            "--kinds", default="practice", show_default=True, help="A set of task kinds, or one kind."
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Decides tasks, wording and sampling."
        ),
    )


def control_options(command: F) -> F:
    """Where the gateway's control plane is, and how much is asked of it at once."""
    return apply_options(
        click.option("--control", default=CONTROL, show_default=True, help="The control plane's URL."),
        click.option(
            "--concurrency", type=click.IntRange(1), default=96, show_default=True, help="Episodes at once."
        ),
    )(command)


def agent_options(command: F) -> F:
    """How the agent samples."""
    return apply_options(
        click.option("--model", default="policy", show_default=True, help="The model's name in requests."),
        click.option("--temperature", type=click.FloatRange(0.0, 2.0), default=1.0, show_default=True),
        click.option(
            "--max-tokens", type=click.IntRange(1), default=32, show_default=True, help="In one answer."
        ),
        click.option(
            "--max-turns", type=click.IntRange(1), default=10, show_default=True, help="In one episode."
        ),
        click.option("--stream", is_flag=True, help="Ask for streamed answers."),
        click.option(
            "--timeout", type=float, default=120.0, show_default=True, help="Seconds for one request."
        ),
        click.option("--user-model", help="A model plays the users: its name in requests to the gateway."),
        click.option(
            "--user-profile",
            shell_complete=complete_profiles,
            help="Noise profile of the users' own sessions. Scripted users follow its interaction pattern.",
        ),
        click.option(
            "--leg",
            type=click.Choice([one.value for one in Leg if one is not Leg.STDIO]),
            default=Leg.MODEL.value,
            show_default=True,
            help="Where the tools are: in this process, or behind the gateway, on an MCP server or an HTTP "
            "API that the command serves: noise on tools acts there.",
        ),
        click.option("--json-progress", is_flag=True, help="Progress as JSON lines on stdout."),
    )(command)


def cant_write(option: str, path: Path, error: OSError) -> UsageError:
    """The error for an output file that can't be written."""
    return UsageError(f"{option}: can't write {path} ({error.strerror}); name a file in a folder that exists")
