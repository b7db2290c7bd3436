"""`crosswind policy import`, and what other commands do with a model that isn't a version."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.policies.commands.exits import fail, refuse
from crosswind.policies.imports.cache import resolve_policy
from crosswind.policies.imports.model import import_model
from crosswind.policies.imports.source import find_source
from crosswind.policies.versions.version import NotWritten, Registry, VersionError


@click.command(
    "import",
    short_help="Make a version of any model.",
    epilog="""\b
Examples:
  crosswind policy import Qwen/Qwen3-0.6B --name base
  crosswind policy import ~/models/mine --name base --chat-template chatml.jinja
""",
)
@click.argument("model")
@click.option("--name", required=True, help="What the version is called.")
@click.option(
    "--versions",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("versions"),
    show_default=True,
    help="The registry's folder.",
)
@click.option(
    "--chat-template",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A Jinja file, for a model that has none or in the place of its own.",
)
def import_(model: str, name: str, versions: Path, chat_template: Path | None) -> None:
    """Make a version of MODEL: a Hugging Face directory, or a hub's id (ORG/NAME, ORG/NAME@REVISION).

    The weights keep their dtype. No code of the model's own is run.
    """
    try:
        source = find_source(model)
        if source is None:
            refuse(f"{model}: there is no such directory; give a model's directory, or its hub id ORG/NAME")
        made = import_model(source, name, Registry(versions), chat_template)
    except NotWritten as error:
        fail(str(error))
    except VersionError as error:
        refuse(str(error))
    click.echo(f"{name}: {made.describe()}, in {made.version.path}")


def find_directory(given: Path, option: str = "") -> Path:
    """The directory of the version that is meant; a model's directory or a hub's id is imported on the way.
    Ends the command where that fails; `option` is what the person gave it with.
    """
    try:
        return resolve_policy(given, lambda line: click.echo(f"crosswind: {line}", err=True))
    except NotWritten as error:
        fail(f"{option}{error}")
    except VersionError as error:
        refuse(f"{option}{error}")
