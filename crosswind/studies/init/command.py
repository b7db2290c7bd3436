"""The command `crosswind init`."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.gateway.counts import count


@click.command(
    short_help="Write a first configuration, tasks and an agent.",
    epilog="""\b
Examples:
  crosswind init
  crosswind init mine --upstream https://api.openai.com/v1
  crosswind init mine --from crosswind.db --limit 50
""",
)
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), metavar="[FOLDER]"
)
@click.option(
    "--upstream",
    default="http://127.0.0.1:8000/v1",
    show_default=True,
    help="Base URL of the model's server, with its version.",
)
@click.option("--from", "place", metavar="STORE", help="Take tasks and tools from recorded sessions.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Of the store's newest sessions so many.",
)
def init(folder: Path, upstream: str, place: str | None, limit: int) -> None:
    """Write crosswind.yaml, tasks.jsonl and agent.py, and say how to go on. No file is overwritten."""
    from crosswind.gateway.trajectory.commands.store_option import open_named
    from crosswind.studies.init.files import EXAMPLE, make_files
    from crosswind.studies.init.recorded import read_material

    if not upstream.startswith(("http://", "https://")):
        raise click.UsageError(f"--upstream {upstream!r} is no URL; write https://host/v1")
    material = EXAMPLE
    if place is not None:
        with open_named(place) as store:
            material = read_material(store, limit)
        if not material.tasks:
            raise click.UsageError(
                f"--from: no session in {place} begins with a user's message that was kept"
            )
    files = make_files(material, upstream)
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise click.UsageError(f"{folder / there[0]} is there already; move it, or name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.UsageError(f"{folder} can't be written: {error}") from None
    written = f"{count(len(material.tasks), 'task')}, {count(len(material.tools), 'tool')}"
    click.echo(f"{written} in {folder}: {', '.join(files)}")
    if material.left_out:
        told = ", ".join(f"{number:,} {reason}" for reason, number in material.left_out.items())
        click.echo(f"Sessions left out: {told}.")
    if place is not None:
        click.echo(
            "What a session ended with is no proof that it was right: add `expect`, or give a checker."
        )
    into = "" if folder == Path() else f"cd {folder} && "
    click.echo(
        f"Next: {into}crosswind chaos --config crosswind.yaml --profile chaos/flaky-tools "
        "--tasks tasks.jsonl -- python agent.py"
    )
