"""Groups of commands that other packages add to."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import click


class ExtensibleGroup(click.Group):
    """The commands of a group, and those that the entry points of `extensions` add: `injectors` reads no
    store and speaks no HTTP."""

    def __init__(self, *args: Any, extensions: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._extensions = extensions

    def list_commands(self, ctx: click.Context) -> list[str]:
        added = (entry.name for entry in entry_points(group=self._extensions))
        return sorted({*super().list_commands(ctx), *added})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        entries = entry_points(group=self._extensions)
        found = next((entry for entry in entries if entry.name == cmd_name), None)
        command = found.load() if found is not None else None
        return command if isinstance(command, click.Command) else None
