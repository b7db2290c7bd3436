"""The lists of `crosswind noise list`: names that fit a screen, a line for each, or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from crosswind.injectors import registry
from crosswind.injectors.cli.rendering import fold, reflow, severity_of
from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles import load as profiles
from crosswind.injectors.profiles.load import Profile

_LEAST_SUMMARY = 30
"""Columns that a summary needs; where a terminal has fewer beside the names, it is on a line of its own."""


def select_operators(site: str | None, word: str | None) -> list[Registered]:
    """The operators of a site, or of all, in the sites' order, with the word in name, alias or summary."""
    every = sorted(registry.operators().items())
    return [
        entry
        for each in Site
        for _, entry in every
        if entry.site is each
        and site in (None, each.value)
        and _has(word, entry.name, *entry.aliases, summarise(entry))
    ]


def select_profiles(word: str | None) -> list[Profile]:
    found = (profiles.load(name) for name in profiles.names())
    return [profile for profile in found if _has(word, profile.name, profile.summary)]


def _has(word: str | None, *texts: str) -> bool:
    return word is None or any(word.lower() in text.lower() for text in texts)


def summarise(entry: Registered) -> str:
    """The first paragraph of an operator's documentation."""
    return reflow(entry.documentation).partition("\n\n")[0]


def describe(operators: Iterable[Registered], named: Iterable[Profile]) -> Mapping[str, Any]:
    return {
        "operators": [
            {
                "name": entry.name,
                "site": entry.site.value,
                "aliases": list(entry.aliases),
                "summary": summarise(entry),
                "severity": severity_of(entry.documentation),
                "recovery": entry.recovery.value,
                "source": entry.source or entry.origin,
            }
            for entry in operators
        ],
        "profiles": [
            {"name": one.name, "summary": one.summary, "levels": profiles.levels(one.name)} for one in named
        ],
    }


def print_names(console: Console, operators: Sequence[Registered], named: Sequence[Profile]) -> None:
    """The names alone, by site and by family of profiles, in as many columns as the terminal has."""
    for site, entries in groupby(operators, key=lambda entry: entry.site):
        _print_group(console, f"Operators, {site.value}", [entry.name for entry in entries])
    _print_group(console, "Profiles", [profile.name for profile in named])
    console.print(
        "\nWhat they do: --operators, --profiles, --site SITE, or a word; noise show NAME", style="dim"
    )


def _print_group(console: Console, title: str, names: Sequence[str]) -> None:
    console.print(Text(f"{title} ({len(names)})", style="bold"))
    line = ""
    for name in names:
        if line and cell_len(line) + 2 + cell_len(name) > console.width:
            console.print(line, soft_wrap=True, markup=False, highlight=False)
            line = ""
        line += f"  {name}"
    console.print(line, soft_wrap=True, markup=False, highlight=False)


def print_lines(console: Console, operators: Sequence[Registered], named: Sequence[Profile]) -> None:
    """A line for each: the whole name, and as much of the summary as a terminal has room for."""
    for site, entries in groupby(operators, key=lambda entry: entry.site):
        rows = {entry.name: summarise(entry) for entry in entries}
        _print_rows(console, f"Operators, {site.value}", rows)
    if named:
        _print_rows(console, "Profiles", {profile.name: profile.summary for profile in named})


def _print_rows(console: Console, title: str, rows: Mapping[str, str]) -> None:
    console.print(Text(title, style="bold"))
    widest = max(map(len, rows))
    room = console.width - widest - 4
    for name, summary in rows.items():
        shown = " ".join(summary.split())
        if console.is_terminal and room >= _LEAST_SUMMARY and cell_len(shown) > room:
            shown = f"{shown[: room - 1].rstrip()}…"
        if console.is_terminal and room < _LEAST_SUMMARY:
            click.echo(f"  {name}\n{fold(f'      {shown}', console, '      ')}")
        else:
            click.echo(f"  {name.ljust(widest)}  {shown}")
