"""What third parties may add to the trainer: objectives, curricula and rewards, each found by its name."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from crosswind.trainer.errors import RunRefused

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """The functions or classes of one kind by name. Those of ours are decorated in the files of a package,
    others' in modules that the entry points of a group name.
    """

    kind: str
    """What it holds, for messages."""
    package: str
    group: str
    error: type[RunRefused]
    """Raised for a name that isn't there."""
    setting: str
    """The setting that names one, for messages."""
    reserved: tuple[str, ...] = ()
    """Names that the setting may have beside."""
    registered: dict[str, T] = field(default_factory=dict)

    def register(self, name: str, entry: T) -> None:
        """Add one under its public name. A second one of that name is an error."""
        if name in self.registered:
            raise ValueError(f"{self.kind} {name!r} is registered twice: rename that of {entry.__module__}")
        self.registered[name] = entry

    def load(self) -> dict[str, T]:
        """All by name: those of the package and those of installed packages."""
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__, f"{self.package}."):
            importlib.import_module(module.name)
        for entry in entry_points(group=self.group):
            entry.load()
        return dict(sorted(self.registered.items()))

    def resolve(self, name: str) -> T:
        """The one of that name. Raises `error`, naming the nearest."""
        known = self.load()
        if name in known:
            return known[name]
        names = [*self.reserved, *known]
        nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
        raise self.error(f"{self.setting}: no {name!r}; the nearest is {nearest!r} of {', '.join(names)}")
