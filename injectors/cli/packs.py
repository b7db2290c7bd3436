"""The commands `crosswind noise pack`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from crosswind.injectors.cli.groups import ExtensibleGroup
from crosswind.injectors.cli.packs_option import packs_option
from crosswind.injectors.packs.checks import check as check_pack
from crosswind.injectors.packs.checks import check_between
from crosswind.injectors.packs.load import PackError, load_all, shipped_files
from crosswind.injectors.packs.model import Pack, Problem, parse
from crosswind.injectors.packs.parts import OPERATORS, WANTED_DOMAINS, Domain
from crosswind.injectors.packs.shortfall import Shortfall, find_shortfalls
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language

GROUP = "crosswind.noise.pack"
"""The entry-point group of further commands of `crosswind noise pack`."""


@click.group(
    cls=ExtensibleGroup,
    extensions=GROUP,
    short_help="List, check and build phrase packs.",
    epilog="""\b
Examples:
  crosswind noise pack list
  crosswind noise pack build fr/travel --config crosswind.yaml --out packs
  crosswind noise pack check mine/en/travel.jsonl
""",
)
def pack() -> None:
    """Phrase packs: the words that noise operators draw from, for each language and domain."""


@pack.command(
    "list",
    short_help="List packs, and what is missing.",
    epilog="""\b
Examples:
  crosswind noise pack list
  crosswind noise pack list --packs mine
  crosswind noise pack list --json | jq -r '.packs[].digest'
""",
)
@packs_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with every part.")
def list_(as_json: bool) -> None:
    """List the packs with their versions, and how many entries are missing for each operator."""
    try:
        packs = load_all()
    except PackError as error:
        raise click.ClickException(str(error)) from error
    missing = find_shortfalls(packs)
    if as_json:
        return click.echo(json.dumps(_describe(packs, missing)))
    click.echo(f"{'pack':<16}{'version':>7}  {'SHA-256':<12}  {'licence':<12}{'train':>7}{'test':>7}")
    for one in packs:
        halves = Counter(entry.half for entry in one.entries)
        line = f"{one.name:<16}{one.version:>7}  {one.digest[:12]}  {one.licence:<12}"
        click.echo(f"{line}{halves[Half.TRAIN]:>7}{halves[Half.TEST]:>7}")
    _print_missing(packs, missing)


def _print_missing(packs: Sequence[Pack], missing: Sequence[Shortfall]) -> None:
    if not missing:
        return click.echo("\nNothing is missing.")
    names = {one.name for one in packs}
    lacks: Counter[tuple[str, str]] = Counter()
    for row in missing:
        if (name := f"{row.language}/{row.domain}") in names:
            lacks[name, row.part.operator] += row.count
    if lacks:
        click.echo("\nMissing entries")
    for (name, operator), count in lacks.items():
        click.echo(f"  {name:<16}{operator:<24}{count:>5}")
    absent = {
        language: found
        for language, domains in WANTED_DOMAINS.items()
        if (found := [domain for domain in domains if f"{language}/{domain}" not in names])
    }
    if absent:
        click.echo("\nMissing packs")
    for language, found in absent.items():
        click.echo(
            click.wrap_text(", ".join(found), 78, initial_indent=f"  {language}  ", subsequent_indent=" " * 6)
        )


def _describe(packs: Sequence[Pack], missing: Sequence[Shortfall]) -> dict[str, Any]:
    return {
        "packs": [
            {
                "name": one.name,
                "version": one.version,
                "licence": one.licence,
                "digest": one.digest,
                "entries": {
                    operator: {half.value: count for half in Half if (count := halves[operator, half])}
                    for operator in OPERATORS
                },
            }
            for one in packs
            for halves in [Counter((entry.operator, entry.half) for entry in one.entries)]
        ],
        "missing": [
            {
                "language": row.language,
                "domain": row.domain,
                "operator": row.part.operator,
                "part": row.part.name,
                "has": row.has,
                "wanted": row.wanted,
            }
            for row in missing
        ],
    }


@pack.command(
    short_help="Check packs.",
    epilog="""\b
Examples:
  crosswind noise pack check
  crosswind noise pack check mine
  crosswind noise pack check mine/en/travel.jsonl
""",
)
@click.argument("paths", metavar="[FILE|FOLDER]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(paths: tuple[Path, ...], as_json: bool) -> None:
    """Check each FILE and all packs in each FOLDER, or all packs that are shipped: fields, slots, and
    repetition, also beside the shipped packs.

    Prints a line for each problem. Exits with 1 if there is any.
    """
    files = [file for path in paths for file in _find_files(path)] if paths else shipped_files()
    problems: list[tuple[str, Problem]] = []
    packs: dict[str, Pack] = {}
    for path in files:
        one, found = parse(path.read_bytes())
        if one is not None:
            packs[str(path)] = one
            found = sorted([*_check_place(path, one), *found, *check_pack(one)], key=lambda at: at.line)
        problems.extend((str(path), problem) for problem in found)
    file_of = {id(one): path for path, one in packs.items()}
    names = {one.name for one in packs.values()}
    beside = [one for one in load_all() if one.name not in names] if paths else []
    between = check_between([*beside, *packs.values()])
    problems.extend((file_of[id(one)], problem) for one, problem in between if id(one) in file_of)
    if as_json:
        click.echo(json.dumps([{"file": file, "line": at.line, "problem": at.what} for file, at in problems]))
    else:
        for file, at in problems:
            click.echo(f"{file}:{at.line}: {at.what}")
        entries = sum(len(one.entries) for one in packs.values())
        counts = (len(files), "pack"), (entries, "entry"), (len(problems), "problem")
        click.echo(", ".join(_count(number, noun) for number, noun in counts))
    sys.exit(1 if problems else 0)


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if not (found := sorted(path.rglob("*.jsonl"))):
        raise click.UsageError(f"{path} has no pack: put LANGUAGE/DOMAIN.jsonl in it")
    return found


def _check_place(path: Path, pack: Pack) -> Iterator[Problem]:
    """A file that lies as LANGUAGE/DOMAIN.jsonl is read as this pack, whatever its header says."""
    language, domain = path.absolute().parent.name, path.stem
    if language in set(Language) and domain in set(Domain) and f"{language}/{domain}" != pack.name:
        fix = f"move it to {pack.name}.jsonl, or name this in the header"
        yield Problem(1, f"pack {pack.name!r}: the file is read as {language}/{domain}; {fix}")


def _count(number: int, noun: str) -> str:
    plural = "entries" if noun == "entry" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
