"""The command `crosswind noise pack build`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from crosswind.injectors.packs.model import read_name


@click.command(
    short_help="Write a pack with a model.",
    epilog="""\b
Examples:
  crosswind noise pack build fr/travel --config crosswind.yaml --out packs
  crosswind noise pack build en/health --operator user.redundant --config crosswind.yaml --out packs
""",
)
@click.argument("name", metavar="LANGUAGE/DOMAIN")
@click.option(
    "--config",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A gateway's configuration: its noise_model writes, and the noise_model's judge scores.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of packs. A pack that is there is completed.",
)
@click.option("--operator", "operators", multiple=True, help="Only this operator's parts; several times.")
@click.option(
    "--count",
    type=click.IntRange(2),
    default=30,
    show_default=True,
    help="Entries of each part, both halves.",
)
@click.option("--licence", default="unlicensed", show_default=True, help="The licence in the pack's header.")
def build(name: str, config: Path, out: Path, operators: tuple[str, ...], count: int, licence: str) -> None:
    """Have a model write the entries that the pack LANGUAGE/DOMAIN lacks.

    Each entry must pass the checks of `pack check`, the guard, and the judge, if there is one. It is written
    to OUT/LANGUAGE/DOMAIN.jsonl at once, so that the same command goes on where a run was stopped. Use the
    folder with `packs: OUT` in the configuration. Exits with 1 where entries are missing.
    """
    from crosswind.gateway.config.loading import load
    from crosswind.injectors.cli.commands import report_errors
    from crosswind.studies.pack_build.build import SHOWN, PackBuild, select_parts

    with report_errors():
        language, domain = read_name(name)
        parts = select_parts(language, operators)
        model = load(config, {}, complete=False).noise_model
        if model is None:
            raise ValueError(f"{config} has no noise_model: name the model that is to write")
        path = out / language / f"{domain}.jsonl"
        pack = PackBuild(path, language, domain, licence, model, count, click.echo)
    try:
        outcomes = asyncio.run(pack.run(parts))
    except KeyboardInterrupt:
        click.echo(f"stopped; the same command goes on with {path}", err=True)
        sys.exit(1)
    refused = sum((one.refused for one in outcomes), start=type(outcomes[0].refused)())
    kept, wanted = sum(one.kept for one in outcomes), sum(one.wanted for one in outcomes)
    click.echo(f"\n{path}: {kept} of {wanted} entries")
    for why, number in refused.most_common():
        click.echo(f"  refused by {why}: {number}")
        reasons = dict.fromkeys(reason for one in outcomes for reason in one.reasons.get(why, ()))
        for reason in [*reasons][:SHOWN]:
            click.echo(f"    {reason}")
    sys.exit(0 if kept >= wanted else 1)
