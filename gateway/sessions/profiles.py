"""Noise profiles by name: built-in ones, those stored through the control plane, and files, which are
read with the configuration only. All processes of a run read a file once: an edited file that was not
reloaded must not be in force in a worker that restarts, or reads it last.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.profiles import load as built_in
from crosswind.injectors.profiles.load import Profile, ProfileError, parse

_log = structlog.get_logger("crosswind.sessions")

PROFILE = "profile"
"""The kind of setting under which a stored profile is kept."""
FAULT_SITES = (Site.TRANSPORT, Site.MODEL_RESPONSE)
"""Where faults of the link and of the provider act."""


class UnreadableProfileError(ProfileError):
    """A stored profile can't be used: an operator of it is gone, say."""


class Profiles:
    """All profiles that a session can have. A stored one hides a built-in one of its name."""

    def __init__(self, folder: Path | None = None, reading: int = 0) -> None:
        """Several processes share `folder`; `reading` numbers the readings of the configuration. All
        processes use the files as one reading found them.
        """
        self._folder = folder
        self._reading = reading
        self._stored: dict[str, tuple[str, Profile]] = {}
        self._unreadable: dict[str, tuple[str, str]] = {}
        """The texts of stored profiles that can't be used, each with the reason."""
        self._files: dict[str, Profile] = {}
        """Those that the configuration names, as they were when it was last read."""

    def get(self, name: str) -> Profile:
        """The profile; `NAME/level-K` is NAME at level K. Raises ProfileError, which names the nearest
        one, if there is none. A name is never a path, unless the configuration has it.
        """
        if name in self._stored:
            return self._stored[name][1]
        base, marker, level = name.rpartition("/level-")
        self._refuse_unreadable(name, base)
        if marker and base in self._stored and level.isascii() and level.isdigit():
            return self._stored[base][1].at_level(int(level))
        if name in self._files:
            return self._files[name]
        if is_file(name):
            raise ProfileError(
                f"unknown profile {name!r}: only the configuration names files; PUT its text to "
                "/api/profiles/NAME"
            )
        return built_in.load(name)

    def _refuse_unreadable(self, *names: str) -> None:
        for name in names:
            if name in self._unreadable:
                raise UnreadableProfileError(
                    f"the stored profile {name!r} can't be used: {self._unreadable[name][1]}; "
                    f"PUT it to /api/profiles/{name} again"
                )

    def destroys_answers(self, name: str) -> bool:
        """Whether a rule of the profile may destroy a model's answer."""
        try:
            rules = self.get(name).rules
        except ProfileError:
            return False
        entries = (registry.operators().get(rule.operator) for rule in rules)
        return any(entry is not None and entry.fault and entry.site in FAULT_SITES for entry in entries)

    def read(self, names: Iterable[str], reading: int) -> Mapping[str, Profile]:
        """Read the files among these names; `take` puts them in force. Raises ProfileError."""
        files = [name for name in names if name not in self._stored and is_file(name)]
        return {name: read_file(name, self._folder, reading) for name in files}

    def take(self, files: Mapping[str, Profile], reading: int) -> tuple[str, ...]:
        """Put these files in force. Returns those that changed."""
        self._reading = reading
        changed = tuple(name for name, said in files.items() if self._files.get(name, said) != said)
        self._files = dict(files)
        return changed

    def source(self, name: str) -> str:
        """Its text; that of one that can't be used, too, so that it can be mended."""
        kept = self._stored.get(name) or self._unreadable.get(name)
        return built_in.source(name) if kept is None else kept[0]

    def put(self, name: str, text: str, profile: Profile | None = None) -> None:
        """Keep a profile under a name; `profile` is what `read_text` made of the text, if it was read.

        Raises ProfileError, which names the line, if the text is invalid.
        """
        self._stored[name] = (text, profile or read_text(name, text))
        self._unreadable.pop(name, None)

    def restore(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a profile as it is stored. If it can't be used, the log names it, and what was known before
        stays, or a session that asks for it is refused.
        """
        text = str(value.get("yaml", ""))
        try:
            self.put(name, text)
        except ProfileError as error:
            self._unreadable[name] = text, " ".join(str(error).split())
            _log.error("a stored profile can't be used: it is skipped", profile=name, error=str(error))

    def has(self, name: str, value: Mapping[str, Any]) -> bool:
        """Whether a profile is known as it is stored."""
        known = (self._stored.get(name), self._unreadable.get(name))
        return any(one is not None and one[0] == value.get("yaml") for one in known)

    def names(self) -> list[str]:
        return sorted({*built_in.names(), *self._stored})


def read_text(name: str, text: str) -> Profile:
    """The profile of a text that is kept under a name. Raises ProfileError."""
    profile = parse(text, name)
    if profile.name != name:
        raise ProfileError(f"profile {name!r}: the text says name {profile.name!r}; make the two equal")
    return profile


def is_file(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))


def read_file(name: str, folder: Path | None, reading: int) -> Profile:
    """The profile of a file, as the first process that shares the folder read it in this reading of the
    configuration; without a folder, as it is now. Raises ProfileError.
    """
    kept = None if folder is None else folder / f"profile-{reading}-{sha256(name.encode()).hexdigest()}"
    if kept is not None and kept.exists():
        return parse(_text(kept), name)
    text = _text(Path(name))
    profile = parse(text, name)
    if kept is None:
        return profile
    return parse(keep_first(kept, text), name)


def keep_first(kept: Path, text: str) -> str:
    """Keep a text unless another process was first. Returns the kept text."""
    draft = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        with suppress(FileExistsError):
            os.link(draft, kept)
        return kept.read_text("utf-8")
    except OSError:
        # For example on a full disk: then other processes may read another version.
        return text
    finally:
        with suppress(OSError):
            draft.unlink()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(
            f"profile file {path}: can't be read ({error}); name a readable YAML file"
        ) from None


def read_profile_files(settings: Settings, profiles: Profiles, reading: int) -> Mapping[str, Profile]:
    """Read the profile files that the configuration names. Raises ConfigurationError if it names a profile
    that can't be used.
    """
    names = [settings.profile, *(key.profile for key in settings.keys)]
    named = {name: None for name in [*names, *(settings.steering_cap.profiles or ())] if name is not None}
    try:
        files = profiles.read(named, reading)
        known = dict(files)
        for name in named.keys() - files.keys():
            with suppress(UnreadableProfileError):  # as the log says; its sessions are clean
                known[name] = profiles.get(name)
    except ProfileError as error:
        raise ConfigurationError(" ".join(str(error).split())) from error
    for name, profile in known.items():
        if profile.assume_tools == "replayable" and not settings.assume_replayable:
            _log.warning(
                "the profile assumes that every call may be repeated; results of calls that change "
                "something are left alone: to accept that effects are doubled, run with --assume-replayable",
                profile=name,
            )
    return files
