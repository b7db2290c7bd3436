"""Noise profiles by name: built-in ones, those stored through the control plane, and files, which are read
anew with the configuration only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from crosswind.gateway.sessions.profile_files import is_file, read
from crosswind.injectors.profiles import load as built_in
from crosswind.injectors.profiles.load import Profile, ProfileError

PROFILE = "profile"
"""The kind of setting under which a stored profile is kept."""


class Profiles:
    """All profiles that sessions can be opened under. A stored one hides a built-in one of its name."""

    def __init__(self, folder: Path | None = None, reading: int = 0) -> None:
        """`folder` is that of several processes, `reading` tells one reading of the configuration from
        another: all of them go by the same files.
        """
        self._folder = folder
        self._reading = reading
        self._stored: dict[str, tuple[str, Profile]] = {}
        self._files: dict[str, Profile] = {}
        """As they were when they were first named, or when the configuration was last read."""

    def get(self, name: str) -> Profile:
        """The profile; `NAME/level-K` is NAME at level K. ProfileError naming the nearest where there is
        none.
        """
        if name in self._stored:
            return self._stored[name][1]
        base, marker, level = name.rpartition("/level-")
        if marker and base in self._stored and level.isascii() and level.isdigit():
            return self._stored[base][1].at_level(int(level))
        if not is_file(name):
            return built_in.load(name)
        if name not in self._files:
            self._files[name] = read(name, self._folder, self._reading)
        return self._files[name]

    def read(self, names: Iterable[str], reading: int) -> Mapping[str, Profile]:
        """The files among these names as this reading finds them; `take` puts them in force. ProfileError."""
        files = [name for name in names if name not in self._stored and is_file(name)]
        return {name: read(name, self._folder, reading) for name in files}

    def take(self, files: Mapping[str, Profile], reading: int) -> tuple[str, ...]:
        """Go by these files; others are read when they are named next. Gives those that say something else
        than before.
        """
        self._reading = reading
        changed = tuple(name for name, said in files.items() if self._files.get(name, said) != said)
        self._files = dict(files)
        return changed

    def source(self, name: str) -> str:
        """A profile's YAML text."""
        return self._stored[name][0] if name in self._stored else built_in.source(name)

    def put(self, name: str, text: str) -> Profile:
        """Keep a profile under a name. ProfileError, naming the line, where the text is none."""
        profile = built_in.parse(text, name)
        if profile.name != name:
            raise ProfileError(f"profile {name!r}: the text says name {profile.name!r}; make the two equal")
        self._stored[name] = (text, profile)
        return profile

    def renew(self, name: str, text: str) -> None:
        """Keep a profile where it isn't kept in this wording already. ProfileError."""
        if name not in self._stored or self._stored[name][0] != text:
            self.put(name, text)

    def names(self) -> list[str]:
        return sorted({*built_in.names(), *self._stored})
