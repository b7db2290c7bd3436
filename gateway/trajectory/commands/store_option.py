"""The option `--store`: every command that reads or writes a store names it so."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from crosswind.gateway.trajectory.store import Store, StoreError, open_existing

C = TypeVar("C", bound=Callable[..., Any])

DEFAULT_STORE = "sqlite:///crosswind.db"


class UnusableStore(click.ClickException):
    """The store that a command names can't be opened; one line, exit code 2."""

    exit_code = 2


@contextmanager
def open_named(place: str) -> Iterator[Store]:
    """Open the store at a path or a URL for the block. Raises UnusableStore, or ClickException if it fails
    in the block."""
    try:
        store = open_existing(place)
    except StoreError as error:
        raise UnusableStore(str(error)) from error
    with closing(store):
        try:
            yield store
        except StoreError as error:
            raise click.ClickException(str(error)) from error


def store_option(command: C) -> C:
    """Add `--store` as the parameter `url`: a path or a URL; by default what the configuration names."""
    return click.option(
        "--store",
        "url",
        default=configured_store,
        show_default=f"CROSSWIND_STORE, or the store of CROSSWIND_CONFIG, or {DEFAULT_STORE}",
        help="The store: a path or a URL.",
    )(command)


def store_argument(command: C) -> C:
    """Add `--store`, and the argument STORE that these commands took before, as the parameter `url`."""

    @functools.wraps(command)
    def call(*, url: str, place: str | None, **given: Any) -> Any:
        source = click.get_current_context().get_parameter_source("url")
        if place is not None and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--store and {place!r} both name a store: give one of them")
        return command(url=url if place is None else place, **given)

    return cast(C, store_option(click.argument("place", metavar="[STORE]", required=False)(call)))


def configured_store() -> str:
    """The store that `crosswind serve` would use with this environment. Raises UsageError."""
    if url := os.environ.get("CROSSWIND_STORE"):
        return url
    file = os.environ.get("CROSSWIND_CONFIG")
    return (_read_store(Path(file)) if file else None) or DEFAULT_STORE


def _read_store(file: Path) -> str | None:
    import yaml

    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise click.UsageError(
            f"CROSSWIND_CONFIG: {file} can't be read ({type(error).__name__}): correct it, or give --store"
        ) from error
    found = document.get("store") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
