"""Recorded stores, as the studies' commands open them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from crosswind.gateway.trajectory.store import Store, StoreError, open_existing


@contextmanager
def open_recorded(option: str, place: str) -> Iterator[Store]:
    """Open the store at a path or a URL for the block. UsageError, naming the option, where it can't be."""
    try:
        store = open_existing(place)
    except StoreError as error:
        raise click.UsageError(f"{option}: {error}") from error
    with closing(store):
        yield store
