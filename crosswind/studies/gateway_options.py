"""The options that say how the gateway is configured whose noise a command shows: `--config`, `--packs`,
`--tools-read-only` and `--assume-replayable`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.gateway.errors import ConfigurationError
from crosswind.injectors.cli import commands
from crosswind.injectors.cli.packs_option import packs_folder_option, use_packs
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.targets import ToolClass
from crosswind.injectors.wording import Texts

if TYPE_CHECKING:
    from crosswind.gateway.config.settings import Settings

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ServedNoise:
    """What of a gateway's configuration decides on its noise."""

    assume_replayable: bool
    """Whether profiles are believed that say that every tool call may be repeated."""
    settings: Settings | None = None
    """The configuration; None: none was named."""
    reads: tuple[str, ...] = ()
    """Names or globs of tools that only read, where no configuration was named."""

    @property
    def tool_classes(self) -> Sequence[Mapping[str, ToolClass]]:
        """What it says of tools, the strongest first."""
        if self.settings is not None:
            return self.settings.declared_tools
        return (dict.fromkeys(self.reads, ToolClass.READ_ONLY),) if self.reads else ()

    def apply(self, profile: Profile) -> Profile:
        """The profile as the gateway acts on it."""
        if self.assume_replayable or profile.assume_tools == "declared":
            return profile
        return profile.model_copy(update={"assume_tools": "declared"})

    def describe_assumption(self, profile: Profile) -> str:
        """What the profile assumes of tools, and whether that counts; empty where it assumes nothing."""
        if profile.assume_tools == "declared":
            return ""
        counts = (
            "`crosswind serve` believes that with --assume-replayable only. This is what it does without."
        )
        if self.assume_replayable:
            counts = "This is what `crosswind serve --assume-replayable` does."
        return f"The profile says that every call may be repeated (assume_tools: replayable). {counts}"

    @contextmanager
    def open_texts(self) -> Iterator[Texts | None]:
        """What the configuration's noise model wrote so far; None without one."""
        from crosswind.gateway.noise_model.stored_texts import open_stored_texts

        with ExitStack() as stack:
            texts = None
            if self.settings is not None and self.settings.noise_model is not None:
                with commands.report_errors("--config: "):
                    opened = open_stored_texts(self.settings.noise_model, self.settings.store)
                    texts = stack.enter_context(opened)
            yield texts


def gateway_options(command: Command) -> Command:
    """Add the options. The packs are in use while the command runs, which gets `served`."""

    @wraps(command)
    def call(
        config: Path | None,
        packs: Path | None,
        assume_replayable: bool | None,
        tools_read_only: tuple[str, ...],
        **given: Any,
    ) -> Any:
        return command(served=_read(config, packs, assume_replayable, tools_read_only), **given)

    call = packs_folder_option(call)
    call = click.option(
        "--tools-read-only",
        multiple=True,
        metavar="NAME",
        help="A tool that only reads, or a glob, as for `crosswind serve`. Repeatable.",
    )(call)
    call = click.option(
        "--assume-replayable/--no-assume-replayable",
        default=None,
        envvar="CROSSWIND_ASSUME_REPLAYABLE",
        show_envvar=True,
        help="Show what a gateway with this option does: it believes profiles that say that every tool call "
        "may be repeated.",
    )(call)
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The gateway's configuration: its packs, what it says of tools, whether calls may be repeated, "
        "and what its noise model wrote.",
    )(call)


def _read(
    config: Path | None, packs: Path | None, assume_replayable: bool | None, reads: tuple[str, ...]
) -> ServedNoise:
    settings = None
    if config is not None:
        from crosswind.gateway.config.loading import load

        flags = {"packs": packs, "assume_replayable": assume_replayable, "tools_read_only": reads or None}
        try:
            settings = load(config, flags, complete=False)
        except ConfigurationError as error:
            raise commands.ConfigurationError(f"--config: {error}") from error
        packs, assume_replayable = settings.packs, settings.assume_replayable
    if packs is not None:
        use_packs(packs)
    return ServedNoise(bool(assume_replayable), settings, reads)
