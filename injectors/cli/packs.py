"""The commands `crosswind noise pack`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from crosswind.injectors.cli.groups import ExtensibleGroup
from crosswind.injectors.cli.packs_option import packs_option
from crosswind.injectors.packs.checks import check as check_pack
from crosswind.injectors.packs.checks import check_between
from crosswind.injectors.packs.load import PackError, load_all, load_shipped, shipped_file, shipped_files
from crosswind.injectors.packs.model import Pack, Problem, parse, read_name
from crosswind.injectors.packs.parts import OPERATORS, WANTED_DOMAINS, Domain
from crosswind.injectors.packs.shortfall import Shortfall, find_shortfalls
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language

GROUP = "crosswind.noise.pack"
"""The entry-point group of further commands of `crosswind noise pack`."""


@click.group(
    cls=ExtensibleGroup,
    extensions=GROUP,
    short_help="List, show, check and build phrase packs.",
    epilog="""\b
Examples:
  crosswind noise pack list
  crosswind noise pack show de/general > packs/de/general.jsonl
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
    names = {one.name for one in packs}
    if not missing:
        click.echo("\nThese packs have all entries that are asked of them.")
    lacks: Counter[tuple[str, str]] = Counter()
    for row in missing:
        if (name := f"{row.language}/{row.domain}") in names:
            lacks[name, row.part.operator] += row.count
    if lacks:
        click.echo("\nMissing entries")
    for (name, operator), count in lacks.items():
        click.echo(f"  {name:<16}{operator:<24}{count:>5}")
    _print_domains("Missing packs", _list_absent(names, wanted=True))
    title = "Domains without a pack, where the general one is used alone"
    _print_domains(title, _list_absent(names, wanted=False))


def _list_absent(names: Collection[str], *, wanted: bool) -> Mapping[Language, Sequence[Domain]]:
    """The domains that have no pack among these, by language: those that are to have one, or the others."""
    return {
        language: found
        for language, domains in WANTED_DOMAINS.items()
        if (
            found := [
                one for one in Domain if (one in domains) == wanted and f"{language}/{one}" not in names
            ]
        )
    }


def _print_domains(title: str, by_language: Mapping[Language, Sequence[Domain]]) -> None:
    if by_language:
        click.echo(f"\n{title}")
    for language, found in by_language.items():
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


def _complete_packs(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    return [name for name in _list_shipped() if name.startswith(typed)]


def _list_shipped() -> list[str]:
    return [f"{file.parent.name}/{file.stem}" for file in shipped_files()]


@pack.command(
    short_help="Print a shipped pack.",
    epilog="""\b
Examples:
  crosswind noise pack show en/travel
  mkdir -p packs/de && crosswind noise pack show de/general > packs/de/general.jsonl
""",
)
@click.argument("name", metavar="LANGUAGE/DOMAIN", shell_complete=_complete_packs)
def show(name: str) -> None:
    """Print the shipped pack LANGUAGE/DOMAIN as it is, for a copy of one's own.

    Raise `version` in the first line of a copy that you change: events name the packs of their phrases by
    language, domain and version.
    """
    try:
        file = shipped_file(*read_name(name))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if file is None:
        shipped = ", ".join(one for one in _list_shipped() if one.startswith(f"{name.partition('/')[0]}/"))
        raise click.UsageError(f"pack {name!r}: none is shipped; there are {shipped}")
    click.echo(file.read_bytes(), nl=False)


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

    Prints a line for each problem. Exits with 1 if there is any. Warnings are no problems.
    """
    files = [file for path in paths for file in _find_files(path)] if paths else shipped_files()
    problems: list[tuple[str, Problem]] = []
    packs: dict[str, Pack] = {}
    for path in files:
        one, found = parse(path.read_bytes())
        if one is not None:
            packs[str(path)] = one
            found = [*_check_place(path, one), *_check_version(one), *found, *check_pack(one)]
            found.sort(key=lambda at: at.line)
        problems.extend((str(path), problem) for problem in found)
    file_of = {id(one): path for path, one in packs.items()}
    names = {one.name for one in packs.values()}
    beside = [one for one in load_all() if one.name not in names] if paths else []
    between = check_between([*beside, *packs.values()])
    problems.extend((file_of[id(one)], problem) for one, problem in between if id(one) in file_of)
    warnings = sum(at.is_warning for _, at in problems)
    if as_json:
        told = [
            {"file": file, "line": at.line, "warning" if at.is_warning else "problem": at.what}
            for file, at in problems
        ]
        click.echo(json.dumps(told))
    else:
        for file, at in problems:
            click.echo(f"{file}:{at.line}: {'warning: ' if at.is_warning else ''}{at.what}")
        entries = sum(len(one.entries) for one in packs.values())
        counts = [(len(files), "pack"), (entries, "entry"), (len(problems) - warnings, "problem")]
        counts += [(warnings, "warning")] if warnings else []
        click.echo(", ".join(_count(number, noun) for number, noun in counts))
    sys.exit(1 if len(problems) > warnings else 0)


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if not (found := sorted(path.rglob("*.jsonl"))):
        raise click.UsageError(f"{path} has no pack: put LANGUAGE/DOMAIN.jsonl in it")
    return found


def _check_place(path: Path, pack: Pack) -> Iterator[Problem]:
    """A file that lies as LANGUAGE/DOMAIN.jsonl is read as this pack, whatever its header says."""
    language, domain = path.absolute().parent.name, path.stem
    if language not in set(Language) or f"{language}/{domain}" == pack.name:
        return
    if domain in set(Domain):
        fix = f"move it to {pack.name}.jsonl, or name this in the header"
        yield Problem(1, f"pack {pack.name!r}: the file is read as {language}/{domain}; {fix}")
    else:
        yield Problem(1, f"pack {pack.name!r}: no gateway reads this file; move it to {pack.name}.jsonl")


def _check_version(pack: Pack) -> Iterator[Problem]:
    """Events tell an own pack from the shipped one by its version."""
    shipped = load_shipped(pack.language, pack.domain)
    if shipped is not None and pack.version == shipped.version and pack.digest != shipped.digest:
        told = f"version {pack.version} is that of the shipped {pack.name}, which differs"
        yield Problem(1, f"{told}: raise it, so that events tell the two apart", is_warning=True)


def _count(number: int, noun: str) -> str:
    plural = "entries" if noun == "entry" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
