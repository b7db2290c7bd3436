"""`crosswind rollout`: `run` plays groups through the gateway, `demonstrate` writes the oracle's episodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from crosswind.simulators.commands.options import (
    agent_options,
    campaign_settings,
    cant_write,
    complete_profiles,
    control_options,
    find_environment,
    task_options,
)
from crosswind.simulators.errors import require_extra

CURRICULUM_WITHIN_S = 120.0
"""How long rollouts for a trainer wait for its curriculum: torch and the engine take their time."""


@click.group(
    short_help="Play episodes of practice tasks.",
    epilog="""\b
Example:
  crosswind rollout run --groups 10
""",
)
def rollout() -> None:
    """Play episodes of a practice environment."""


@rollout.command(
    short_help="Play groups of rollouts through the gateway.",
    epilog="""\b
Examples:
  crosswind rollout run --groups 10
  crosswind rollout run --control http://127.0.0.1:8081 --environment retail --profile noisyagent
""",
)
@control_options
@task_options("train")
@agent_options
@click.option(
    "--group-size", type=click.IntRange(1), default=16, show_default=True, help="Rollouts of one task."
)
@click.option("--groups", type=click.IntRange(1), help="How many groups; left out: until SIGTERM or Ctrl-C.")
@click.option(
    "--first-group",
    type=click.IntRange(0),
    help="Number of the first group; left out: after those that the gateway has of this split and seed.",
)
@click.option(
    "--start-within",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Seconds that the gateway may take to answer.",
)
@click.option(
    "--curriculum-within",
    type=click.FloatRange(0),
    help="Seconds to wait for a trainer's curriculum before the first group.  [default: "
    f"{CURRICULUM_WITHIN_S:g} without --groups and --profile, else 0]",
)
@click.option(
    "--lag-within",
    type=click.FloatRange(0),
    default=3600.0,
    show_default=True,
    help="Seconds that a rollout waits while the gateway says that the trainer lags; then it is void.",
)
@click.option(
    "--profile",
    shell_complete=complete_profiles,
    help="Noise profile of the sessions; left out: the gateway's own.",
)
@click.option("--run", "run_name", default="rollout", show_default=True, help="Label `run` of the sessions.")
@click.option(
    "--retries",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="How often a rollout that the infrastructure failed is played again.",
)
@click.option(
    "--grace", type=float, default=5.0, show_default=True, help="Seconds for running episodes at a stop."
)
def run(**given: Any) -> None:
    """Play groups of rollouts through the gateway and post their rewards.

    Without --groups and --profile the groups are played for a trainer: the first one waits until
    `crosswind train run` has set its curriculum, which decides the share of clean rollouts and the noise.
    """
    with require_extra():
        from crosswind.simulators.episodes.campaign import run_groups
        from crosswind.simulators.episodes.groups import GroupPlan

    environment = find_environment(given["environment"], given["kinds"])
    within_s = given["curriculum_within"]
    if within_s is None:
        for_trainer = given["groups"] is None and given["profile"] is None
        within_s = CURRICULUM_WITHIN_S if for_trainer else 0.0
    plan = GroupPlan(
        given["split"],
        given["kinds"],
        given["seed"],
        given["group_size"],
        given["first_group"] or 0,
        given["groups"],
        given["profile"],
        given["run_name"],
    )
    sys.exit(
        run_groups(
            environment,
            plan,
            campaign_settings(
                given, grace_s=given["grace"], retries=given["retries"], lag_within_s=given["lag_within"]
            ),
            start_within_s=given["start_within"],
            curriculum_within_s=within_s,
            continue_numbering=given["first_group"] is None,
        )
    )


@rollout.command(
    short_help="Write the scripted oracle's episodes.",
    epilog="""\b
Example:
  crosswind rollout demonstrate --count 1000 --out demonstrations.jsonl
""",
)
@task_options("train")
@click.option("--count", type=click.IntRange(1), default=1000, show_default=True)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="JSONL file to write."
)
def demonstrate(*, environment: str, split: str, kinds: str, count: int, seed: int, out: Path) -> None:
    """Write clean episodes of the scripted oracle as JSON lines {task_id, kind, tools, messages}."""
    from crosswind.simulators.episodes.demonstrations import OracleFailedError, demonstrations, write

    found = find_environment(environment, kinds)
    try:
        written = write(out, demonstrations(found, split, kinds, count, seed))
    except OSError as error:
        raise cant_write("--out", out, error) from None
    except OracleFailedError as error:
        click.echo(f"crosswind: {error}", err=True)
        sys.exit(1)
    click.echo(f"{written} demonstrations in {out}")
